/** Random texts of all scripts, with what JSON escapes and what UTF-16 can get wrong. */

const PIECES = [
  "the connection pool is exhausted",
  "Größe, Straße, naïve café",
  "база данных не отвечает",
  "数据库连接超时。请重试",
  "データベース接続",
  "데이터베이스 연결",
  "قاعدة البيانات",
  "ฐานข้อมูล",
  "👩‍👩‍👧‍👦🏳️‍🌈🎉",
  "𝒳𝓎𝔷",
  'say "hello" \\ back',
  "\u0000\u0001\u001f\u007f\u0080",
  "\b\t\n\f\r",
  "\n",
  "\u2028\u2029\ufeff\ufffd",
  "e\u0301\u0323",
  "x",
  " ",
];

/** A well-formed text of up to `pieces` pieces. */
export function randomText(next: () => number, pieces: number): string {
  const count = Math.floor(next() * (pieces + 1));
  let text = "";
  for (let i = 0; i < count; i++) text += PIECES[Math.floor(next() * PIECES.length)]! + (next() < 0.5 ? " " : "");
  return text;
}

/** The same with halves of surrogate pairs. */
export function brokenText(next: () => number, pieces: number): string {
  const text = randomText(next, pieces);
  const at = Math.floor(next() * text.length);
  return `${text.slice(0, at)}${next() < 0.5 ? "\ud83d" : "\ude00"}${text.slice(at)}`;
}

/**
 * Paragraphs to pieces of one length: a term is common where it is in many pieces, which is only to be said of like
 * pieces.
 */

/** Words of a piece. */
const TARGET = 200;
const LEAST = 40;
/** A page of commands with fewer says no more than that it stands for another page. */
const PAGE_LEAST = 25;
/** Letters that make up for a word in scripts without spaces. */
const KANA_HAN = 1.8;
const THAI = 4.5;
const CODE_LINES = 40;
const CODE_MIN = 150;
const MESSAGE_MIN = 15;
const MESSAGE_MAX = 1500;

const occurrences = (text: string, pattern: RegExp) => text.match(pattern)?.length ?? 0;

/** Length in words, or in what counts for words. */
function words(text: string): number {
  const unspaced =
    occurrences(text, /[\u3040-\u30ff\u3400-\u9fff]/g) / KANA_HAN + occurrences(text, /[\u0e00-\u0e7f]/g) / THAI;
  return unspaced + occurrences(text.replace(/[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff]+/g, " "), /\S+/g);
}

/** A paragraph that is longer than a piece, cut at sentences; what is still longer, anywhere. */
function units(paragraph: string): string[] {
  if (words(paragraph) <= TARGET) return [paragraph];
  return paragraph.split(/(?<=[.!?;…»"”।।])\s+|(?<=[。！？])/).flatMap((sentence) => {
    const parts = Math.ceil(words(sentence) / TARGET);
    const size = Math.ceil(sentence.length / parts);
    return Array.from({ length: parts }, (_, i) => sentence.slice(i * size, i * size + size));
  });
}

/** Paragraphs that are pieces as they are: dialogues, pages of commands, bundles of requests. */
export const takeWhole = (paragraphs: string[]) => paragraphs.filter((text) => words(text) >= PAGE_LEAST);

export function cutProse(paragraphs: string[]): string[] {
  const pieces: string[] = [];
  let piece: string[] = [];
  let size = 0;
  const end = () => {
    if (size >= LEAST) pieces.push(piece.join("\n"));
    piece = [];
    size = 0;
  };
  for (const unit of paragraphs.flatMap(units)) {
    const more = words(unit);
    if (size >= LEAST && size + more > TARGET * 1.25) end();
    piece.push(unit);
    size += more;
    if (size >= TARGET) end();
  }
  end();
  return pieces;
}

/** A licence at the head of a file says nothing about its code. */
function withoutLicence(code: string): string {
  return code.replace(/^\s*(?:\/\*[\s\S]{0,6000}?\*\/|(?:(?:\/\/|#)[^\n]*\n){1,60})/, (head) =>
    /licen[sc]e|copyright/i.test(head) ? "" : head,
  );
}

export function cutCode(code: string): string[] {
  if (code.length < 200 || code.length > 120_000) return [];
  const lines = withoutLicence(code).split("\n");
  if (lines.some((line) => line.length > 1000)) return [];
  const chunks: string[] = [];
  for (let i = 0; i < lines.length; i += CODE_LINES)
    chunks.push(
      lines
        .slice(i, i + CODE_LINES)
        .join("\n")
        .trim(),
    );
  return chunks.filter((chunk) => chunk.length >= CODE_MIN);
}

export function cutLog(messages: string[]): string[] {
  return messages
    .map((message) => message.trim().slice(0, MESSAGE_MAX))
    .filter((message) => message.length >= MESSAGE_MIN);
}

/** Letters of languages that have a script of their own. */
const SCRIPTS: Record<string, RegExp> = {
  ar: /[\u0600-\u06ff]/g,
  bn: /[\u0980-\u09ff]/g,
  el: /[\u0370-\u03ff\u1f00-\u1fff]/g,
  fa: /[\u0600-\u06ff]/g,
  he: /[\u0590-\u05ff]/g,
  hi: /[\u0900-\u097f]/g,
  ja: /[\u3040-\u30ff\u3400-\u9fff]/g,
  ko: /[\uac00-\ud7af]/g,
  ru: /[\u0400-\u04ff]/g,
  th: /[\u0e00-\u0e7f]/g,
  uk: /[\u0400-\u04ff]/g,
  zh: /[\u3400-\u9fff]/g,
};
/** A letter of these says as much as several Latin ones. */
const DENSE = new Set(["ja", "ko", "th", "zh"]);
const ENGLISH = /^(the|and|that|with|you|this|are|from|your|which|have|can|will|be)$/;

/** Is the paragraph in its language? Translations hold paragraphs that nobody translated yet. */
export function isIn(language: string, paragraph: string): boolean {
  if (language === "en") return occurrences(paragraph, /[\0-\x7f]/g) > 0.9 * paragraph.length;
  const script = SCRIPTS[language];
  if (script) {
    const own = occurrences(paragraph, script);
    return own >= 10 && own > (DENSE.has(language) ? 0.25 : 0.45) * (own + occurrences(paragraph, /[A-Za-z]/g));
  }
  const all = paragraph.toLowerCase().match(/\p{L}+/gu) ?? [];
  return all.length >= 3 && all.filter((word) => ENGLISH.test(word)).length < 0.05 * all.length;
}

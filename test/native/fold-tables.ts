/**
 * Derives text/fold_table.h and text/fold_forms.h of the kernel again: how letters fold, and what kind a character is.
 *
 * Tokens are a stored format, so the two headers are those of Unicode 14 for ever and no build makes them. They follow
 * from the runtime's own Unicode functions, with what came after Unicode 14 counted as unassigned. A runtime whose
 * version is not UNICODE may know more characters.
 */

/** The runtime's version of Unicode that this file was checked with. */
export const UNICODE = "17.0";

type Range = readonly [first: number, last: number];

function ranges(text: string): Range[] {
  return text
    .trim()
    .split(/\s+/)
    .map((range) => {
      const [first, last] = range.split("-").map((hex) => Number.parseInt(hex, 16));
      return [first!, last ?? first!];
    });
}

const isIn = (list: readonly Range[], c: number) => list.some(([first, last]) => c >= first && c <= last);

/** Assigned by Unicode 15 to 17, where that would change a table. */
const NEWER =
  ranges(`897 1acf-1add 1ae0-1aeb 1b4e-1b4f fd90-fd91 fdc8-fdce 10940-10959 10d40-10d65 10d69-10d85 10ed0-10ed8
  113cc-113d5 113d7-113d8 116d0-116e3 11b00-11b09 11bc0-11be1 11bf0-11bf9 11db0-11ddb 11de0-11de9 11f00-11f10
  11f12-11f3a 11f3e-11f5a 13439-13455 13460-143fa 16100-16139 16d40-16d79 16ea0-16eb8 16ebb-16ed3 1cc00-1ccfc
  1d2c0-1d2d3 1e4d0-1e4f9 1e5d0-1e5fa 1e6c0-1e6de 1e6e0-1e6f5 1e6fe-1e6ff`);

/**
 * Scripts whose words are not told apart by spaces, or badly: Thai, Lao, Myanmar, Khmer, Hangul, Han, kana, Bopomofo.
 */
const UNSPACED = ranges(`0e00-0eff 1000-109f 1100-11ff 1780-17ff 3005-3007 3021-3029 3040-318f 31a0-31bf 31f0-31ff
  3400-4dbf 4e00-9fff a960-a97f aa60-aa7f ac00-d7ff f900-faff ff66-ff9f 20000-3ffff`);

/** Pictures and ornaments, but for the numbers among them. */
const SYMBOLS = ranges("2600-27bf 2b05-2b55 1f000-1faff");

/** Where marks are accents; elsewhere they are letters of their script. */
const ACCENTS = ranges("0300-06ff 1ab0-1aff 1dc0-1dff 20d0-20ff 2de0-2dff 302a-302d 3099-309a fe00-fe0f fe20-fe2f");
/** Soft hyphen, tatweel, joiners, direction marks, tones of skin. */
const IGNORED = ranges("00ad 0640 200b-200f 202a-202e 2060-2064 feff 1f3fb-1f3ff");

const KIND_END = 0x40000;

type Kind = "separator" | "letter" | "digit" | "unspaced" | "symbol" | "ignored";

function kindOf(c: number): Kind | "unassigned" {
  const s = String.fromCodePoint(c);
  if (/\p{Cn}/u.test(s) || isIn(NEWER, c)) return "unassigned";
  if (isIn(IGNORED, c) || (/\p{M}/u.test(s) && isIn(ACCENTS, c))) return "ignored";
  if (/\p{Nd}/u.test(s)) return "digit";
  if (/\p{No}/u.test(s)) return "letter";
  if (/[\p{L}\p{M}\p{Nl}]/u.test(s)) return isIn(UNSPACED, c) ? "unspaced" : "letter";
  return isIn(SYMBOLS, c) ? "symbol" : "separator";
}

/** Kinds of all characters below KIND_END. What is unassigned after letters, or among symbols, counts with them. */
function allKinds(): Kind[] {
  const kinds: Kind[] = [];
  let before: Kind = "separator";
  for (let c = 0; c < KIND_END; c++) {
    const kind = kindOf(c);
    if (kind !== "unassigned") before = kind;
    else if (isIn(SYMBOLS, c)) before = "symbol";
    else if (before !== "letter" && before !== "unspaced") before = "separator";
    kinds.push(before);
  }
  return kinds;
}

const KINDS = allKinds();

/** Letters that do not decompose, as people type them without the key, and the final sigma. */
const BY_HAND: Record<string, string> = {
  æ: "ae",
  ð: "d",
  ø: "o",
  þ: "th",
  ß: "ss",
  đ: "d",
  ħ: "h",
  ı: "i",
  ĸ: "k",
  ł: "l",
  ŋ: "n",
  œ: "oe",
  ŧ: "t",
  ς: "σ",
};

const points = (text: string) => Array.from(text, (s) => s.codePointAt(0)!);
const withoutMarks = (text: string) => text.normalize("NFKD").replace(/\p{M}/gu, "");

/** A letter of Latin, Greek, Cyrillic or Armenian in lower case and without accents; other characters as they are. */
function foldLetter(c: number): number[] {
  const s = String.fromCodePoint(c);
  if (!/\p{L}/u.test(s) || c === 0x37a) return [c];
  return points(withoutMarks(withoutMarks(s).toLowerCase()).replace(/./gu, (letter) => BY_HAND[letter] ?? letter));
}

const FOLDED = { latin: [0xc0, 0x24f], east: [0x370, 0x58f], extended: [0x1e00, 0x1fff] } as const;

/** fold_arabic of fold.c, as far as presentation forms decompose into its letters. */
const ARABIC: Record<number, number> = {
  1649: 0x627,
  1609: 0x64a,
  1740: 0x64a,
  1577: 0x647,
  1705: 0x643,
};

/** text_fold of fold.c for what other characters decompose into. */
function foldPart(c: number): number[] {
  if (c < 0x80 || Object.values(FOLDED).some((range) => isIn([range], c))) return foldLetter(c);
  if (c >= 0x30a1 && c <= 0x30f6) return [c - 0x60]; // katakana as hiragana
  return [ARABIC[c] ?? c];
}

/** The most characters that one becomes. */
const FORM_MOST = 4;

/** What is left of another spelling of letters; nothing of what is not a letter or number itself. */
function form(c: number): number[] {
  const s = String.fromCodePoint(c);
  if (/\p{M}/u.test(s)) return [c];
  const isTerm = (part: number) => !["separator", "ignored"].includes(KINDS[part]!);
  if (!isTerm(c)) return [];
  const parts = points(withoutMarks(s)).filter(isTerm).flatMap(foldPart);
  return parts.length <= FORM_MOST ? parts : [c]; // two are whole sentences
}

/** Letters and vowels that are written in parts too. U+0F77 and U+0F79 are deprecated. */
function splits(): number[][] {
  const found: number[][] = [];
  for (let c = 0x900; c < 0x1c00; c++) {
    const parts = points(String.fromCodePoint(c).normalize("NFKD"));
    if (parts.length > 1 && c !== 0xf77 && c !== 0xf79) found.push([c, ...parts]);
  }
  return found;
}

const span = ([first, last]: Range) => Array.from({ length: last - first + 1 }, (_, i) => first + i);
const hex = (value: number) => (value ? `0x${value.toString(16)}` : "0");
const name = (c: number) => `U+${c.toString(16).toUpperCase().padStart(4, "0")}`;

/** A C array, its cells filling the lines. */
function table(declaration: string, cells: string[], comment: string): string {
  const lines: string[] = [];
  for (const cell of cells.map((text) => `${text},`)) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + cell.length <= 120) lines[lines.length - 1] = `${last} ${cell}`;
    else lines.push(`    ${cell}`);
  }
  return `\n/* ${comment} */\nstatic const ${declaration} = {\n${lines.join("\n")}\n};\n`;
}

const array = (type: string, title: string, values: number[], comment: string) =>
  table(`${type} ${title}[${values.length}]`, values.map(hex), comment);
const forms = (title: string, rows: number[][], comment: string) =>
  table(
    `uint16_t ${title}[${rows.length}][FORM_MOST]`,
    rows.map((row) => `{${row.length > 0 ? row.map(hex).join(", ") : "0"}}`),
    comment,
  );
const from = ([first, last]: Range, more = "") => `${name(first)} to ${name(last)}${more}`;

/** A bit for each character, the lowest one first. */
function bits(title: string, range: Range, test: (c: number) => boolean, comment: string): string {
  const words: number[] = [];
  for (const c of span(range).filter(test)) {
    const at = (c - range[0]) >> 5;
    words[at] = ((words[at] ?? 0) | (1 << ((c - range[0]) & 31))) >>> 0;
  }
  const all = Array.from({ length: (range[1] - range[0] + 1) / 32 }, (_, i) => words[i] ?? 0);
  return array("uint32_t", title, all, comment);
}

function header(guard: string, comment: string, body: string): string {
  return `/* ${comment}
 *
 * Tokens are a stored format, so the tables never change. test/native/fold-tables.ts derives them from Unicode. */
#ifndef ${guard}
#define ${guard}

#include <stdint.h>
${body}
#endif
`;
}

function foldTable(): string {
  const packed = (c: number) => {
    const [a, b] = foldLetter(c);
    return b !== undefined && a! < 0x80 && b < 0x80 ? 0x8000 | (a! << 7) | b : a!;
  };
  const folded = Object.entries(FOLDED).map(([title, range]) =>
    array("uint16_t", `fold_${title}`, span(range).map(packed), from(range)),
  );
  const runs: { first: number; last: number; kind: Kind }[] = [];
  for (let c = 0x80; c < KIND_END; c++) {
    const last = runs.at(-1);
    if (last && last.kind === KINDS[c]) last.last = c;
    else runs.push({ first: c, last: c, kind: KINDS[c]! });
  }
  const cells = runs
    .filter(({ kind }) => kind !== "separator")
    .map(({ first, last, kind }) => `{${hex(first)}, ${hex(last)}, CHAR_${kind.toUpperCase()}}`);
  const kinds = table(
    "struct char_range {\n  uint32_t first, last;\n  uint8_t kind;\n} char_ranges[]",
    cells,
    "Sorted; what lies between is a separator. A digit run starts at a zero and counts in tens.",
  );
  return header(
    "AME_FOLD_TABLE_H",
    "Case and accents of Latin, Greek, Cyrillic and Armenian, and the kinds of characters. A value of 0x8000 and above\n" +
      " * is two ASCII letters of seven bits each.",
    folded.join("") + kinds,
  );
}

function foldForms(): string {
  const areas: [title: string, range: Range][] = [
    ["form_script", [0x2070, 0x209f]],
    ["form_letterlike", [0x2100, 0x214f]],
    ["form_roman", [0x2160, 0x217f]],
    ["form_circled", [0x2460, 0x249b]],
    ["form_presentation", [0xfb00, 0xfdfb]],
    ["form_presentation_b", [0xfe70, 0xfefc]],
  ];
  const split = splits();
  const starts = new Set(split.map(([c]) => c));
  const single = (c: number) => (form(c)[0]! > 0xffff ? c : form(c)[0]!);
  const isUpper = (c: number) => /[\p{Lu}\p{Lt}]/u.test(String.fromCodePoint(c)) && !isIn(NEWER, c);
  const kana: Range = [0xff66, 0xff9d];
  const han: Range = [0xf900, 0xfad9];
  const east: Range = [0x100, 0x57f];
  return header(
    "AME_FOLD_FORMS_H",
    "Characters that are another spelling of others: ligatures, presentation forms, half widths, letters taken apart.\n" +
      " * A row of zeros folds to nothing.",
    [
      `\n#define FORM_MOST ${FORM_MOST}\n`,
      ...areas.map(([title, range]) => forms(title, span(range).map(form), from(range))),
      array("uint16_t", "form_kana", span(kana).map(single), from(kana, ", half-width katakana, as hiragana")),
      array(
        "uint16_t",
        "form_han",
        span(han).map(single),
        from(han, ", Han with a second number, where it is below U+10000"),
      ),
      forms(
        "form_split",
        split,
        "Letters and vowels of Indic and south-east Asian scripts that are also written in parts, sorted",
      ),
      bits("form_is_split", [0x900, 0x1bff], (c) => starts.has(c), "Which of U+0900 to U+1BFF are in form_split"),
      bits("upper_east", east, isUpper, from(east, ", capitals")),
      bits("upper_extended", FOLDED.extended, isUpper, from(FOLDED.extended, ", capitals")),
    ].join(""),
  );
}

/** The headers by name. */
export function foldHeaders(): Record<string, string> {
  return { "fold_table.h": foldTable(), "fold_forms.h": foldForms() };
}

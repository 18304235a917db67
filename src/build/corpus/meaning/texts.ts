/** The texts whose encodings the kernel and the package are compared on. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

const QUALITY = join(import.meta.dir, "../../../../test/bench/quality");
const COUNT = 1000;

/**
 * Notes, questions, long answers and their sentences from the sets that measure quality, and the same with characters
 * that Unicode's normal form replaces. White space is single spaces: the package takes other white space for pieces.
 */
export function fixtureTexts(): string[] {
  const files = ["tiny/corpus", "tiny/queries", "answers/queries", "answers/corpus"];
  const whole = files.flatMap((file) => linesOf(`${file}.jsonl`));
  const sentences = linesOf("answers/corpus.jsonl").flatMap((text) => text.split(/(?<=[.!?]) /));
  const unusual = whole.slice(0, 60).map((text, i) => disguised(text, i % 3));
  return [...whole, ...unusual, ...sentences].slice(0, COUNT);
}

function linesOf(file: string): string[] {
  const lines = readFileSync(join(QUALITY, file), "utf8").split("\n").filter(Boolean);
  return lines.map((line) => (JSON.parse(line) as { text: string }).text.split(/\s+/).filter(Boolean).join(" "));
}

/** In full width, in mathematical letters, or with ligatures, marks of their own and spaces that do not break. */
function disguised(text: string, way: number): string {
  const moved = (from: number) => (letter: string) => String.fromCodePoint(letter.codePointAt(0)! + from);
  if (way === 0) return text.replace(/[!-~]/g, moved(0xfee0));
  if (way === 1) return text.replace(/[a-z]/g, moved(0x1d41a - 0x61));
  return `${text.replaceAll("fi", "ﬁ").replaceAll(" a", "\u00a0a").replaceAll("e", "e\u0301")} ½ café ①`;
}

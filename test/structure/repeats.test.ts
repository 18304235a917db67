/** No six lines of code stand twice: not in one file, not in two. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Glob } from "bun";

const ROOT = join(import.meta.dir, "../..");
const LINES = 6;

/** The files whose repetition is meant, with the reason. */
const MEANT: Record<string, string> = {
  "ffi/ame_kernel/isa/isa.h": "the kernel's public table and that of one CPU path have members of the same types",
};

interface Line {
  readonly text: string;
  readonly number: number;
}

/** The lines of code of a file: without imports, comments, blank lines and lone punctuation. */
export function linesOf(source: string): Line[] {
  const blank = (text: string) => text.replace(/[^\n]/g, "");
  const code = source
    .replace(/^import\b[\s\S]*?;$|^#include.*$|^export (?:type )?\{[\s\S]*?\} from .*$/gm, blank)
    .replace(/\/\*[\s\S]*?\*\//g, blank)
    .replace(/^\s*\/\/.*$/gm, "");
  const lines = code.split("\n").map((text, i) => ({ text: text.trim().replace(/\s+/g, " "), number: i + 1 }));
  return lines.filter(({ text }) => /\w/.test(text));
}

test("no six lines of code twice", async () => {
  const first = new Map<string, { file: string; at: number; place: string }>();
  const found: string[] = [];
  for (const file of [...new Glob("{src,ffi,test}/**/*.{ts,c,h}").scanSync(ROOT)].sort()) {
    if (/\/golden\/|_table\.h$|_forms\.h$/.test(file) || MEANT[file]) continue;
    const lines = linesOf(readFileSync(join(ROOT, file), "utf8"));
    for (let at = 0; at + LINES <= lines.length; at++) {
      const text = lines
        .slice(at, at + LINES)
        .map((line) => line.text)
        .join("\n");
      const place = `${file}:${lines[at]!.number}`;
      const other = first.get(text);
      if (other === undefined) first.set(text, { file, at, place });
      else if (other.file !== file || at >= other.at + LINES) {
        found.push(`${place} repeats ${other.place}`);
        at += LINES - 1;
      }
    }
  }
  expect(found).toEqual([]);
});

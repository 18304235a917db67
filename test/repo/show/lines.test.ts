/** Which lines of a file an answer shows, and how a form writes them. */
import { describe, expect, test } from "bun:test";
import { CHUNK_BYTES_MAX, splitLines } from "../../../src/repo/chunks/chunk.ts";
import { around, LINE_UNITS_MAX, segmentsOf } from "../../../src/repo/show/cut.ts";
import { asGrep, asRanges, type Form, rangeAbout, shownLines } from "../../../src/repo/show/forms.ts";
import type { FileLines } from "../../../src/repo/show/line.ts";
import { type LineQuestion, linesOf, type Stretch } from "../../../src/repo/show/lines.ts";

/** A question of words, each worth one, and of names, which `def name` defines. */
function asked(words: readonly string[], names: readonly string[] = []): LineQuestion {
  return {
    names,
    valuesOf: (texts) => texts.map((text) => words.filter((word) => text.includes(word)).length),
    definitionsIn: (text) =>
      text.split("\n").flatMap((line, i) => {
        const name = /^\s*def (\w+)/.exec(line)?.[1];
        return name === undefined ? [] : [{ name, line: i + 1 }];
      }),
  };
}

function found(text: string, question: LineQuestion, windows?: Stretch[]): FileLines {
  const file = splitLines(text);
  const lines = linesOf(file, windows ?? [{ start: 1, end: file.length }], question);
  expect(lines).toBeDefined();
  return lines!;
}

const shown = (lines: FileLines, place: number, form: Form = "lines") => asRanges(shownLines(lines, form, place));
const numbers = (count: number, of: (i: number) => string) =>
  `${Array.from({ length: count }, (_, i) => of(i + 1)).join("\n")}\n`;

describe("the lines of a file", () => {
  const text = numbers(300, (i) => {
    if (i === 40) return "use quokka(1)";
    if (i === 200) return "def quokka(n):";
    if (i > 200 && i < 210) return `    body ${i}`;
    return i === 100 ? "quokka keeper" : `line ${i}`;
  });

  test("a definition that is asked for comes first, with its body below it", () => {
    const lines = found(text, asked(["quokka", "keeper"], ["quokka"]));
    expect([lines.best.number, lines.symbol]).toEqual([200, "quokka"]);
    for (const place of [0, 1, 5]) {
      const ranges = shownLines(lines, "lines", place);
      const { start, end } = rangeAbout(ranges, lines.best);
      expect([place, start <= 200, start >= 198, end > 200]).toEqual([place, true, true, true]);
      expect(shown(lines, place)).toContain("def quokka(n):\n    body 201");
    }
    // After the body come other lines.
    const first = shownLines(lines, "lines", 0).map(({ number }) => number);
    expect(first).toContain(209);
    expect(first).not.toContain(225);
  });

  test("at most 40 lines for the first hit, 12 for the next four, 2 for others", () => {
    const lines = found(
      numbers(300, (i) => `quokka ${i}`),
      asked(["quokka"]),
    );
    expect([0, 1, 4, 5, 99].map((place) => shownLines(lines, "lines", place).length)).toEqual([40, 12, 12, 2, 2]);
    expect(shownLines(lines, "grep", 0).length).toBe(3);
  });

  test("lines that the question says nothing of are left out, however much room there is", () => {
    const lines = found(text, asked(["keeper"]));
    const all = shownLines(lines, "lines", 0).map(({ number }) => number);
    expect(all).toContain(100);
    expect(all.every((number) => number > 90 && number < 115)).toBe(true);
    expect(lines.best.number).toBe(100);
  });

  test("only lines of the windows, each once where these overlap", () => {
    const windows = [
      { start: 90, end: 110 },
      { start: 95, end: 120 },
      { start: 290, end: 400 },
    ];
    const lines = found(text, asked(["quokka"], ["quokka"]), windows);
    expect(lines.best.number).toBe(100);
    expect(lines.lines.map(({ number }) => number)).toEqual([
      ...Array.from({ length: 31 }, (_, i) => 90 + i),
      ...Array.from({ length: 11 }, (_, i) => 290 + i),
    ]);
  });

  test("the symbol is the one asked for, else the last one defined at or above the best line", () => {
    const code = "x\ndef one():\n    a\ndef two():\n    quokka\ndef three():\n    b\n";
    expect(found(code, asked(["quokka"])).symbol).toBe("two");
    expect(found(code, asked(["quokka"], ["three"])).symbol).toBe("three");
    expect(found("quokka\ndef one():\n", asked(["quokka"])).symbol).toBeUndefined();
    // Only of the windows.
    expect(found(code, asked(["quokka"], ["one"]), [{ start: 4, end: 7 }]).symbol).toBe("two");
  });

  test("what was found by meaning alone is shown from the beginning of its best window", () => {
    const lines = found(`\n\n${text}`, asked(["nowhere"]), [
      { start: 50, end: 90 },
      { start: 1, end: 20 },
    ]);
    expect(lines.best.number).toBe(50);
    expect(shown(lines, 0)).toStartWith("50:line 48\nline 49\n");
    expect(shownLines(lines, "grep", 0).map(({ number }) => number)).toEqual([50]);
  });

  test("lines that are gone are left out, and a file of none has no lines", () => {
    expect(found("a quokka\n", asked(["quokka"]), [{ start: 1, end: 48 }]).lines.length).toBe(1);
    expect(linesOf(["short\n"], [{ start: 49, end: 96 }], asked(["short"]))).toBeUndefined();
    expect(linesOf([], [{ start: 1, end: 1, piece: 2 }], asked([]))).toBeUndefined();
    expect(linesOf(["x\n"], [{ start: Number.NaN, end: Number.NaN }], asked([]))).toBeUndefined();
  });

  test("equal lines are chosen in their order", () => {
    const lines = found(
      numbers(100, (i) => (i % 10 === 0 ? "quokka" : "")),
      asked(["quokka"]),
    );
    expect(shownLines(lines, "grep", 0).map(({ number }) => number)).toEqual([10, 20, 30]);
    expect(lines.best.number).toBe(
      found(
        numbers(100, (i) => (i % 10 === 0 ? "quokka" : "")),
        asked(["quokka"]),
      ).best.number,
    );
  });
});

describe("long lines", () => {
  const filler = (length: number) => "word ".repeat(length / 5);

  test("are cut around the words, marked where they are cut", () => {
    const [line] = found(`${filler(5000)}quokka keeper ${filler(5000)}\n`, asked(["quokka", "keeper"])).lines;
    expect(line!.text).toMatch(/^….*quokka keeper .*…$/);
    expect(line!.text.length).toBeLessThanOrEqual(LINE_UNITS_MAX);
    expect(found(`quokka ${filler(5000)}\n`, asked(["quokka"])).lines[0]!.text).toMatch(/^quokka .*…$/);
    expect(found(`${filler(5000)}quokka\n`, asked(["quokka"])).lines[0]!.text).toMatch(/^….* quokka$/);
    expect(found(`${"x".repeat(LINE_UNITS_MAX)}\n`, asked(["x"])).lines[0]!.text).toBe("x".repeat(LINE_UNITS_MAX));
  });

  test("are cut around the name that they define", () => {
    const line = `def quokka(): ${filler(5000)} keeper keeper\n`;
    expect(found(line, asked(["keeper"], ["quokka"])).lines[0]!.text).toStartWith("def quokka():");
  });

  test("a file of one line of 1 MB: the piece with the words, of all pieces one line", () => {
    const line = `${filler(600_000)}quokka keeper ${filler(400_000)}`;
    const pieces = Array.from({ length: 16 }, (_, piece) => ({ start: 1, end: 1, piece }));
    const lines = found(line, asked(["quokka"]), [pieces[9]!, ...pieces]);
    // The first half megabyte of the windows is looked at: the best window first.
    expect(Math.floor(600_000 / CHUNK_BYTES_MAX)).toBe(9);
    expect(lines.lines.length).toBe(1);
    expect(shown(lines, 0)).toMatch(/^1:….*quokka keeper.*…$/);
  });

  test("no answer has more than 200 characters of a line, whatever stands in it", () => {
    const long = [
      "\u{1f980}".repeat(500),
      "\ud800".repeat(999),
      "\u0301".repeat(777),
      "🦑 quokka ".repeat(100),
      " ".repeat(900),
    ];
    for (const line of long) {
      const segments = segmentsOf(line);
      expect(segments.map(({ start, end }) => line.slice(start, end)).join("")).toBe(line);
      for (let at = 0; at < line.length; at += 98) {
        const text = around(line, at, Math.min(line.length, at + 160));
        expect(text.length).toBeLessThanOrEqual(LINE_UNITS_MAX);
        if (line.isWellFormed()) expect(text.isWellFormed()).toBe(true);
        expect(text).toContain(line.slice(at, Math.min(line.length, at + 160)));
      }
    }
  });
});

describe("forms", () => {
  const line = (number: number, text = `line ${number}`) => ({ number, text, value: 1, near: 1, isAsked: false });

  test("ranges: merged, ascending, the first line of each with its number, a mark between them", () => {
    expect(asRanges([line(7), line(3), line(4), line(9, "\tx"), line(8)])).toBe(
      "3:line 3\nline 4\n…\n7:line 7\nline 8\n\tx",
    );
    expect(asRanges([])).toBe("");
  });

  test("ranges neither begin nor end with empty lines", () => {
    expect(asRanges([line(1, ""), line(2), line(3, "  "), line(4), line(5, ""), line(6, ""), line(9, "")])).toBe(
      "2:line 2\n  \nline 4",
    );
  });

  test("grep: path, number and text without indentation", () => {
    expect(asGrep("src/a b.ts", [line(12, "\t x()"), line(3)])).toBe("src/a b.ts:3:line 3\nsrc/a b.ts:12:x()");
  });

  test("files: the best line alone", () => {
    const lines = found("a\nb quokka\nc\n", asked(["quokka"]));
    expect(shownLines(lines, "files", 0)).toEqual([lines.best]);
  });
});

import { describe, expect, test } from "bun:test";
import { ValueError } from "../../../src/errors.ts";
import {
  CHUNK_BYTES_MAX,
  type ChunkOptions,
  checkChunkOptions,
  chunkBytes,
  decodeText,
  splitLines,
  textBytes,
  textOf,
} from "../../../src/repo/chunks/chunk.ts";
import { languageOf } from "../../../src/repo/chunks/language.ts";

const windows = (windowLines: number, windowOverlapLines: number): ChunkOptions => ({
  mode: "windowed",
  windowLines,
  windowOverlapLines,
});
/** The chunks with their texts. */
const chunkText = (text: string, options: ChunkOptions) => {
  const bytes = new TextEncoder().encode(text);
  return chunkBytes(bytes, options).map(({ from, to, ...lines }) => {
    return { text: textOf(bytes.subarray(from, to)), ...lines };
  });
};
const ranges = (text: string, options: ChunkOptions) =>
  chunkText(text, options).map((chunk) => [chunk.startLine, chunk.endLine]);
const numbered = (count: number) => Array.from({ length: count }, (_, line) => `line ${line + 1}\n`).join("");

describe("windows", () => {
  const table: [string, number, number, number, number[][]][] = [
    ["one line", 1, 48, 8, [[1, 1]]],
    ["exactly one window", 48, 48, 8, [[1, 48]]],
    ["one line more", 49, 48, 8, [[1, 48], [41, 49]]],
    ["exactly two windows", 88, 48, 8, [[1, 48], [41, 88]]],
    ["no overlap", 5, 2, 0, [[1, 2], [3, 4], [5, 5]]],
    ["nearly all overlap", 4, 3, 2, [[1, 3], [2, 4]]],
    ["a window a line", 3, 1, 0, [[1, 1], [2, 2], [3, 3]]],
  ]; // biome-ignore format: rows of a table
  for (const [name, lines, size, overlap, expected] of table) {
    test(name, () => expect(ranges(numbered(lines), windows(size, overlap))).toEqual(expected));
  }

  test("every line is covered, neighbours overlap exactly, texts are the lines", () => {
    let seed = 20261121;
    const random = (below: number) => {
      seed = (Math.imul(seed, 1103515245) + 12345) & 0x7fffffff;
      return seed % below;
    };
    for (let round = 0; round < 400; round++) {
      const size = 1 + random(20);
      const overlap = random(size);
      const count = 1 + random(200);
      const text = Array.from(
        { length: count },
        (_, line) => `${line} ${"é".repeat(random(5))}${["\n", "\r\n"][random(2)]}`,
      ).join("");
      const lines = splitLines(text);
      const chunks = chunkText(text, windows(size, overlap));
      expect(chunks[0]!.startLine).toBe(1);
      expect(chunks.at(-1)!.endLine).toBe(count);
      for (const [index, chunk] of chunks.entries()) {
        expect(chunk.text).toBe(lines.slice(chunk.startLine - 1, chunk.endLine).join(""));
        const next = chunks[index + 1];
        if (!next) continue;
        expect(chunk.endLine - chunk.startLine + 1).toBe(size);
        expect(chunk.endLine - next.startLine + 1).toBe(overlap);
        expect(next.endLine).toBeGreaterThan(chunk.endLine);
      }
    }
  });

  test("blank lines at the end make no window of their own", () => {
    expect(ranges(`a\nb\n${"\n".repeat(10)}  \n`, windows(2, 0))).toEqual([[1, 2]]);
    expect(ranges(`a\n\n\nb\n`, windows(2, 0))).toEqual([
      [1, 2],
      [3, 4],
    ]);
  });

  test("an empty text has no windows", () => {
    for (const text of ["", "\n\n", "  \r\n"]) expect(chunkText(text, windows(48, 8))).toEqual([]);
  });

  test("CRLF is kept, a missing last line end too", () => {
    expect(chunkText("a\r\nb", windows(1, 0)).map((chunk) => chunk.text)).toEqual(["a\r\n", "b"]);
  });
});

describe("files and bounds", () => {
  test("one chunk a file", () =>
    expect(ranges(numbered(500), { ...windows(48, 8), mode: "file" })).toEqual([[1, 500]]));

  test("a large file is cut at lines, all of them covered", () => {
    const text = Array.from({ length: 3000 }, (_, line) => `${line} ${"x".repeat(90)}\n`).join("");
    const chunks = chunkText(text, { ...windows(48, 8), mode: "file" });
    expect(chunks.length).toBeGreaterThan(3);
    expect(chunks.map((chunk) => chunk.text).join("")).toBe(text);
    for (const chunk of chunks) expect(Buffer.byteLength(chunk.text)).toBeLessThanOrEqual(CHUNK_BYTES_MAX);
  });

  for (const letter of ["x", "é", "漢", "😀"]) {
    test(`a line too long is cut between characters (${letter})`, () => {
      const long = letter.repeat(Math.ceil((CHUNK_BYTES_MAX * 2.5) / Buffer.byteLength(letter)));
      const chunks = chunkText(`before\n${long}\nafter\n`, windows(48, 8));
      expect([chunks[0]!.text, chunks.at(-1)!.text]).toEqual(["before\n", "after\n"]);
      const pieces = chunks.slice(1, -1);
      expect(pieces.map((chunk) => chunk.text).join("")).toBe(`${long}\n`);
      expect(pieces.map((chunk) => chunk.piece)).toEqual(pieces.map((_, piece) => piece));
      expect(pieces.length).toBe(3);
      for (const { text, startLine, endLine } of pieces) {
        expect([startLine, endLine]).toEqual([2, 2]);
        expect(Buffer.byteLength(text)).toBeLessThanOrEqual(CHUNK_BYTES_MAX);
        expect(text).not.toContain("\uFFFD");
      }
    });
  }

  test("bytes become text: mark dropped, what is not UTF-8 replaced", () => {
    const mark = [0xef, 0xbb, 0xbf];
    for (const bytes of [[...mark, 0x61, 0xff, 0x62], [...mark, ...mark, 0x61], [0x61, ...mark], [...mark], []]) {
      const text = decodeText(new Uint8Array(bytes));
      expect(textOf(textBytes(new Uint8Array(bytes)))).toBe(text);
    }
    expect(decodeText(new Uint8Array([...mark, 0x61, 0xff, 0x62]))).toBe("a\uFFFDb");
  });

  test("blank lines of any white space end no text", () => {
    const blanks = ["\u00a0", "\u2028 ", "\u3000\t", "\ufeff"];
    for (const blank of blanks) expect(ranges(`a\n\n${blank}\n`, windows(1, 0))).toEqual([[1, 1]]);
    for (const mark of ["\u200b", "."]) expect(ranges(`a\n ${mark}\n`, windows(1, 0)).length).toBe(2);
  });
});

test("an overlap as long as the window is refused", () => {
  expect(() => checkChunkOptions(windows(8, 8))).toThrow(ValueError);
  expect(() => checkChunkOptions(windows(8, 8))).toThrow("window_overlap_lines (8)");
  expect(() => checkChunkOptions(windows(8, 7))).not.toThrow();
});

describe("languages", () => {
  const table: Record<string, string> = {
    "a/b.ts": "typescript",
    "a.test.TSX": "typescript",
    "CMakeLists.txt": "cmake",
    "x/Makefile": "makefile",
    "Makefile.am": "makefile",
    "Dockerfile.dev": "dockerfile",
    "a.h": "c",
    "go.mod": "go",
    README: "text",
    "notes.txt": "text",
    ".gitignore": "text",
    "a.constructor": "text",
    "a.tar.gz": "text",
    "dir.py/file": "text",
  };
  for (const [path, language] of Object.entries(table))
    test(`${path}: ${language}`, () => expect(languageOf(path)).toBe(language));
});

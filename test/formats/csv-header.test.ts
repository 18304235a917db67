/** The first line of a table is counted as the parser reads it, wherever the file is cut into pieces. */
import { expect, test } from "bun:test";
import { parse } from "csv-parse/sync";
import { headerOf, readHeader } from "../../src/formats/csv-header.ts";
import { random } from "../random.ts";

const PARTS = ["a", "bc", "é", ",", ",,", '"x"', '"a,b"', '"a\nb"', '"a""b"', '""', '"c\r\nd"', " "];

/** A line of a table: fields of these parts, quotes only around whole fields. */
function line(next: () => number, delimiter: string): string {
  const pick = () => PARTS[Math.floor(next() * PARTS.length)]!;
  return Array.from({ length: 1 + Math.floor(next() * 6) }, pick)
    .map((part) => (part.startsWith(",") ? "" : part))
    .join(delimiter);
}

test("as many columns as csv-parse finds, and the end of line that it goes on with", () => {
  const next = random(11);
  for (let i = 0; i < 3000; i++) {
    const delimiter = [",", ";", "\t", "§"][i % 4]!;
    const end = (["\n", "\r\n", "\r"] as const)[i % 3]!;
    const empty = i % 5 === 0 ? end : "";
    const first = line(next, delimiter);
    const text = `${i % 7 === 0 ? "\ufeff" : ""}${empty}${first}${end}${line(next, delimiter)}${end}`;
    const records = parse(text, { bom: true, delimiter, skip_empty_lines: true, relax_column_count: true });
    if (first === "") continue;
    const found = headerOf(Buffer.from(text), Buffer.from(delimiter));
    expect({ text, ...found }).toEqual({ text, columns: records[0]!.length, isEnded: true, lineEnd: end });
  }
});

test("it reads no more than the line, or the most", async () => {
  async function* pieces(text: string, size: number) {
    for (let at = 0; at < text.length; at += size) yield Buffer.from(text.slice(at, at + size));
  }
  for (const size of [1, 2, 3, 7, 100]) {
    const text = 'text,"a\r\nb",c\r\n1,2,3\r\n';
    const { header, read } = await readHeader(pieces(text, size), ",", 1000);
    expect(header).toEqual({ columns: 3, isEnded: true, lineEnd: "\r\n" });
    expect(text.startsWith(Buffer.concat(read).toString())).toBe(true);
  }
  const long = await readHeader(pieces("a,".repeat(50_000), 10), ",", 1000);
  expect(long.header).toMatchObject({ isEnded: false, lineEnd: undefined });
  expect(Buffer.concat(long.read).length).toBeLessThan(3000);
  const { header } = await readHeader(pieces("", 10), ",", 1000);
  expect(header).toEqual({ columns: 0, isEnded: true, lineEnd: undefined });
});

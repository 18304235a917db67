/** Lines and depth at their borders. */
import { expect, test } from "bun:test";
import { isTooDeep } from "../../src/checks/depth.ts";
import { isBlank, LineSplitter, OversizeLine } from "../../src/checks/lines.ts";
import { JSON_DEPTH_MAX } from "../../src/limits.ts";
import { idOfOversize, topLevelId } from "../../src/mcp/lines.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

function split(chunks: string[], max = 10): string[] {
  const splitter = new LineSplitter(max);
  const lines = chunks.flatMap((chunk) => [...splitter.push(bytes(chunk))]);
  lines.push(...splitter.finish());
  return lines.map((line) => (line instanceof OversizeLine ? "<oversize>" : new TextDecoder().decode(line)));
}

const SPLITS: [name: string, chunks: string[], lines: string[]][] = [
  ["one line", ["abc\n"], ["abc"]],
  ["two lines in one chunk", ["a\nb\n"], ["a", "b"]],
  ["a line in many chunks", ["a", "b", "", "c\nd"], ["abc", "d"]],
  ["no newline at the end", ["abc"], ["abc"]],
  ["empty lines", ["\n\na\n"], ["", "", "a"]],
  ["exactly the limit", ["0123456789\n"], ["0123456789"]],
  ["the limit over two chunks", ["01234", "56789\n"], ["0123456789"]],
  ["one above the limit", ["0123456789x\nok\n"], ["<oversize>", "ok"]],
  [
    "above the limit over chunks, reported once",
    ["01234", "56789", "x", "yyyyyyyyyyyyyyyyyyyyyy", "z\nok\n"],
    ["<oversize>", "ok"],
  ],
  ["above the limit without an end", ["0123456789x"], ["<oversize>"]],
];

test.each(SPLITS)("%s", (_, chunks, lines) => {
  expect(split(chunks)).toEqual(lines);
});

const nest = (depth: number) => "[".repeat(depth) + "]".repeat(depth);

test("depth is counted up to the limit, outside of strings only", () => {
  expect(isTooDeep(bytes(nest(JSON_DEPTH_MAX)))).toBe(false);
  expect(isTooDeep(bytes(nest(JSON_DEPTH_MAX + 1)))).toBe(true);
  expect(isTooDeep(bytes(`{"a":${nest(JSON_DEPTH_MAX)}}`))).toBe(true);
  expect(isTooDeep(bytes(JSON.stringify({ a: nest(1000) })))).toBe(false);
  expect(isTooDeep(bytes(JSON.stringify({ a: `\\"${nest(1000)}`, b: '\\\\"' })))).toBe(false);
  expect(isTooDeep(bytes(`["\\\\",${nest(JSON_DEPTH_MAX)}]`))).toBe(true);
  expect(isTooDeep(bytes(`"${"[".repeat(1000)}`))).toBe(false);
  expect(isTooDeep(bytes(JSON.stringify(Array.from({ length: 1000 }, () => [[]]))))).toBe(false);
});

test("blank lines are those of white space", () => {
  for (const line of ["", "\r", " \t\r"]) expect(isBlank(bytes(line))).toBe(true);
  for (const line of ["x", " {}"]) expect(isBlank(bytes(line))).toBe(false);
});

test.each([
  ['{"jsonrpc":"2.0","id":7,"params":[[[]]]}', 7],
  ['{"params":{"id":1,"x":[{"id":2}]},"id":3}', 3],
  ['{"params":"a \\"id\\": 9", "id" : "a\\"b"}', 'a"b'],
  ['{"id":-1.5e2}', -150],
  ['{"id":null}', undefined],
  ['{"id":{"id":1}}', undefined],
  ['["id",1]', undefined],
  ['{"x":"id"}', undefined],
  ['{"id"', undefined],
  ['{"id":"open', undefined],
])("the id of %s is %p", (line, id) => {
  expect(topLevelId(new TextEncoder().encode(line))).toBe(id);
});

test.each([
  ['{"jsonrpc":"2.0","id":7,"method":"x","params":{"a":"', "zzz", '"}}', 7],
  ['{"method":"x","params":{"a":"', "zzz", '"},"jsonrpc":"2.0","id":"last"}\r', "last"],
  ['{"method":"x","params":{"id":1,"a":"', "zzz", '","id":5}}', undefined],
  ['{"method":"x","params":{"a":"', "zzz", ' \\"id\\": 5}"}}', undefined],
  ["zzz", "zzz", "zzz", undefined],
])("the id of a line that is too long: %s…%s…%s", (start, middle, end, id) => {
  const splitter = new LineSplitter(2000);
  const lines = [start, middle.repeat(1000), end + "\n"].flatMap((chunk) => [...splitter.push(bytes(chunk))]);
  expect(lines.length).toBe(1);
  expect(idOfOversize(lines[0] as OversizeLine)).toBe(id);
});

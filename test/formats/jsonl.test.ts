/** Which files are JSON lines. */
import { expect, test } from "bun:test";
import { FORMATS } from "../../src/formats/formats.ts";
import { file, read } from "./support.ts";

const formatOf = (text: string, path = "-") => {
  const head = new TextEncoder().encode(text).subarray(0, 64 * 1024);
  return FORMATS.find((format) => format.matches(path, head, false))?.name;
};
const LONG = "y".repeat(100_000);

const CASES: [string, string, string][] = [
  ["nothing", "", "jsonl"],
  ["a row", '{"text":"a"}\n{"text":"b"}\n', "jsonl"],
  ["the first line of an export", '{"svc_export":1,"filter_columns":["a"]}\n', "jsonl"],
  ["a row longer than the head", JSON.stringify({ id: "a", metadata: { a: [{}] }, text: LONG }), "jsonl"],
  ["a row that begins with a long vector", JSON.stringify({ vector: { f32: LONG }, text: "a" }), "jsonl"],
  ["a row with spaces", `{ "id" : "a", "text" : "${LONG}" }`, "jsonl"],
  ["a document longer than the head", JSON.stringify({ notes: [{ text: LONG }] }), "json"],
  ["one that begins as a row does", JSON.stringify({ id: "all", notes: [{ text: LONG }] }), "json"],
  ["an array", JSON.stringify([{ text: LONG }]), "json"],
  ["a document over several lines", '{\n  "notes": []\n}\n', "json"],
];
test.each(CASES)("%s", (_, text, format) => {
  expect(formatOf(text)).toBe(format);
});

test("a name decides where there is one", () => {
  expect(formatOf('{\n"a": 1', "x.jsonl")).toBe("jsonl");
  expect(formatOf('{\n"a": 1', "x.ndjson.gz")).toBe("jsonl");
});

test("an entity of the memory server with 600,000 observations", async () => {
  const observations = Array.from({ length: 600_000 }, (_, i) => `observation ${i}`);
  const entity = { type: "entity", name: "n", entityType: "t", observations };
  const { rows, error } = await read(file("memory.jsonl", JSON.stringify(entity)), { from: "memory-server" });
  expect({ rows: rows.length, error }).toEqual({ rows: 600_000, error: undefined });
});

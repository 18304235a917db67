import { expect, test } from "bun:test";
import { readWords } from "./options.ts";

const KNOWN = {
  short: {},
  plain: { options: ["--json", "--sets"] },
  long: { isLong: true, options: ["--json", "--rows"] },
} as const;
const read = (...words: string[]) => readWords(words, KNOWN);

test("without names all short suites run; a name is taken once", () => {
  expect(read()).toEqual({ suites: ["short", "plain"], given: new Map(), isJson: false });
  expect(read("long", "short", "long").suites).toEqual(["long", "short"]);
});

test("options take values in any position, and --json only the name of a .json file", () => {
  expect(read("--rows", "5", "long").given).toEqual(new Map([["--rows", "5"]]));
  expect(read("--json", "long")).toMatchObject({ suites: ["long"], isJson: true, given: new Map() });
  expect(read("long", "--json", "a.json")).toMatchObject({ isJson: false, given: new Map([["--json", "a.json"]]) });
});

test.each([
  [["--bogus"], "there is no option --bogus; there are --json, --sets, --rows"],
  [["long", "--rows=5"], "there is no option --rows=5;"],
  [["nothing"], "no benchmark is called nothing; there are short, plain, long"],
  [["long", "--rows"], "--rows needs a value"],
  [["long", "--rows", "--json"], "--rows needs a value"],
  [["long", "--rows", "5", "--rows", "6"], "--rows is given twice"],
  [["short", "--rows", "5"], "--rows is an option of long: name one of them too"],
  [["short", "--json", "a.json"], "--json is an option of plain and long: name one of them too"],
  [["plain", "long", "--json", "a.json"], "takes the figures of one suite, not of plain and long"],
])("%p is refused", (words, sentence) => {
  expect(() => read(...words)).toThrow(sentence);
});

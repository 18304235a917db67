/** Which words of a question are names. */
import { expect, test } from "bun:test";
import { asksForNames, namesIn } from "../../../src/repo/rank/identifiers.ts";

test.each([
  ["createServer", "createServer"],
  ["retry", "retry"],
  ["createServer()", "createServer"],
  ["`retry`", "retry"],
  ["Foo::bar", "Foo::bar bar Foo"],
  ["sphinx.util.logging", "sphinx.util.logging logging util sphinx"],
  ["valid?", "valid valid?"],
  ["with-retry", "with-retry with retry"],
  ["where is parse_http used", "parse_http"],
  ["where is retry defined?", "retry"],
  ["Where is the retry function?", "retry"],
  ["definition of widget", "widget"],
  ["find class Widget", "Widget"],
  ["which file implements backoff", "backoff"],
  ["how does HTTPServer use sha256 and Base64", "HTTPServer sha256 Base64"],
  ["why does Config.load() return null", "load Config"],
  ["Array#map and std::vec and a->next", "map Array vec std next"],
  ["what does `retry` do", "retry"],
  ["what does `a && retry` do", "retry"],
  ["does the Parser call it? Yes", "Parser"],
  ["$scope and _private and MAX_SIZE", "$scope _private MAX_SIZE"],
  ["straßenName und größe_max", "straßenName größe_max"],
  ["retries with exponential backoff", ""],
  ["How are requests retried? With jitter.", ""],
  ["what is in src/node/config.ts", ""],
  ["config.ts", ""],
  ["src/node/config", ""],
  ["the class that parses the type of a function", ""],
  ["e.g. 1.2.3 and i.e. 10", ""],
  ["", ""],
  ["   ", ""],
  ["???", ""],
])("%p has the names %p", (question, names) => {
  expect(namesIn(question).join(" ")).toBe(names);
});

test("none with a control character, which no label may hold", () => {
  expect(namesIn("foo\0bar")).toEqual(["foo", "bar"]);
  expect(namesIn("my-name\x01")).toEqual(["my", "name"]);
});

test("each name once, no more than 32, none of more than 256 bytes", () => {
  expect(namesIn("fooBar calls fooBar and foo.fooBar")).toEqual(["fooBar", "foo"]);
  expect(namesIn(Array.from({ length: 100 }, (_, i) => `aName${i}`).join(" "))).toHaveLength(32);
  expect(namesIn(`see ${"aB".repeat(200)} and ${"éÉ".repeat(80)} and fine_name`)).toEqual(["fine_name"]);
});

test.each([
  ["parseHeader", true],
  ["where is retry defined?", true],
  ["what does `Client` do", true],
  ["Foo::bar", true],
  ["retries with exponential backoff", false],
  ["how does parseHeader treat a line that has no colon", false],
  [`parseHeader ${"word ".repeat(10_000)}`, false],
])("%p asks for names alone: %p", (question, expected) => {
  expect(asksForNames(question, namesIn(question))).toBe(expected);
});

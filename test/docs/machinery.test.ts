/** The test of the documents finds what it is for: claims that are not true, commands that do not exist. */
import { describe, expect, test } from "bun:test";
import { objection } from "./commands.ts";
import { differs, differsAsJson } from "./compare.ts";
import { readPage } from "./markdown.ts";
import { examplesOf, Session } from "./session.ts";
import { readSteps, wordsOf } from "./shell.ts";

const fence = (language: string, ...lines: string[]) => ["```" + language, ...lines, "```"].join("\n");

describe("a claim", () => {
  test.each([
    ["a text", "a text\n"],
    ["1. …\n   tea", "1. 01a208f1-5bf5\n   tea"],
    ["first\n…\nlast", "first\nlast"],
    ["first\n…\nlast", "first\n2\n3\nlast"],
    ["…\nlast", "a\nb\nlast"],
  ])("%j is what prints %j", (claim, output) => expect(differs(claim, output)).toBeUndefined());

  test.each([
    ["a text", "a texts"],
    ["first\nlast", "first\n2\nlast"],
    ["one … line", "one\nline"],
    ["1.0", "1x0"],
  ])("%j is not what prints %j", (claim, output) => expect(differs(claim, output)).toContain("the page says"));

  test.each([
    ['{"a": 1, "b": "…"}', '{"b": [2], "a": 1}', true],
    ['{"a": "x…"}', '{"a": "xyz"}', true],
    ['{"a": 1}', '{"a": 1, "b": 2}', false],
    ['{"a": 1}', '{"a": "1"}', false],
    ["[1]", "[1, 2]", false],
    ["[1]", "no JSON", false],
  ])("%s as JSON, of %s: %p", (claim, output, isTrue) => {
    expect(differsAsJson(claim, output) === undefined).toBe(isTrue);
  });
});

describe("a command line", () => {
  test.each([
    "svc mem add notes 'a text' --id x",
    "svc mem count notes --json",
    "svc mem search notes QUERY --top-k N",
    "svc authority serve … --data DIR",
  ])("%s is one", async (line) => expect(await objection(wordsOf(line).slice(1), true)).toBeUndefined());

  test.each([
    ["svc mem ad notes x", "no command 'ad'"],
    ["svc mem add notes x --idd y", "unknown flag '--idd'"],
    ["svc mem add", "COLLECTION"],
    ["svc mem search notes x --top-k many", "not a number"],
    ["svc mem", "does nothing by itself"],
    ["svc runtime instal", "no command 'instal'"],
  ])("%s: %s", async (line, why) => expect(await objection(wordsOf(line).slice(1), true)).toContain(why));
});

test("a block is cut into its commands", () => {
  const block = [
    "# a remark",
    "svc mem add notes \\",
    "  'two\nlines' # → added …",
    "cat <<'END' > file; svc mem count notes | head -1",
    "svc no command",
    "END",
    'A=$(svc mem ids notes) svc mem get notes "$A" 2>/dev/null',
  ].join("\n");
  const steps = readSteps(block);
  expect(steps.map(({ claim }) => claim)).toEqual(["added …", undefined, undefined]);
  expect(steps.map(({ commands }) => commands)).toEqual([
    [["svc", "mem", "add", "notes", "two\nlines"]],
    [["cat"], ["svc", "mem", "count", "notes"], ["head", "-1"]],
    [
      ["svc", "mem", "ids", "notes"],
      ["A=$(svc mem ids notes)", "svc", "mem", "get", "notes", "$A"],
    ],
  ]);
  expect(() => readSteps("svc mem add notes 'no end")).toThrow("does not end");
});

test("a page is read", () => {
  const page = readPage(
    [
      "# One: `two` & three",
      "<!-- alone -->",
      "",
      "See [a](b.md#c) and `svc mem",
      "list`.",
      "<!-- kept running -->",
    ].join("\n") + `\n${fence("sh", "svc serve")}\n\n${fence("json", "{}")}\n## One: two & three`,
  );
  expect([...page.anchors]).toEqual(["one-two--three", "one-two--three-1"]);
  expect(page.remarks).toEqual(["alone"]);
  expect(page.links.map(({ text }) => text)).toEqual(["b.md#c"]);
  expect(page.spans.map(({ text }) => text)).toEqual(["two", "svc mem list"]);
  expect(page.blocks.map(({ language, remark, isNext, line }) => [language, remark, isNext, line])).toEqual([
    ["sh", "kept running", false, 7],
    ["json", undefined, true, 11],
  ]);
});

test.each([
  [fence("cobol", "x"), "nothing tests a block of 'cobol'"],
  [fence("text", "x"), "answers no block"],
  [fence("json", "{"), "JSON"],
  [`<!-- skip -->\n${fence("sh", "true")}`, "what does 'skip' mean?"],
])("a block that no convention covers is a failure", (text, why) => {
  expect(() => examplesOf(readPage(text))).toThrow(why);
});

test("what a page claims is compared with what runs", async () => {
  const page = readPage(
    [
      "<!-- this page begins without a login -->\n\nText\n",
      fence("sh", "echo one", "echo two # → two"),
      fence("text", "one", "two"),
      fence("sh", "echo one # → two"),
      fence("sh", "echo one"),
      fence("text", "two"),
      `<!-- exit code 3 -->\n${fence("sh", "exit 3")}`,
      fence("sh", "false", "true"),
      `<!-- kept running -->\n${fence("sh", "echo ready; exec sleep 1000")}`,
      fence("text", "ready"),
      fence("ts", "console.log(6 * 7); // → 42"),
      fence("ts", "console.log(6 * 7); // → 43"),
    ].join("\n"),
  );
  await using session = await Session.open(page);
  const outcomes: (string | undefined)[] = [];
  for (const example of examplesOf(page)) {
    const error = await session.run(example).catch((thrown: Error) => thrown);
    outcomes.push(error?.message.split("\n")[0]);
  }
  const wrong = "the page says";
  expect(outcomes.map((said) => (said?.startsWith("echo") ? wrong : said))).toEqual([
    undefined,
    wrong,
    wrong,
    undefined,
    "exit code 1 instead of 0; it printed",
    undefined,
    undefined,
    wrong,
  ]);
});

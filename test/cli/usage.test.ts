/** What is not understood is refused with exit code 2 and one line on stderr, before anything is tried. */
import { describe, expect, test } from "bun:test";
import { command } from "../../src/cli/command.ts";
import { readFlags } from "../../src/cli/flags.ts";
import { nearest } from "../../src/cli/suggest.ts";
import { FAKE_BUILD, FAKE_GATE, svc } from "./support.ts";

describe("a command line that is wrong", () => {
  const CASES: [string[], string][] = [
    [["serach"], "unknown command 'serach'"],
    [["versoin"], "unknown command 'versoin', did you mean 'version'?; see 'svc --help'"],
    [["mem", "serch", "notes", "x"], "unknown command 'serch', did you mean 'search'?; see 'svc mem --help'"],
    [["constructor"], "unknown command 'constructor'"],
    [["--nonsense"], "unknown flag '--nonsense'"],
    [["version", "--jsno"], "unknown flag '--jsno', did you mean '--json'?; see 'svc version --help'"],
    [["version", "extra"], "unexpected argument 'extra'"],
    [["mem", "count"], "<collection> is missing"],
    [["mem", "count", "notes", "--wehre", "scope=x"], "unknown flag '--wehre', did you mean '--where'?"],
    [["mem", "search", "notes", "x", "--topK", "3"], "unknown flag '--topK', did you mean '--top-k'?"],
    [["mem", "search", "notes", "x", "--top-k", "three"], "--top-k: 'three' is not a number"],
    [["mem", "search", "notes", "x", "--top-k", "0"], "argument 'top_k' must be at least 1, got 0"],
    [["mem", "search", "notes", "x", "--top-k"], "--top-k needs a value"],
    [
      ["mem", "search", "notes", "x", "--path", "--json"],
      "--path needs a value; if '--json' is meant, write --path=--json",
    ],
    [["mem", "search", "notes", "x", "--path", "a", "--path", "b"], "--path is given twice"],
    [["mem", "search", "notes", "-x"], "unknown flag '-x' (put '--' in front of a text that begins with a dash)"],
    [["mem", "search", "notes", "x", "--where", "scope"], "--where: 'scope' is not COLUMN=VALUE"],
    [["mem", "search", "notes", "x", "--where", "a=1", "--where", "b=2"], "'where' must have exactly one key"],
    [["mem", "search", "notes", "x", "--explain"], "--explain belongs to --lexical"],
    [["mem", "add", "notes", "x", "--metadata", "{scope}"], "--metadata: '{scope}' is not JSON"],
    [["mem", "add", "notes", "x", "--ids", "a,b"], "'ids' has 2 entries but 'texts' has 1 entry"],
    [["mem", "delete", "notes"], "no id"],
    [["login", "--json=maybe"], "--json takes no value, or true or false"],
    [["authority", "serve", "--port", "99999"], "--port: '99999' is not a port"],
  ];
  test.each(CASES)("svc %p", async (words, message) => {
    const { code, stdout, stderr } = await svc(words, { preload: [FAKE_GATE], env: { FAKE_CLOSED: "1" } });
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toStartWith("svc: ValueError: ");
    expect(stderr).toContain(message);
    expect(stderr.trimEnd().split("\n")).toHaveLength(1);
  });

  test("a wrong JSON type is a TypeError", async () => {
    const { code, stderr } = await svc(["mem", "search", "notes", "x", "--top-k", "2.5"], { preload: [FAKE_GATE] });
    expect(code).toBe(2);
    expect(stderr).toStartWith("svc: TypeError: argument 'top_k' must be an integer");
  });
});

describe("exit codes", () => {
  test("1 for an operation that failed, with its type", async () => {
    const { code, stdout, stderr } = await svc(["mem", "count", "notes"]);
    expect({ code, stdout, stderr }).toEqual({
      code: 1,
      stdout: "",
      stderr: "svc: PermissionError: not logged in: run 'svc login' once\n",
    });
  });

  test("a failure of our own shows no stack", async () => {
    const { code, stderr } = await svc(["mem", "list"], { preload: [FAKE_GATE], env: { FAKE_CLOSED: "1" } });
    expect({ code, stderr }).toEqual({ code: 1, stderr: "svc: RuntimeError: internal error: the gate was opened\n" });
  });

  test("0 for version, by command and by flag", async () => {
    const preload = [FAKE_BUILD];
    const byCommand = await svc(["version"], { preload });
    const byFlag = await svc(["--version"], { preload });
    expect(byCommand.code).toBe(0);
    expect(byCommand.stdout).toMatch(/^svc \d+\.\d+\.\d+ /);
    expect(byFlag).toEqual(byCommand);
    expect(JSON.parse((await svc(["version", "--json"], { preload })).stdout)).toMatchObject({
      version: expect.any(String),
    });
  });

  test("logging out twice is no failure", async () => {
    const { code, stdout } = await svc(["logout", "--json"]);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual({ logged_out: false, removed: [] });
  });
});

describe("flags", () => {
  const sample = command({
    summary: "a sample",
    examples: [],
    args: {
      name: { type: "positional" },
      path: { type: "string" },
      id: { type: "string" },
      json: { type: "boolean" },
      browser: { type: "boolean", default: true },
    },
    repeatable: ["id"],
    rest: { name: "more", description: "" },
    async run() {},
  });

  // One line is one truth: what was typed, what citty is handed.
  const READINGS: [string[], string[]][] = [
    [["a"], ["--", "a"]],
    [
      ["a", "--path", "p"],
      ["--path=p", "--", "a"],
    ],
    [
      ["--path=p", "a"],
      ["--path=p", "--", "a"],
    ],
    [
      ["a", "--path=--no-browser"],
      ["--path=--no-browser", "--", "a"],
    ],
    [
      ["a", "--path", "-"],
      ["--path=-", "--", "a"],
    ],
    [
      ["a", "--json"],
      ["--json", "--", "a"],
    ],
    [
      ["a", "--json=false"],
      ["--no-json", "--", "a"],
    ],
    [
      ["a", "--no-browser"],
      ["--no-browser", "--", "a"],
    ],
    [
      ["a", "--browser"],
      ["--browser", "--", "a"],
    ],
    [
      ["a", "--browser=false"],
      ["--no-browser", "--", "a"],
    ],
    [
      ["a", "--", "--json", "-x"],
      ["--", "a", "--json", "-x"],
    ],
    [
      ["a", "-", "b"],
      ["--", "a", "-", "b"],
    ],
    [
      ["a", "--id", "x", "b", "--id=y"],
      ["--id=y", "--", "a", "b"],
    ],
  ];
  test.each(READINGS)("%p", (typed, canonical) => {
    expect(readFlags(sample, typed).canonical).toEqual(canonical);
  });

  test("every value of a repeated flag is kept", () => {
    expect(readFlags(sample, ["a", "--id", "x", "--id=y"]).values.get("id")).toEqual(["x", "y"]);
  });

  const REFUSED = [["a", "--no-json"], ["a", "--no-path"], ["a", "--no-browser=true"], ["a", "--__proto__", "x"], []];
  test.each(REFUSED.map((words) => [words]))("%p is refused", (words) => {
    expect(() => readFlags(sample, words)).toThrow();
  });
});

describe("the nearest name", () => {
  const NAMES = ["search", "stats", "build-ivf", "build-lexical", "ids", "import"];
  const CASES: [string, string | undefined][] = [
    ["serach", "search"],
    ["build_ivf", "build-ivf"],
    ["buildLexical", "build-lexical"],
    ["stat", "stats"],
    ["imp", "import"],
    ["id", "ids"],
    ["frobnicate", undefined],
    ["", undefined],
  ];
  test.each(CASES)("%p: %p", (name, expected) => expect(nearest(name, NAMES)).toBe(expected as string));
});

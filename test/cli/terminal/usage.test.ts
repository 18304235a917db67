/** Wrong usage is refused with exit code 2 and one line on stderr, before anything is done. */
import { describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { runCommand } from "citty";
import { nearest } from "../../../src/checks/nearest.ts";
import { arrange } from "../../../src/cli/terminal/arrange.ts";
import { group, reach, refuseMisread, runReached, withMembers } from "../../../src/cli/terminal/citty.ts";
import { type Args, command, number, string, strings, type Values } from "../../../src/cli/terminal/command.ts";
import { renderPage } from "../../../src/cli/terminal/help.ts";
import { FAKE_BUILD, FAKE_GATE, MAIN, svc, temporaryFolder } from "../support.ts";

describe("a command line that is wrong", () => {
  const CASES: [string[], string][] = [
    [["serach"], "unknown command 'serach', did you mean 'mem search'?; see 'svc --help'"],
    [["frobnicate"], "unknown command 'frobnicate'; see 'svc --help'"],
    [["versoin"], "unknown command 'versoin', did you mean 'version'?; see 'svc --help'"],
    [["logn"], "unknown command 'logn', did you mean 'login'?; see 'svc --help'"],
    [["mem", "serch", "notes", "x"], "unknown command 'serch', did you mean 'search'?; see 'svc mem --help'"],
    [["mem", "--path", "D", "serch", "x"], "unknown command 'serch', did you mean 'search'?; see 'svc mem --help'"],
    [["constructor"], "unknown command 'constructor'"],
    [["mem", "serach", "--help"], "unknown command 'serach', did you mean 'search'?; see 'svc mem --help'"],
    [["mem", "__proto__"], "unknown command '__proto__'"],
    [["mem", "--wehre", "a=b", "list"], "unknown flag '--wehre'; see 'svc mem list --help'"],
    [["mem", "--where", "a=b", "list"], "unknown flag '--where'; see 'svc mem list --help'"],
    [["mem", "--path", "list"], "--path needs a value"],
    [["--path", "--", "mem", "list"], "--path needs a value"],
    [["--nonsense"], "unknown flag '--nonsense'; see 'svc --help'"],
    [["-x"], "unknown flag '-x'; see 'svc --help'"],
    [["version", "--jsno"], "unknown flag '--jsno', did you mean '--json'?; see 'svc version --help'"],
    [["version", "extra"], "unexpected argument 'extra'"],
    [["mem", "count"], "no COLLECTION is given: svc mem count <COLLECTION>; see 'svc mem count --help'"],
    [["mem", "count", "notes", "--wehre", "scope=x"], "unknown flag '--wehre', did you mean '--where'?"],
    [["mem", "search", "notes", "x", "--topK", "3"], "unknown flag '--topK', did you mean '--top-k'?"],
    [["mem", "search", "notes", "x", "--top-k", "three"], "--top-k: 'three' is not a number"],
    [["mem", "search", "notes", "x", "--top-k", "0"], "--top-k must be an integer from 1 to 100000, got 0"],
    [["mem", "search", "notes", "x", "--top-k"], "--top-k needs a value"],
    [
      ["mem", "search", "notes", "x", "--path", "--lexical"],
      "--path needs a value; if '--lexical' is meant, write --path=--lexical",
    ],
    [["mem", "search", "notes", "x", "--path", "a", "--path", "b"], "--path is given twice"],
    [["mem", "search", "notes", "-x"], "unknown flag '-x' (put '--' in front of a text that begins with a dash)"],
    [["mem", "search", "notes", "x", "--where", "scope"], "--where: 'scope' is not COLUMN=VALUE"],
    [["mem", "search", "notes", "x", "--where", "a=1", "--where", "b=2"], "where has 2 keys ('a', 'b'): give one"],
    [["mem", "add", "notes", "x", "--metadata", "{scope}"], "--metadata: '{scope}' is not JSON"],
    [["mem", "add", "notes", "x", "--ids", "a,b"], "ids has 2 entries for 1 row: give one for each row"],
    [["mem", "delete", "notes"], "no id"],
    [["mem", "search", "notes"], "no QUERY is given: svc mem search <COLLECTION> <QUERY>"],
    [["mem", "search", "notes"], "('notes' was taken for the COLLECTION: type svc mem search notes QUERY)"],
    [["mem", "search", "blue green"], "for the COLLECTION: type svc mem search COLLECTION 'blue green')"],
    [["mem", "search", "a ".repeat(40)], "for the COLLECTION: type svc mem search COLLECTION QUERY)"],
    [["mem", "rename", "notes"], "('notes' was taken for the NAME: type svc mem rename notes NEW-NAME)"],
    [
      ["mem", "list", "notes", "it's"],
      "unexpected argument 'it's': 'svc mem list 'it'\\''s'' shows one collection, 'svc mem show' its rows",
    ],
    [
      ["mem", "search", "notes", "blue", "green"],
      "unexpected argument 'green': put a query of several words in quotes",
    ],
    [["mem", "repo-search", "blue", "green"], "unexpected argument 'green': put a query of several words in quotes"],
    [["mem", "describe", "notes", "blue", "green"], "'green': put a description of several words in quotes"],
    [["mem", "get", "blue green"], "no id in collection 'blue green': give ids as arguments"],
    [["mem", "index", "--mode", "lines"], "--mode cannot be 'lines': give one of windowed, file; see 'svc mem index"],
    [["mem", "index", "--mode", "fil"], "--mode cannot be 'fil', did you mean 'file'?"],
    [["login", "--json=maybe"], "--json takes no value, or true or false"],
    [["authority", "serve", "--port", "99999"], "--port: '99999' is not a port"],
  ];
  test.each(CASES)("svc %p", async (words, message) => {
    const { code, stdout, stderr } = await svc(words, { preload: [FAKE_GATE], env: { FAKE_CLOSED: "1" } });
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toStartWith("svc: ");
    expect(stderr).toContain(message);
    expect(stderr.trimEnd().split("\n")).toHaveLength(1);
  });

  test("a wrong JSON type is a TypeError", async () => {
    const { code, stderr } = await svc(["mem", "search", "notes", "x", "--top-k", "2.5"], { preload: [FAKE_GATE] });
    expect(code).toBe(2);
    expect(stderr).toStartWith("svc: --top-k must be an integer from 1 to 100000, got 2.5");
  });
});

describe("exit codes", () => {
  test("1 for an operation that failed, with its type", async () => {
    const { code, stdout, stderr } = await svc(["mem", "count", "notes"]);
    expect({ code, stdout, stderr }).toEqual({
      code: 1,
      stdout: "",
      stderr: "svc: not logged in: run 'svc login' once\n",
    });
  });

  test("a failure of our own shows no stack", async () => {
    const { code, stderr } = await svc(["mem", "list"], { preload: [FAKE_GATE], env: { FAKE_CLOSED: "1" } });
    expect({ code, stderr }).toEqual({ code: 1, stderr: "svc: internal error: the gate was opened\n" });
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

  /** Runs a script of sh, in which "$@" is `svc --version`. */
  const versionIn = (script: string) => {
    const command = ["sh", "-c", script, "sh", process.execPath, "--preload", FAKE_BUILD, MAIN, "--version"];
    const { stdout, stderr } = Bun.spawnSync(command, { env: { PATH: process.env.PATH, HOME: "/nowhere" } });
    return `${stdout}${stderr}`;
  };

  test("0 for a version whose reader has left, and no message", () => {
    using folder = temporaryFolder();
    const fifo = join(folder.path, "closed");
    // The reader closes its end before it lets the writer begin.
    const both = `mkfifo ${fifo}; { read _ < ${fifo}; "$@"; echo "code $?" >&2; } | { exec 0<&-; echo go > ${fifo}; }`;
    expect(versionIn(both)).toBe("code 0\n");
  });

  test.skipIf(!existsSync("/dev/full"))("1 for a version that cannot be written, without a stack", () => {
    expect(versionIn('"$@" > /dev/full; echo "code $?"')).toBe("code 1\nsvc: cannot write to stdout: ENOSPC\n");
  });

  test("logging out twice is not a failure", async () => {
    const { code, stdout } = await svc(["logout", "--json"]);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual({ logged_out: false, removed: [], pinned: null, stays: [] });
  });
});

describe("flags", () => {
  const ARGS = {
    name: { type: "positional" },
    more: { type: "positional", required: false, repeatable: true },
    path: string("DIR", ""),
    "top-k": number("N", ""),
    id: strings("ID", ""),
    json: { type: "boolean" },
    "keep-it": { type: "boolean", default: true },
  } as const;

  /** The arguments that a command gets for the words after its name. */
  async function read(words: string[]): Promise<Values<typeof ARGS>> {
    const handed: Values<typeof ARGS>[] = [];
    const sample = command({ examples: [], args: ARGS, run: async ({ args }) => void handed.push(args) });
    const root = group("test", { summary: "", examples: [], commands: { sample: ["a sample", async () => sample] } });
    await refuseMisread(reach(root, ["sample", ...words]));
    await runCommand(root, { rawArgs: ["sample", ...words] });
    return handed[0]!;
  }

  const NOTHING = {
    name: "a",
    more: [],
    path: undefined,
    "top-k": undefined,
    id: [],
    json: undefined,
    "keep-it": true,
  };
  const READINGS: [string[], Partial<Values<typeof ARGS>>][] = [
    [["a"], {}],
    [["a", "--path", "p"], { path: "p" }],
    [["--path=p", "a"], { path: "p" }],
    [["a", "--path=--no-keep-it"], { path: "--no-keep-it" }],
    [["a", "--path=--no-such"], { path: "--no-such" }],
    [["a", "--path=a=b\nc"], { path: "a=b\nc" }],
    [["a", "--path", "-"], { path: "-" }],
    [["a", "--path", "-x"], { path: "-x" }],
    [["a", "--top-k", "-1.5"], { "top-k": -1.5 }],
    [["a", "--json"], { json: true }],
    [["a", "--json=false"], { json: false }],
    [["--json", "a", "b"], { json: true, more: ["b"] }],
    [["a", "--no-keep-it"], { "keep-it": false }],
    [["a", "--keep-it"], { "keep-it": true }],
    [["a", "--keep-it=false"], { "keep-it": false }],
    [["a", "--", "--json", "-x", "--no-keep-it"], { more: ["--json", "-x", "--no-keep-it"] }],
    [["a", "-", "b"], { more: ["-", "b"] }],
    [["a", "--id", "x", "b", "--id=y", "--id="], { id: ["x", "y", ""], more: ["b"] }],
  ];
  test.each(READINGS)("%p", async (words, given) => {
    expect(await read(words)).toEqual({ ...NOTHING, ...given });
  });

  const REFUSED = [
    ["a", "--no-json"],
    ["a", "--no-path"],
    ["a", "--no-keep-it=true"],
    ["a", "--keepIt"],
    ["a", "--path", "--no-keep-it"],
    ["a", "--path="],
    ["a", "--top-k", "1", "--top-k", "2"],
    ["a", "--top-k", "1x"],
    ["a", "--__proto__", "x"],
    ["a", "-json"],
    [],
  ];
  test.each(REFUSED.map((words) => [words]))("%p is refused", async (words) => {
    await expect(read(words)).rejects.toThrow();
  });
});

describe("flags before the command", () => {
  const leaf = (args: Args) => command({ examples: [], args, run: async () => {} });
  const common = { json: { type: "boolean" }, path: string("DIR", "") } as const;
  const commands: Record<string, Args> = {
    list: common,
    search: { ...common, query: { type: "positional" }, where: string("W", ""), fast: { type: "boolean" } },
  };
  const members = Object.fromEntries(
    Object.entries(commands).map(([name, args]) => [name, ["", async () => leaf(args)] as const]),
  );
  const mcp = withMembers("svc mcp", ["", async () => leaf({ path: string("DIR", "") })], {
    install: ["", async () => leaf(common)],
    status: ["", async () => leaf({ json: { type: "boolean" } })],
  });
  const mem = group("svc mem", { summary: "", examples: [], commands: members });
  const root = group("svc", { summary: "", examples: [], commands: { mem, mcp } });

  const CASES: [string, string][] = [
    ["mem list --json", "mem list --json"],
    ["--json mem list", "mem list --json"],
    ["mem --json list --path D", "mem list --json --path D"],
    ["--path D mem --json search q", "mem search --path D --json q"],
    ["--path=D mem search q", "mem search --path=D q"],
    ["--path list mem list", "mem list --path list"],
    ["mem --path list list", "mem list --path list"],
    ["mem --where search search q", "mem search --where search q"],
    ["mem --fast search q", "mem search --fast q"],
    ["mem --fast search list", "mem search --fast list"],
    ["mem search -- --json", "mem search -- --json"],
    ["--json mem search -- --path x", "mem search --json -- --path x"],
    ["--path help mem list", "mem list --path help"],
    ["help mem search", "mem search --help"],
    ["mem help search", "mem search --help"],
    ["--json help mem", "mem --json --help"],
    ["help", "--help"],
    ["--help mem search q", "mem search --help q"],
    ["mem search help", "mem search help"],
    ["mcp --path D", "mcp --path D"],
    ["mcp --path install", "mcp --path install"],
    ["mcp --path D install", "mcp install --path D"],
    ["--path D mcp", "mcp --path D"],
    ["mcp --path status", "mcp --path status"],
    ["--version", "version"],
    ["--json -v", "version --json"],
    ["mem --nonsense list", "mem list --nonsense"],
    ["-- mem", "-- mem"],
    ["", ""],
  ];
  test.each(CASES)("svc %s: %s", async (words, arranged) => {
    const line = await arrange(root, words.split(" ").filter(Boolean));
    expect(line.join(" ")).toBe(arranged);
  });
});

describe("with --json a failure is one line for programs", () => {
  const CASES: [string[], number, string, string][] = [
    [["mem", "--json"], 2, "ValueError.invalid_value", "no command is given; see 'svc mem --help'"],
    [["--json", "logn"], 2, "ValueError.invalid_value", "unknown command 'logn', did you mean 'login'?"],
    [["version", "--json", "--jsno"], 2, "ValueError.invalid_value", "unknown flag '--jsno'"],
    [["mem", "count", "--json"], 2, "ValueError.invalid_value", "no COLLECTION is given"],
    [["mem", "search", "n", "q", "--top-k=2.5", "--json"], 2, "TypeError.wrong_type", "--top-k must be an integer"],
    [["--json", "mem", "count", "notes"], 1, "PermissionError.not_logged_in", "not logged in: run 'svc login' once"],
  ];
  test.each(CASES)("svc %p", async (words, code, kind, message) => {
    const ended = await svc(words);
    expect({ code: ended.code, stdout: ended.stdout }).toEqual({ code, stdout: "" });
    expect(ended.stderr.trimEnd()).not.toContain("\n");
    const { error } = JSON.parse(ended.stderr);
    expect(Object.keys(error)).toEqual(["type", "code", "message"]);
    expect(error).toMatchObject({ type: kind.split(".")[0], code: kind, message: expect.stringContaining(message) });
  });

  test("a bug of ours too; a --json behind -- is a text", async () => {
    const preload = [FAKE_GATE];
    const env = { FAKE_CLOSED: "1" };
    const { code, stderr } = await svc(["mem", "list", "--json"], { preload, env });
    const message = "internal error: the gate was opened";
    expect(code).toBe(1);
    expect(JSON.parse(stderr)).toEqual({ error: { type: "RuntimeError", code: "RuntimeError.internal", message } });
    const text = await svc(["mem", "add", "notes", "--", "--json"], { preload, env });
    expect(text.stderr).toBe(`svc: ${message}\n`);
  });
});

describe("a command that has members", () => {
  const ran: string[] = [];
  const sample = (what: string, args: Args) =>
    command({ examples: [`svc ${what}`], args, run: async ({ name }) => void ran.push(name) });
  const serve = sample("mcp", { path: string("DIR", "where"), "persistent-index": { type: "boolean" } });
  const install = sample("mcp install", { client: strings("C", "which") });
  const root = group("svc", {
    summary: "",
    examples: [],
    commands: {
      mcp: withMembers("svc mcp", ["serve", async () => serve], {
        install: ["write the entry", async () => install],
        status: ["show the entry", async () => sample("mcp status", {})],
      }),
    },
  });

  async function runLine(...words: string[]): Promise<string[]> {
    ran.length = 0;
    const reached = reach(root, words);
    await refuseMisread(reached);
    await runReached(reached);
    return [...ran];
  }

  test("runs by itself, with its flags, and its members without it", async () => {
    expect(await runLine("mcp")).toEqual(["svc mcp"]);
    expect(await runLine("mcp", "--path", "install", "--persistent-index")).toEqual(["svc mcp"]);
    expect(await runLine("mcp", "install", "--client", "status")).toEqual(["svc mcp install"]);
  });

  test("refuses what is neither, with the nearest name", async () => {
    await expect(runLine("mcp", "instal")).rejects.toThrow("unknown command 'instal', did you mean 'install'?");
    await expect(runLine("mcp", "constructor")).rejects.toThrow("unknown command 'constructor'");
    await expect(runLine("mcp", "--path", "x", "instal")).rejects.toThrow("did you mean 'install'?");
    await expect(runLine("mcp", "--path", "x", "install")).rejects.toThrow("'install' stands right after 'svc mcp'");
    await expect(runLine("mcp", "--client", "x")).rejects.toThrow("unknown flag '--client'");
    await expect(runLine("mcp", "install", "status")).rejects.toThrow("unexpected argument 'status'");
    expect(ran).toEqual([]);
  });

  test("its page has its flags and its members, which may be left out", async () => {
    const page = await renderPage(reach(root, ["mcp", "--help"]).node);
    expect(page).toContain("USAGE svc mcp [OPTIONS] [command]\n");
    for (const label of ["--path=<DIR>", "install", "status", "-h, --help"]) expect(page).toContain(`  ${label} `);
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

/** What a person sees of a search in a repository, and what another program does. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { FAKE_GATE, svc } from "../support.ts";

const LINES = {
  id: "0123456789abcdef:src/a.ts:3",
  metadata: { path: "src/a.ts", start_line: 98, end_line: 100, language: "typescript", symbol: "retry" },
  text: "7:import x;\n…\n98:export function retry() {\n  12: odd\n\treturn \x1b[31m1;\r\n…\n120:…cut…",
};
const BARE = {
  id: "b:docs/b c.md:0",
  metadata: { path: "docs/b c.md", start_line: 5, end_line: 5, language: "markdown" },
};

const payload = (hits: object[]) => ({
  ...{ collection: "repo_symbols", query: "q", workspace: "/repo", index_status: "hit", partial: false },
  hits,
});

async function printed(hits: object[], ...words: string[]): Promise<string> {
  const env = { FAKE_REPO_SEARCH: JSON.stringify(payload(hits)) };
  const { code, stdout, stderr } = await svc(["mem", "repo-search", "q", ...words], { preload: [FAKE_GATE], env });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return stdout;
}

test("path, line and symbol, then the lines with their numbers; control characters are visible", async () => {
  expect(await printed([LINES, BARE])).toBe(
    [
      "src/a.ts:98  retry",
      "  7  import x;",
      "     …",
      " 98  export function retry() {",
      " 99    12: odd",
      "100  \treturn \\x1b[31m1;",
      "     …",
      "120  …cut…",
      "",
      "docs/b c.md:5",
      "",
    ].join("\n"),
  );
});

test("files: paths alone; grep: as other programs read it; windows: numbered from their first line", async () => {
  expect(await printed([LINES, BARE], "--form", "files")).toBe("src/a.ts\ndocs/b c.md\n");
  const grep = { ...LINES, text: "src/a.ts:98:export function retry() {\nsrc/a.ts:120:a\x07b" };
  expect(await printed([grep], "--form", "grep")).toBe("src/a.ts:98:export function retry() {\nsrc/a.ts:120:a\\x07b\n");
  const window = { ...LINES, text: "one\n\n…\nfour\n" };
  const numbered = "src/a.ts:98  retry\n 98  one\n 99\n100  …\n101  four\n";
  expect(await printed([window], "--form", "windows")).toBe(numbered);
  expect(await printed([window], "--with-text")).toBe(numbered);
  // An excerpt may begin within a line.
  const part = { ...LINES, text: "part\nof it", truncated: true, start: 40 };
  expect(await printed([part], "--form", "windows", "--max-bytes", "1000")).toBe(
    "src/a.ts:98  retry\n  part\n  of it\n",
  );
});

test("names of files are untrusted", async () => {
  const odd = { ...BARE, metadata: { ...BARE.metadata, path: "a\nb\x1b]8;;x\x07.md", symbol: "x\x1b[2J" } };
  for (const form of ["lines", "files", "grep", "windows"]) {
    const out = await printed([odd], "--form", form);
    expect([form, out.includes("\x1b"), out.trimEnd().split("\n").length]).toEqual([form, false, 1]);
  }
});

test("--json is the tool's answer", async () => {
  expect(JSON.parse(await printed([LINES], "--json"))).toEqual(payload([LINES]));
});

/** The output of a search on a terminal. */
async function onTerminal(env: Record<string, string>): Promise<string> {
  let out = "";
  const main = join(import.meta.dir, "../../../src/main.ts");
  const child = Bun.spawn([process.execPath, "--preload", FAKE_GATE, main, "mem", "repo-search", "q"], {
    env: {
      PATH: process.env.PATH,
      HOME: "/nonexistent",
      TERM: "xterm",
      FAKE_REPO_SEARCH: JSON.stringify(payload([BARE])),
      ...env,
    },
    terminal: { cols: 120, rows: 20, data: (_, bytes) => (out += Buffer.from(bytes).toString()) },
  });
  expect(await child.exited).toBe(0);
  child.terminal!.close();
  return out.replaceAll("\r\n", "\n");
}

test("on a terminal paths are coloured links; NO_COLOR and a dumb terminal get plain text, others no links", async () => {
  const link = "\x1b]8;;file:///repo/docs/b%20c.md\x1b\\\x1b[35mdocs/b c.md\x1b[39m\x1b]8;;\x1b\\";
  expect(await onTerminal({})).toBe(`${link}:\x1b[32m5\x1b[39m\n`);
  expect(await onTerminal({ NO_COLOR: "1" })).toBe("docs/b c.md:5\n");
  expect(await onTerminal({ TERM: "dumb" })).toBe("docs/b c.md:5\n");
  for (const env of [{ CI: "1" }, { TERM: "linux" }, { FORCE_HYPERLINK: "0" }] as Record<string, string>[])
    expect(await onTerminal(env)).toBe("\x1b[35mdocs/b c.md\x1b[39m:\x1b[32m5\x1b[39m\n");
});

/** `svc serve token`: named tokens on the terminal. */
import { expect, test } from "bun:test";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { tokenFile } from "../../../src/remote/tokens/token-file.ts";
import { isWholeToken } from "../../../src/remote/tokens/token-text.ts";
import { svc, temporaryFolder } from "../support.ts";

/** A memory directory that is not there yet, and the commands about its tokens. */
function desk() {
  const folder = temporaryFolder();
  const memory = join(folder.path, "memory");
  const token = (...words: string[]) => svc(["serve", "token", ...words, "--path", memory]);
  return { memory, token, [Symbol.dispose]: () => folder[Symbol.dispose]() };
}

test("add prints the token alone on stdout, and nothing prints it again", async () => {
  using me = desk();
  const made = await me.token("add", "ada", "--collections", "a,b*", "--read-only", "--expires", "90d");
  expect(made.code).toBe(0);
  const text = made.stdout.trimEnd();
  expect(isWholeToken(text)).toBe(true);
  expect(made.stderr).toMatch(/^ada: reads a, b\*; valid until \d{4}-\d\d-\d\d \d\d:\d\d UTC\n/);
  expect(made.stderr).toContain(`it is for the memory in ${me.memory}, which was not there and was made`);
  expect(statSync(me.memory).mode & 0o777).toBe(0o700);
  const listed = await me.token("list");
  expect(listed.stdout).toMatch(
    /^NAME +EXPIRES +CREATED +LAST USED +ROWS +BYTES +RIGHTS\nada {2}.* never +0 +0 +reads a, b\*\n$/,
  );
  const json = await me.token("list", "--json");
  expect(JSON.parse(json.stdout).tokens).toEqual([
    {
      name: "ada",
      state: "valid",
      collections: ["a", "b*"],
      read_only: true,
      rows_max: null,
      bytes_max: null,
      rows: 0,
      bytes: 0,
      created_at: expect.any(String),
      expires_at: expect.any(String),
      used_at: null,
    },
  ]);
  const said = made.stderr + listed.stdout + listed.stderr + json.stdout + readFileSync(tokenFile(me.memory), "utf8");
  expect(said).not.toContain(text.slice(5, 20));
});

test("revoke takes the name, or the token itself, which it does not print", async () => {
  using me = desk();
  const first = JSON.parse((await me.token("add", "ada", "--json")).stdout).token;
  expect((await me.token("revoke", "ada")).stdout).toBe("revoked ada\n");
  const gone = await me.token("revoke", first);
  expect(gone.code).toBe(1);
  expect(gone.stderr).not.toContain(first.slice(5));
  const second = (await me.token("add", "ada")).stdout.trim();
  expect((await me.token("revoke", second, "--json")).stdout).toBe('{"name":"ada","revoked":true}\n');
  expect((await me.token("list")).stderr).toContain("there are no tokens");
  expect(JSON.parse((await me.token("list", "--json")).stdout)).toEqual({ tokens: [] });
});

test("list and revoke make no folder for a path that is mistyped", async () => {
  using me = desk();
  expect((await me.token("list")).stderr).toContain(`there are no tokens in ${me.memory}`);
  expect((await me.token("revoke", "ada")).stderr).toContain("there is no token 'ada'");
  expect(existsSync(me.memory)).toBe(false);
});

test.each<[string, string[], RegExp]>([
  ["a name that looks like a token", ["svct_ada"], /cannot begin with 'svct_'/],
  ["a name with a control character", ["a\tb"], /control or format character/],
  ["an empty name", [" "], /is empty/],
  ["a star before the end", ["x", "--collections", "a*b"], /'\*' before its end/],
  ["an empty pattern", ["x", "--collections", "a,,b"], /empty name/],
  ["a pattern that is a path", ["x", "--collections", "../a"], /no collection can be meant/],
  ["a control character in a pattern", ["x", "--collections", "a\u001b[31m"], /control character/],
  ["a time in the past", ["x", "--expires=-1d"], /give minutes/],
  ["no time", ["x", "--expires", "0d"], /give minutes/],
  ["a negative number of rows", ["x", "--rows-max=-1"], /whole number/],
  ["half a byte", ["x", "--bytes-max", "0.5"], /whole number/],
])("%s is refused before anything is written", async (_, words, message) => {
  using me = desk();
  const { code, stdout, stderr } = await me.token("add", ...words);
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toMatch(message);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: this looks for them
  expect(stderr).not.toMatch(/[\u0000-\u0009\u000b-\u001f]/);
  expect(existsSync(me.memory)).toBe(false);
});

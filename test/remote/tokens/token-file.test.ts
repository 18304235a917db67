/** The file of the named tokens: what is stored, and files that give no rights. */
import { expect, test } from "bun:test";
import { chmodSync, lstatSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { SvcError } from "../../../src/errors.ts";
import { addToken, readTokens, revokeToken, TOKENS_MAX, tokenFile } from "../../../src/remote/tokens/token-file.ts";
import { isNamedTokenText, isWholeToken, newToken, tokenHash } from "../../../src/remote/tokens/token-text.ts";
import { readUsage, usageFile, writeUsage } from "../../../src/remote/tokens/usage-file.ts";
import { openStore, scratchDir } from "../../fixture.ts";
import { openLocal } from "../server/raw.ts";

const ALL = { readOnly: false };

async function errorOf(call: () => unknown): Promise<SvcError> {
  try {
    await call();
  } catch (error) {
    return error as SvcError;
  }
  throw new Error("the call succeeded");
}

test("a token has 192 random bits and a checksum that finds typing errors", () => {
  const tokens = new Set(Array.from({ length: 1000 }, newToken));
  expect(tokens.size).toBe(1000);
  for (const token of tokens) {
    expect(token).toMatch(/^svct_[\w-]{36}$/);
    expect(isWholeToken(token)).toBe(true);
    expect(isNamedTokenText(token)).toBe(true);
  }
  const [token] = tokens as unknown as [string];
  for (let i = "svct_".length; i < token.length; i++) {
    const wrong = token.slice(0, i) + (token[i] === "A" ? "B" : "A") + token.slice(i + 1);
    expect(isWholeToken(wrong)).toBe(false);
  }
  for (const wrong of ["", "svct_", token.slice(0, -1), `${token}A`, ` ${token}`, "svct_ä", "sesame"])
    expect(isWholeToken(wrong)).toBe(false);
});

test("only a hash is stored, for the owner alone, beside the collections", async () => {
  const dir = join(scratchDir(), "memory");
  const { token, record } = await addToken(dir, { name: "ada", collections: ["a", "b*"], readOnly: true }, 1000);
  const path = tokenFile(dir);
  const stored = readFileSync(path, "utf8");
  expect(stored).not.toContain(token);
  expect(stored).not.toContain(token.slice(5, 15));
  expect(lstatSync(path).mode & 0o7777).toBe(0o600);
  expect(record.hash.equals(tokenHash(token))).toBe(true);
  expect(readTokens(dir)).toEqual([record]);
  expect(record).toMatchObject({ name: "ada", collections: ["a", "b*"], readOnly: true, created: 1000 });
  expect((await openStore(dir)).folders().size).toBe(0);
});

test("a backup copies no token", async () => {
  const dir = scratchDir();
  await addToken(dir, { name: "ada", ...ALL });
  const store = await openLocal(dir);
  await (await store.createCollection("notes", { dim: 2 })).save();
  const to = join(scratchDir(), "copy");
  await store.backup(to);
  expect(readdirSync(to)).toEqual(["notes"]);
  await store.close();
});

test("two processes that add tokens at once lose none", async () => {
  const dir = join(scratchDir(), "memory");
  const script = `
    const { addToken } = await import(${JSON.stringify(join(import.meta.dir, "../../../src/remote/tokens/token-file.ts"))});
    for (let i = 0; i < 10; i++) await addToken(process.argv[1], { name: process.argv[2] + i, readOnly: false });`;
  const children = ["a", "b", "c"].map((name) =>
    Bun.spawn([process.execPath, "-e", script, dir, name], { stderr: "inherit" }),
  );
  expect(await Promise.all(children.map(({ exited }) => exited))).toEqual([0, 0, 0]);
  expect(new Set(readTokens(dir).map(({ name }) => name)).size).toBe(30);
});

test("a name is given once, and is free again after it was revoked", async () => {
  const dir = scratchDir();
  const first = await addToken(dir, { name: "ada", ...ALL });
  expect((await errorOf(() => addToken(dir, { name: " ada ", ...ALL }))).message).toContain(
    "there is a token 'ada' already",
  );
  expect(await revokeToken(dir, "ada")).toEqual(first.record);
  expect((await errorOf(() => revokeToken(dir, "ada"))).message).toContain("there is no token 'ada'");
  const second = await addToken(dir, { name: "ada", ...ALL });
  expect(second.record.id).not.toBe(first.record.id);
});

test.each(["", "a\tb", "a\u202eb", "a\u0000", "x".repeat(65), "\ud800"])("%j is not a name", async (name) => {
  expect((await errorOf(() => addToken(scratchDir(), { name, ...ALL }))).type).toBe("ValueError");
});

test("fields of a later version of the same format are kept", async () => {
  const dir = scratchDir();
  await addToken(dir, { name: "ada", ...ALL });
  const path = tokenFile(dir);
  const all = JSON.parse(readFileSync(path, "utf8"));
  writeFileSync(path, JSON.stringify({ ...all, note: "x", tokens: [{ ...all.tokens[0], colour: "blue" }] }));
  await addToken(dir, { name: "bob", ...ALL });
  const after = JSON.parse(readFileSync(path, "utf8"));
  expect(after.note).toBe("x");
  expect(after.tokens.map((token: { name: string; colour?: string }) => [token.name, token.colour])).toEqual([
    ["ada", "blue"],
    ["bob", undefined],
  ]);
});

const HASH = "0".repeat(64);
const GOOD = { id: "0".repeat(16), name: "ada", sha256: HASH, created: "2026-01-01T00:00:00Z" };
const file = (...tokens: object[]) => JSON.stringify({ format: 1, tokens });

test.each<[string, string, string]>([
  ["an empty file", "", "OSError.damaged"],
  ["half of a file", file(GOOD).slice(0, -20), "OSError.damaged"],
  ["bytes that are not text", "\xff\xfe", "OSError.damaged"],
  ["a list", "[]", "OSError.damaged"],
  ["no format", JSON.stringify({ tokens: [] }), "OSError.damaged"],
  ["a newer format", JSON.stringify({ format: 2, tokens: [] }), "OSError.other_version"],
  ["tokens that are not a list", JSON.stringify({ format: 1, tokens: {} }), "OSError.damaged"],
  ["two tokens of one name", file(GOOD, { ...GOOD, id: "1".repeat(16) }), "OSError.damaged"],
  ...Object.entries({
    id: "x",
    name: "a\nb",
    sha256: "abc",
    created: "yesterday",
    expires: 5,
    collections: "all",
    read_only: "no",
    rows_max: -1,
    bytes_max: 1.5,
  }).map(
    ([field, value]) =>
      [`a wrong ${field}`, file({ ...GOOD, [field]: value }), "OSError.damaged"] as [string, string, string],
  ),
  ["an invalid pattern", file({ ...GOOD, collections: ["a*b"] }), "OSError.damaged"],
])("%s gives no rights and says what to do", async (_, text, code) => {
  const dir = scratchDir();
  writeFileSync(tokenFile(dir), text, { mode: 0o600, encoding: "latin1" });
  for (const call of [
    () => readTokens(dir),
    () => addToken(dir, { name: "eve", ...ALL }),
    () => revokeToken(dir, "ada"),
  ]) {
    const error = await errorOf(call);
    expect(error.code).toBe(code);
    expect(error.message).toMatch(/'\.serve-tokens\.json' .*remove it, and make the tokens again/);
  }
  expect(readFileSync(tokenFile(dir), "latin1")).toBe(text);
});

test("a link, a folder and a file that others can reach are refused", async () => {
  const dir = scratchDir();
  const path = tokenFile(dir);
  const elsewhere = join(scratchDir(), "tokens.json");
  writeFileSync(elsewhere, file(GOOD), { mode: 0o600 });
  symlinkSync(elsewhere, path);
  expect((await errorOf(() => readTokens(dir))).message).toContain("is a link");
  const other = scratchDir();
  mkdirSync(tokenFile(other));
  expect((await errorOf(() => readTokens(other))).message).toContain("is a folder");
  for (const mode of [0o604, 0o640, 0o622, 0o666]) {
    const open = scratchDir();
    writeFileSync(tokenFile(open), file(GOOD));
    chmodSync(tokenFile(open), mode);
    const error = await errorOf(() => readTokens(open));
    expect(error.code).toBe("PermissionError.secret_exposed");
    expect(error.message).toContain("chmod 600");
  }
});

test("there is a limit", async () => {
  const dir = scratchDir();
  const many = Array.from({ length: TOKENS_MAX }, (_, i) => ({ ...GOOD, name: `t${i}` }));
  writeFileSync(tokenFile(dir), file(...many), { mode: 0o600 });
  expect((await errorOf(() => addToken(dir, { name: "one more", ...ALL }))).code).toBe("ValueError.limit");
});

test("what a server has counted is written whole, with keys of others, and read again", async () => {
  const dir = scratchDir();
  writeFileSync(usageFile(dir), '{"format":1,"theirs":2,"tokens":{"gone":{"rows":1}}}', { mode: 0o600 });
  const usage = new Map([["a", { rows: 3, bytes: 31, used: 5, isExpired: true as const }]]);
  writeUsage(dir, usage);
  expect(readUsage(dir)).toEqual(usage);
  expect(JSON.parse(readFileSync(usageFile(dir), "utf8"))).toMatchObject({ format: 1, theirs: 2 });
  writeFileSync(usageFile(dir), "{", { mode: 0o600 });
  expect((await errorOf(() => readUsage(dir))).code).toBe("OSError.damaged");
});

test("a name that looks like a token is refused, and one of an earlier version can be revoked", async () => {
  const dir = scratchDir();
  for (const name of ["svct_ada", newToken(), " svct_"])
    expect((await errorOf(() => addToken(dir, { name, ...ALL }))).message).toContain("cannot begin with 'svct_'");
  writeFileSync(tokenFile(dir), file({ ...GOOD, name: "svct_ada" }), { mode: 0o600 });
  expect((await revokeToken(dir, "svct_ada")).name).toBe("svct_ada");
  expect(readTokens(dir)).toEqual([]);
});

test("a file that could not be read again is not written", async () => {
  const dir = scratchDir();
  const collections = Array.from({ length: 1000 }, (_, i) => `${"c".repeat(120)}${i}`);
  let count = 0;
  const add = () => addToken(dir, { name: `t${count}`, ...ALL, collections });
  for (; ; count++) {
    const done = await add().catch((error: SvcError) => error);
    if (!(done instanceof Error)) continue;
    expect((done as SvcError).code).toBe("ValueError.limit");
    expect(done.message).toContain("4 MiB");
    break;
  }
  expect(count).toBeGreaterThan(10);
  expect(readTokens(dir).length).toBe(count);
  await revokeToken(dir, "t0");
  await add();
});

/**
 * One home from its first login on: the runtime is installed, the licence renewed, the release key rolled over, an older
 * release refused wherever it comes from, and the runtime of a key that svc does not know replaced by a login. What was
 * added at the beginning is readable through all of it.
 */
import { beforeAll, expect, test } from "bun:test";
import { cpSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { makeBundle } from "../../src/build/release.ts";
import { EMBEDDED_BUNDLE } from "../../src/build-info.ts";
import { platformTag, runtimePaths } from "../../src/paths.ts";
import { keyId } from "../../src/trust/runtime/anchor.ts";
import { testKey } from "../keys.ts";
import { builtLibraries } from "../native.ts";
import { age, claimsIn } from "./aged.ts";
import { executableOf } from "./executables.ts";
import { type Ended, emptyHome, svc } from "./home.ts";

const tag = platformTag()!;
const home = emptyHome();
const install = runtimePaths(home.SVC_HOME!, tag);
const [one, two, three, foreign] = [testKey("roll-1"), testKey("roll-2"), testKey("roll-3"), testKey("roll-foreign")];

/** Executables: of a release, of one after it by the next key, which ends the first, and of keys that neither knows. */
let before: string;
let after: string;
let other: string;
/** A bundle by the second key, of a release before the one with which it took over. */
let older: string;

beforeAll(async () => {
  const ends = [keyId(one.publicPem)];
  before = await executableOf("before", { version: "1.0.0", release: 1_000_000, keys: [one, two] });
  after = await executableOf("after", { version: "1.1.0", release: 1_001_000, keys: [two, three], ends });
  other = await executableOf("other", { version: "0.5.0", release: 5_000, keys: [foreign, three] });
  older = join(home.HOME!, "older.bundle");
  const { kernel, runtime } = await builtLibraries();
  const as = { tag, version: "1.0.1", release: 1_000_001, created: "2026-01-01T00:00:00Z", kernel, runtime };
  writeFileSync(older, makeBundle({ ...as, key: two.privateKey }));
}, 240_000);

const run = (exe: string, ...words: string[]): Promise<Ended> => svc(home, words, "", { exe });

async function done(exe: string, ...words: string[]): Promise<string> {
  const { code, out, err } = await run(exe, ...words);
  if (code !== 0) throw new Error(`svc ${words.join(" ")} ended with ${code}: ${err}`);
  return out;
}

/** The note of the beginning is found. */
async function readable(...exes: string[]): Promise<void> {
  for (const exe of exes)
    expect(await done(exe, "mem", "search", "notes", "how do we deploy", "--with-text")).toContain("blue-green");
}

/** The one sentence with which a command about the memory and a tool refuse. */
async function refusal(exe: string): Promise<string> {
  const { code, out, err } = await run(exe, "mem", "search", "notes", "deploy");
  expect({ code, out, lines: err.split("\n").length }).toEqual({ code: 1, out: "", lines: 2 });
  const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "svc_list_collections", arguments: {} } };
  const tool = await svc(home, ["mcp"], `${JSON.stringify(call)}\n`, { exe });
  const { result } = JSON.parse(tool.out);
  expect(result).toEqual({
    isError: true,
    content: [{ type: "text", text: err.trimEnd().replace(/^svc: /, "RuntimeError: ") }],
  });
  return err;
}

/** What is installed, by its manifest. */
const installed = () => JSON.parse(readFileSync(install.manifest, "utf8"));

test("a first login installs, and the memory works", async () => {
  await done(before, "login", "--yes");
  await done(before, "runtime", "verify");
  await done(before, "mem", "add", "notes", "We deploy blue-green on Tuesdays.");
  await readable(before);
  expect(installed()).toMatchObject({ release: 1_000_000, key_id: keyId(one.publicPem) });
});

test("in the last third of its life the licence is renewed on this machine, and is good", async () => {
  const aged = await age(home.SVC_HOME!);
  await readable(before);
  const renewed = claimsIn(home.SVC_HOME!);
  expect(renewed.exp - aged.exp).toBeGreaterThan(290 * 86_400);
  expect(renewed.cnf).toEqual(aged.cnf);
  await readable(before);
  await done(before, "runtime", "verify");
});

test("a release by the next key is taken by the executable before it, and by its own", async () => {
  cpSync(install.dir, join(home.HOME!, "first"), { recursive: true });
  await done(before, "runtime", "install", "--file", join(dirname(after), EMBEDDED_BUNDLE));
  expect(installed()).toMatchObject({ release: 1_001_000, key_id: keyId(two.publicPem) });
  await readable(before, after);
  for (const exe of [before, after]) await done(exe, "runtime", "verify");
});

test("a roll back is refused: as a bundle, by a login, and put back by hand", async () => {
  const first = join(dirname(before), EMBEDDED_BUNDLE);
  for (const exe of [before, after]) {
    for (const words of [[first], [first, "--allow-downgrade"], [older]]) {
      const { code, err } = await run(exe, "runtime", "install", "--file", ...words);
      expect({ code, lines: err.split("\n").length }).toEqual({ code: 1, lines: 2 });
      expect(err).toMatch(/release key that (?:has ended|this svc does not know)|is older than/);
      expect(installed().release).toBe(1_001_000);
    }
  }
  await done(before, "login", "--yes");
  expect(installed().release).toBe(1_001_000);
  await readable(before, after);

  const kept = join(home.HOME!, "kept");
  cpSync(install.dir, kept, { recursive: true });
  const putBack = (folder: string) => {
    rmSync(install.dir, { recursive: true });
    cpSync(folder, install.dir, { recursive: true });
  };
  putBack(join(home.HOME!, "first"));
  expect(await refusal(before)).toContain("signed by a release key that has ended: 'svc login'");
  expect(await refusal(after)).toContain("signed by a key that this svc does not know: 'svc login'");
  putBack(kept);
  await readable(before, after);
});

test("the runtime of an unknown key: calls refuse with one sentence, and a login replaces it", async () => {
  expect(await refusal(other)).toContain("signed by a key that this svc does not know: 'svc login'");
  expect(installed().release).toBe(1_001_000);
  await done(other, "login", "--yes");
  expect(installed()).toMatchObject({ release: 5_000, key_id: keyId(foreign.publicPem) });
  await readable(other);

  // And back again: the other project's releases neither raise nor lower what this one accepts.
  expect(await refusal(after)).toContain("signed by a key that this svc does not know: 'svc login'");
  expect((await run(before, "runtime", "install")).err).toContain("a release key that has ended");
  expect((await run(after, "runtime", "install", "--file", older)).err).toContain("is older than");
  await done(after, "login", "--yes");
  expect(installed()).toMatchObject({ release: 1_001_000, key_id: keyId(two.publicPem) });
  await readable(before, after);
});

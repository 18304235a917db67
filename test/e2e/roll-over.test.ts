/** Two releases with a change of keys between them, in one home: the first knows keys 1 and 2, the second 2 and 3. */
import { beforeAll, beforeEach, expect, test } from "bun:test";
import { cpSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { platformTag, releasesPath, runtimePaths } from "../../src/paths.ts";
import { keyId } from "../../src/trust/runtime/anchor.ts";
import { testKey } from "../keys.ts";
import { executableOf } from "./executables.ts";
import { emptyHome, svc } from "./home.ts";

const [one, two, three] = [testKey("roll-1"), testKey("roll-2"), testKey("roll-3")];
let before: string;
let after: string;
let env: Record<string, string>;

beforeAll(async () => {
  before = await executableOf("before", { version: "1.0.0", release: 1_000_000, keys: [one, two] });
  const ends = [keyId(one.publicPem)];
  after = await executableOf("after", { version: "1.1.0", release: 1_001_000, keys: [two, three], ends });
});
beforeEach(() => {
  env = emptyHome();
});

const run = (exe: string, ...words: string[]) => svc(env, words, "", { exe });
const ok = async (exe: string, ...words: string[]) => {
  const ended = await run(exe, ...words);
  if (ended.code !== 0) throw new Error(`svc ${words.join(" ")}: ${ended.err}`);
  return ended.out;
};
/** What a tool call says. */
const refusal = async (exe: string) => {
  const { code, out, err } = await run(exe, "mem", "list");
  expect({ code, out }).toEqual({ code: 1, out: "" });
  return err;
};
const dir = () => runtimePaths(env.SVC_HOME!, platformTag()!).dir;
const installed = () => JSON.parse(readFileSync(join(dir(), "installed.json"), "utf8")).version;
const record = () => JSON.parse(readFileSync(releasesPath(env.SVC_HOME!), "utf8"));

test.each([
  ["svc login", ["login", "--yes"]],
  ["svc runtime install", ["runtime", "install"]],
])(
  "the executable after replaces the install of a key that it does not know by %s, and no tool call does",
  async (_, words) => {
    await ok(before, "login", "--yes");
    await ok(before, "mem", "add", "notes", "We deploy blue-green.");
    expect(await refusal(after)).toBe(
      "svc: the installed native runtime is signed by a key that this svc does not know: " +
        "'svc login' or 'svc runtime install' replaces it\n",
    );
    expect(installed()).toBe("1.0.0");
    const verify = JSON.parse((await run(after, "runtime", "verify", "--json")).out);
    expect(verify).toMatchObject({ ok: false, version: null });

    expect(await ok(after, ...words)).toMatch(/^installed runtime 1\.1\.0 \(release 1001000\)/m);
    expect(await ok(after, "mem", "search", "notes", "deploy", "--with-text")).toContain("blue-green");
    await ok(after, "runtime", "verify");
    expect(record()).toMatchObject({ ended: [keyId(one.publicPem)] });
  },
);

test("the executable before takes a runtime that its next key signed, and then none of the key that has ended", async () => {
  await ok(before, "login", "--yes");
  const old = join(env.HOME!, "old");
  cpSync(dir(), old, { recursive: true });
  await ok(after, "login", "--yes");

  // It loads what the next key signed, keeps it at a login, and says why it does not go back to its own.
  expect(await ok(before, "mem", "list")).toBe("");
  expect(await ok(before, "login", "--yes")).toMatch(/^kept runtime 1\.1\.0 .*, newer than 1\.0\.0 .*; verified$/m);
  for (const words of [[], ["--allow-downgrade"]]) {
    expect((await run(before, "runtime", "install", ...words)).err).toBe(
      "svc: release 1000000 (1.0.0) is signed by a release key that has ended: " +
        "get a newer svc, or a newer bundle\n",
    );
  }
  expect(installed()).toBe("1.1.0");

  // The old install, put back by hand, is loaded by neither.
  rmSync(dir(), { recursive: true });
  cpSync(old, dir(), { recursive: true });
  expect(await refusal(before)).toBe(
    "svc: the installed native runtime 1.0.0 (release 1000000) is signed by a release key that has ended: " +
      "'svc login' or 'svc runtime install' replaces it\n",
  );
  expect(await refusal(after)).toContain("a key that this svc does not know");
  await ok(after, "runtime", "install");
  for (const exe of [before, after]) await ok(exe, "mem", "list");
});

/** A process verifies a licence, a manifest and each file of the runtime once, however many steps need them. */
import { expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as f from "../trust/runtime/fixture.ts";
import { CHECK_LOG, FAKE_BUILD, svc, temporaryFolder } from "./support.ts";

test("the same bytes are verified once in a process", async () => {
  using folder = temporaryFolder();
  const at = (name: string) => join(folder.path, name);
  const libs = f.libs;
  const extra = [{ name: "pysite/svc/__init__.py", bytes: Buffer.from("x = 1\n") }];
  writeFileSync(at("bundle"), f.makeBundle(libs, { release: 1, version: "9.9.9", extra }));
  const env = { ...f.env, SVC_HOME: at("home"), FAKE_BUNDLE: at("bundle"), CHECKS_LOG: at("checks") };
  const contents = [libs.kernel, libs.runtime, ...extra.map(({ bytes }) => bytes)];
  const ofFiles = new Set(contents.map((bytes) => createHash("sha1").update(bytes).digest("hex")));
  /** Sorted lengths of what was signed and of what was hashed of the files: keys, names and the bundle are hashed too. */
  const checksOf = async (...words: string[]) => {
    rmSync(at("checks"), { force: true });
    expect(await svc(words, { env, preload: [FAKE_BUILD, CHECK_LOG] })).toMatchObject({ code: 0 });
    const all = readFileSync(at("checks"), "utf8").trimEnd().split("\n");
    const lines = all.filter((line) => line.startsWith("signature ") || ofFiles.has(line.split(" ")[2]!));
    expect(lines.toSorted()).toEqual([...new Set(lines)].sort());
    const lengths = (check: string) =>
      lines
        .map((line) => line.split(" "))
        .filter(([name]) => name === check)
        .map(([, length]) => Number(length))
        .sort((a, b) => a - b);
    return { signed: lengths("signature"), hashed: lengths("hash") };
  };
  const hashed = contents.map(({ length }) => length).sort((a, b) => a - b);
  for (const words of [
    ["login", "--yes"],
    ["login", "--yes"],
    ["runtime", "verify"],
    ["runtime", "install"],
  ]) {
    const checks = await checksOf(...words);
    expect(checks).toEqual({ signed: [expect.any(Number), expect.any(Number)], hashed });
    // One of the two signatures is the manifest's, the other the licence's.
    expect(checks.signed).toContain(Bun.file(f.pathsOf(at("home")).manifest).size);
  }
});

test("a licence that is not good installs nothing", async () => {
  using folder = temporaryFolder();
  const at = (name: string) => join(folder.path, name);
  writeFileSync(at("bundle"), f.makeBundle(f.libs));
  writeFileSync(at("license.jwt"), f.license.jwt);
  const options = { env: { ...f.env, SVC_HOME: at("home"), FAKE_BUNDLE: at("bundle") }, preload: [FAKE_BUILD] };
  expect(await svc(["login", "--yes", "--no-install"], options)).toMatchObject({ code: 0 });
  const { code, stderr } = await svc(["runtime", "install", "--license", at("license.jwt")], options);
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: expect.stringContaining("the licence is refused"),
  });
  expect(existsSync(at("home/runtime"))).toBe(false);
});

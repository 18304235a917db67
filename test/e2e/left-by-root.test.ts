/** What a `sudo svc` leaves under a user's SVC_HOME, which that user may remove but not read: it stops no install. */
import { beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { asPlainUser, copyOfHome, type Home, signedIn, svc } from "./home.ts";

let original: Home;
beforeAll(async () => {
  original = await signedIn();
});

const plain = { prefix: asPlainUser ?? [] };
const runtimeOf = (env: Home) => join(env.SVC_HOME!, "runtime");
const installOf = (env: Home) =>
  join(runtimeOf(env), readdirSync(runtimeOf(env)).find((name) => !name.startsWith("."))!);

/** A folder with a file in it that only root can list. */
function closedFolder(path: string): void {
  mkdirSync(join(path, "inside"), { recursive: true });
  chmodSync(path, 0);
}

describe.skipIf(asPlainUser === undefined)("a user without privileges", () => {
  test("has a record of releases that cannot be read written again", async () => {
    for (const args of [
      ["runtime", "install"],
      ["login", "--yes"],
    ]) {
      const env = copyOfHome(original);
      const path = join(env.SVC_HOME!, "releases.json");
      const before = readFileSync(path, "utf8");
      chmodSync(path, 0);
      const refused = await svc(env, ["mem", "create", "notes"], "", plain);
      expect(refused.err).toMatch(/^svc: releases\.json.* is damaged .*'svc login' or/);
      expect(await svc(env, args, "", plain)).toMatchObject({ code: 0 });
      expect(readFileSync(path, "utf8")).toBe(before);
      expect(statSync(path).mode & 0o777).toBe(0o600);
      expect(await svc(env, ["mem", "create", "notes"], "", plain)).toMatchObject({ code: 0 });
    }
  });

  test.each([
    ["an install", (env: Home) => join(installOf(env), "pysite", "closed")],
    ["what a killed install left", (env: Home) => join(runtimeOf(env), ".staging-0")],
  ])("installs although %s cannot be removed", async (_, folder) => {
    const env = copyOfHome(original);
    closedFolder(folder(env));
    for (const args of [
      ["runtime", "install"],
      ["login", "--yes"],
    ]) {
      const ended = await svc(env, args, "", plain);
      expect(ended.err).not.toContain("EACCES");
      expect(ended.code).toBe(0);
    }
    expect(await svc(env, ["runtime", "verify"], "", plain)).toMatchObject({ code: 0 });
    const left = readdirSync(runtimeOf(env)).find((name) => name.startsWith(".staging"))!;
    const closed = folder(env).endsWith("closed") ? "pysite/closed" : "";
    chmodSync(join(runtimeOf(env), left, closed), 0o700);
    // The next install removes it.
    await svc(env, ["runtime", "install"], "", plain);
    expect(readdirSync(runtimeOf(env)).filter((name) => name.startsWith(".staging"))).toEqual([]);
  });

  test("has the name of what cannot be examined where SVC_HOME cannot be reached", async () => {
    const env = copyOfHome(original);
    chmodSync(env.HOME!, 0);
    for (const args of [
      ["login", "--yes"],
      ["runtime", "install"],
    ]) {
      const { code, err } = await svc(env, args, "", { ...plain, cwd: "/" });
      expect(code).toBe(1);
      expect(err).toMatch(/EACCES: permission denied: check who may write there/);
    }
    chmodSync(env.HOME!, 0o700);
  });
});

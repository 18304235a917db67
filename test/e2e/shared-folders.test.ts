/** Folders that other users can write: the executable refuses to use them, and prints the command that closes them. */
import { beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, chownSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { copyOfHome, type Home, signedIn, svc } from "./home.ts";

let original: Home;
beforeAll(async () => {
  original = await signedIn();
});

const FOREIGN_GROUP = 54_321;
const OPEN: [string, (path: string) => void][] = [["0777", (path) => chmodSync(path, 0o777)]];
// Only root can give a folder to a group that it is not in.
if (process.getuid?.() === 0) {
  OPEN.push([
    "0770 with a foreign group",
    (path) => {
      chownSync(path, 0, FOREIGN_GROUP);
      chmodSync(path, 0o770);
    },
  ]);
}

const VERIFY = ["runtime", "verify", "--json"];
const TOOL = ["mem", "list"];
const LOGIN = ["login", "--yes"];
const INSTALL = ["runtime", "install"];
/** A folder, and the commands that refuse to use it. An install exchanges its own folder for one that is closed. */
const FOLDERS: [string, string[][]][] = [
  [".", [VERIFY, TOOL, LOGIN, INSTALL]],
  ["authority", [VERIFY, TOOL, LOGIN, INSTALL]],
  ["runtime", [VERIFY, TOOL, LOGIN, INSTALL]],
  ["runtime/*", [VERIFY, TOOL]],
];

describe.each(FOLDERS)("%s that others can write", (folder, refusing) => {
  test.each(OPEN)("%s is refused with the chmod that closes it", async (_, open) => {
    const env = copyOfHome(original);
    const [path] = [...new Bun.Glob(folder).scanSync({ cwd: env.SVC_HOME!, onlyFiles: false, absolute: true })];
    const at = folder === "." ? env.SVC_HOME! : path!;
    open(at);
    const before = readdirSync(env.SVC_HOME!).sort();
    let remedy: string | undefined;
    for (const args of refusing) {
      const { code, out, err } = await svc(env, args);
      expect(`${args.join(" ")}: ${code}`).toBe(`${args.join(" ")}: 1`);
      const said = args === VERIFY ? failedDetails(out) : err;
      remedy = /others can write to .*?: run (chmod go-w \S+)/.exec(said)?.[1];
      expect(`${args.join(" ")}: ${remedy ?? said}`).toMatch(/: chmod go-w "/);
      expect(said).not.toContain(env.HOME!);
    }
    expect(readdirSync(env.SVC_HOME!).sort()).toEqual(before);
    expect(Bun.spawnSync(["sh", "-c", remedy!.replace(/;$/, "")], { env }).success).toBe(true);
    expect((await svc(env, TOOL)).code).toBe(0);
    expect((await svc(env, VERIFY)).code).toBe(0);
  });
});

test("an install closes its own folder", async () => {
  const env = copyOfHome(original);
  const [dir] = [...new Bun.Glob("runtime/*").scanSync({ cwd: env.SVC_HOME!, onlyFiles: false, absolute: true })];
  chmodSync(dir!, 0o777);
  expect((await svc(env, INSTALL)).code).toBe(0);
  expect((await svc(env, VERIFY)).code).toBe(0);
  expect(readdirSync(join(env.SVC_HOME!, "runtime")).filter((name) => name.startsWith(".staging"))).toEqual([]);
});

function failedDetails(out: string): string {
  const { checks } = JSON.parse(out) as { checks: { ok: boolean; detail: string }[] };
  return checks
    .filter(({ ok }) => !ok)
    .map(({ detail }) => detail)
    .join("\n");
}

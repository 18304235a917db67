/** What must never stand in the repository: addresses of package registries, keys, paths of somebody's machine. */
import { expect, test } from "bun:test";
import { join } from "node:path";

const ROOT = join(import.meta.dir, "../..");

/** Files that git tracks or would: what the next commit may hold. Undefined outside a checkout. */
function files(): string[] | undefined {
  const git = Bun.spawnSync(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], { cwd: ROOT });
  if (!git.success) return undefined;
  return git.stdout.toString().split("\0").filter(Boolean);
}

async function matches(pattern: RegExp, only: (file: string) => boolean = () => true): Promise<string[]> {
  const found: string[] = [];
  for (const name of (files() ?? []).filter(only)) {
    const file = Bun.file(join(ROOT, name));
    if (!(await file.exists())) continue;
    const line = (await file.text()).split("\n").findIndex((text) => pattern.test(text));
    if (line >= 0) found.push(`${name}:${line + 1}`);
  }
  return found;
}

test.skipIf(files() === undefined)("no address of a package registry (needs a git checkout)", async () => {
  // Written apart so that this line does not find itself.
  const hosts = ["registry" + "\\.npmjs", "registry" + "\\.yarnpkg", "npm" + "\\.jsr", "deb" + "\\.debian\\.org"];
  expect(await matches(new RegExp(hosts.join("|")))).toEqual([]);
});

test.skipIf(files() === undefined)(
  "no address at all in lock and configuration files (needs a git checkout)",
  async () => {
    const locks = /(^|\/)(package-lock\.json|bun\.lock|\.npmrc|bunfig\.toml)$/;
    expect(await matches(/https?:\/\//, (file) => locks.test(file))).toEqual([]);
  },
);

test.skipIf(files() === undefined)("no private key (needs a git checkout)", async () => {
  expect(
    await matches(new RegExp("BEGIN ((RSA|EC|OPENSSH) )?" + "PRIVATE KEY"), (file) => !file.startsWith("test/")),
  ).toEqual([]);
});

test.skipIf(files() === undefined)("no path of somebody's machine (needs a git checkout)", async () => {
  expect(await matches(new RegExp("/(home|Users)/[a-z]+/" + "|/wor" + "k/main"))).toEqual([]);
});

test.skipIf(files() === undefined)(
  "no test that is skipped or alone without a condition (needs a git checkout)",
  async () => {
    const tests = (file: string) => file.startsWith("test/") && file.endsWith(".test.ts");
    expect(await matches(new RegExp("\\b(test|it|describe)\\.(skip|only|todo)" + "\\("), tests)).toEqual([]);
  },
);

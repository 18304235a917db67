/** install.sh as text: what a shell, shellcheck and a reader of docs/install.md need of it. */
import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ZIG_TARGET } from "../../../src/build/compile.ts";
import { installerOf } from "../../../src/build/release/installer.ts";
import { HOMEBREW_TAP, NPM_PACKAGE, RELEASES_URL } from "../../../src/published.ts";
import { ROOT, SVC } from "../../e2e/home.ts";
import { lackOfUser, ownFolder, programs, runInstaller, TAG, USUAL } from "./installing.ts";
import { ReleaseHost } from "./release-host.ts";

const SCRIPT = installerOf("0.2.0");

const host = await ReleaseHost.start();

test("has its version and the address of releases, and no name that is to be replaced", () => {
  expect(SCRIPT).toContain("# Installs svc 0.2.0, ");
  expect(SCRIPT).toContain(`curl -fsSL ${RELEASES_URL}/latest/download/install.sh | sh`);
  expect(SCRIPT).not.toMatch(/@[A-Z_]+@/);
});

test("docs/install.md has what to type for each package manager, by the names of src/published.ts", () => {
  const page = readFileSync(join(ROOT, "docs/install.md"), "utf8");
  for (const command of [`npm install -g ${NPM_PACKAGE}`, `brew install ${HOMEBREW_TAP}/svc`, `brew uninstall svc`])
    expect(page).toContain(`\`${command}\``);
  for (const name of ["README.md", "docs/install.md"])
    expect(readFileSync(join(ROOT, name), "utf8")).toContain(
      `\ncurl -fsSL ${RELEASES_URL}/latest/download/install.sh | sh\n`,
    );
});

test.skipIf(!Bun.which("shellcheck"))("has nothing that shellcheck objects to (needs shellcheck)", () => {
  const { stdout } = Bun.spawnSync(["shellcheck", "-"], { stdin: Buffer.from(SCRIPT) });
  expect(stdout.toString()).toBe("");
});

test.skipIf(lackOfUser !== undefined)("does nothing if its download is cut, at any byte", async () => {
  const home = ownFolder();
  const path = programs(USUAL);
  const whole = SCRIPT.trimEnd().length;
  const ends = Array.from({ length: 150 }, (_, i) => Math.floor((i * whole) / 150));
  for (let end = whole - 40; end < whole; end++) ends.push(end);
  for (const end of ends) {
    const { out, err } = await runInstaller(host, ["--uninstall"], { home, path, script: SCRIPT.slice(0, end) });
    expect([end, out]).toEqual([end, ""]);
    // The comments before the group can be cut; all else is a group without an end.
    if (end > SCRIPT.indexOf("\n{\n") + 2) expect(err).toMatch(/syntax error|unterminated|EOF/i);
  }
  const { err } = await runInstaller(host, ["--uninstall"], { home, path, script: SCRIPT.slice(0, whole) });
  expect(err).toContain("there is no ");
  expect([readdirSync(home), host.requests]).toEqual([[], []]);
});

test.skipIf(!TAG.startsWith("linux") || !Bun.which("objdump"))(
  "names the glibc that the executable and the libraries in it need (needs objdump)",
  () => {
    const { stdout } = Bun.spawnSync(["objdump", "-T", SVC]);
    const minors = [...stdout.toString().matchAll(/\(GLIBC_2\.(\d+)/g)].map(([, minor]) => Number(minor));
    const needed = Math.max(...minors, Number(ZIG_TARGET[TAG].split(".").at(-1)));
    expect(SCRIPT).toContain(`glibc_minor_min=${needed}\n`);
    expect(readFileSync(join(ROOT, "docs/install.md"), "utf8")).toContain(`glibc 2.${needed}`);
  },
);

/** Releases of a stand-in for the executable, and runs of their installer as a user without rights, in an empty home. */
import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { installerOf } from "../../../src/build/release/installer.ts";
import { platformTag } from "../../../src/paths.ts";
import { type Ended, ended } from "../../ended.ts";
import { scratchDir } from "../../fixture.ts";
import type { ReleaseHost } from "./release-host.ts";

export const TAG = platformTag()!;

/** The user and group that have no rights, where root runs the tests. */
const NO_RIGHTS = 65534;
const isRoot = process.getuid?.() === 0;
const setpriv = Bun.which("setpriv");
/** Why the installer cannot be run here as a plain user. */
export const lackOfUser = isRoot && !setpriv ? "root needs setpriv" : undefined;
export const asUser: readonly string[] =
  isRoot && setpriv ? [setpriv, `--reuid=${NO_RIGHTS}`, `--regid=${NO_RIGHTS}`, "--clear-groups"] : [];

/**
 * What an svc of this version prints and does, as far as the installer knows it. It waits for a line with `wait`. The
 * runtime of a home is that of the version in its file `runtime`.
 */
export function standIn(version: string): string {
  const lines = [
    "#!/bin/sh",
    `[ "$1" != wait ] || { echo started; read -r line; }`,
    `[ "$1" != runtime ] || { read -r runtime < "$HOME/.svc/runtime" && [ "$runtime" = ${version} ]; exit; }`,
    `echo "svc ${version} (stand-in)"`,
  ];
  return `${lines.join("\n")}\n${"#".repeat(80)}\n`;
}

/** Makes a release of a stand-in, and puts it on the host. */
export async function publish(host: ReleaseHost, version: string, executable = standIn(version)): Promise<void> {
  const path = join(scratchDir(), "executable");
  writeFileSync(path, executable);
  await host.publish({ version, executable: path });
}

/** A folder that belongs to the user. */
export function ownFolder(): string {
  return owned(scratchDir());
}

export function owned(path: string): string {
  if (isRoot) chownSync(path, NO_RIGHTS, NO_RIGHTS);
  return path;
}

/** The programs that the installer needs, docs/install.md names them; and what tells which system this is. */
const NEEDED = ["uname", "mkdir", "rmdir", "mv", "cp", "rm", "chmod", "wc", "sleep"];
const SYSTEM = ["ldd", "getconf", "sysctl", "sw_vers", "sync", "readlink", "flock"];

/** A folder for PATH with the programs that the installer needs and these, and scripts of these names. */
export function programs(names: readonly string[], scripts: Record<string, string> = {}): string {
  const folder = scratchDir();
  chmodSync(folder, 0o755);
  for (const name of [...NEEDED, ...SYSTEM, ...names]) {
    const path = Bun.which(name);
    if (path && !(name in scripts)) symlinkSync(path, join(folder, name));
  }
  for (const [name, text] of Object.entries(scripts))
    writeFileSync(join(folder, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  return folder;
}

export const USUAL = ["curl", "gzip", "sha256sum", "shasum"];

export interface Run {
  home?: string;
  /** The shell and its first words; dash where there is one. */
  shell?: readonly string[];
  path?: string;
  env?: Record<string, string>;
  script?: string;
}

/** The shell that most Linux systems have as sh. */
const SHELL = [Bun.which("dash") ?? "/bin/sh"];
let usual: string | undefined;

/** Starts the installer as `curl … | sh -s -- WORDS` does, with nothing of this machine's environment. */
export function startInstaller(host: ReleaseHost, words: readonly string[], run: Run = {}) {
  usual ??= programs(USUAL);
  const { home = ownFolder(), shell = SHELL, path = usual, env = {}, script = installerOf("0.2.0") } = run;
  return Bun.spawn([...asUser, ...shell, "-s", "--", ...words], {
    env: { HOME: home, PATH: path, SVC_BASE_URL: host.url, ...env },
    cwd: home,
    stdin: Buffer.from(script),
    stdout: "pipe",
    stderr: "pipe",
  });
}

export function runInstaller(host: ReleaseHost, words: readonly string[], run: Run = {}): Promise<Ended> {
  return ended(startInstaller(host, words, run));
}

/** Where svc is in a home. */
export const installed = (home: string) => join(home, ".local/bin/svc");

/** Files of the directory of svc, temporary ones as well. */
export function filesBeside(home: string): string[] {
  const folder = join(home, ".local/bin");
  return existsSync(folder) ? readdirSync(folder) : [];
}

/** A home in which the stand-in of a version is installed. */
export function homeWith(version: string): string {
  const home = ownFolder();
  for (const name of [".local", ".local/bin"]) {
    mkdirSync(join(home, name));
    owned(join(home, name));
  }
  writeFileSync(installed(home), standIn(version), { mode: 0o755 });
  owned(installed(home));
  return home;
}

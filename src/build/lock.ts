/**
 * `npm run lock`: writes package-lock.json again from package.json, complete for every platform, with the checksum of
 * every package and without addresses, so that a clone installs from its machine's own registry what was locked.
 */
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** An entry of package-lock.json, as far as it is looked at. */
export interface LockEntry {
  version?: string;
  resolved?: string;
  funding?: unknown;
  integrity?: string;
  optionalDependencies?: Record<string, string>;
}

/** Entries by path; that of the project itself is the empty one. */
export type LockPackages = Record<string, LockEntry>;

const SHA512 = /^sha512-[A-Za-z0-9+/]{86}==$/;

/**
 * What keeps a lock file from saying which bytes are installed, one sentence for each package. A package without a
 * checksum is installed unchecked. One that a platform needs and the lock lacks makes `npm ci` refuse the lock on every
 * platform.
 */
export function lockFaults(packages: LockPackages): string[] {
  return Object.entries(packages).flatMap(([path, { integrity, resolved, optionalDependencies }]) => {
    if (path === "") return [];
    const missing = Object.keys(optionalDependencies ?? {}).filter(
      (name) => !packages[`node_modules/${name}`] && !packages[`${path}/node_modules/${name}`],
    );
    return [
      ...(SHA512.test(integrity ?? "") ? [] : [`${path} has no SHA-512 checksum`]),
      ...(resolved === undefined ? [] : [`${path} has an address`]),
      ...missing.map((name) => `${path} needs ${name}, which the lock file lacks`),
    ];
  });
}

if (import.meta.main) {
  const root = join(import.meta.dir, "../..");
  // In an empty folder: beside an existing node_modules npm omits the packages of other platforms.
  const scratch = mkdtempSync(join(tmpdir(), "svc-lock-"));
  copyFileSync(join(root, "package.json"), join(scratch, "package.json"));
  const npm = Bun.spawnSync(["npm", "install", "--package-lock-only", "--no-audit", "--no-fund"], { cwd: scratch });
  if (!npm.success) {
    console.error(npm.stderr.toString());
    process.exit(1);
  }
  const lock = JSON.parse(readFileSync(join(scratch, "package-lock.json"), "utf8")) as { packages: LockPackages };
  rmSync(scratch, { recursive: true });

  for (const entry of Object.values(lock.packages)) {
    delete entry.resolved;
    delete entry.funding;
  }
  const faults = lockFaults(lock.packages);
  if (faults.length > 0) {
    console.error(faults.join("\n"));
    console.error("package-lock.json is unchanged: use a registry that has them, or remove them from package.json");
    process.exit(1);
  }
  const sorted = Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : 1));
  lock.packages = Object.fromEntries(sorted);
  writeFileSync(join(root, "package-lock.json"), `${JSON.stringify(lock, null, 2)}\n`);
}

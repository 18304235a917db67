/**
 * `npm run lock`: writes each package-lock.json again from its package.json, complete for every platform, with the
 * checksum of every package and without addresses, so that a clone installs from its machine's own registry what was
 * locked.
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

/** Folders with a package.json of their own: the product, and what `npm run test:clients` and `test:beyond` install. */
export const LOCKED_FOLDERS: readonly string[] = ["", "test/mcp/clients", "test/beyond"];

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

/** Writes the lock file of a folder. @throws Error where npm fails, or the lock file would have faults */
function lock(folder: string): void {
  // In an empty folder: beside an existing node_modules npm omits the packages of other platforms.
  const scratch = mkdtempSync(join(tmpdir(), "svc-lock-"));
  copyFileSync(join(folder, "package.json"), join(scratch, "package.json"));
  const npm = Bun.spawnSync(["npm", "install", "--package-lock-only", "--no-audit", "--no-fund"], { cwd: scratch });
  if (!npm.success) throw new Error(npm.stderr.toString());
  const lock = JSON.parse(readFileSync(join(scratch, "package-lock.json"), "utf8")) as { packages: LockPackages };
  rmSync(scratch, { recursive: true });

  for (const entry of Object.values(lock.packages)) {
    delete entry.resolved;
    delete entry.funding;
  }
  const path = join(folder, "package-lock.json");
  const faults = lockFaults(lock.packages);
  if (faults.length > 0) {
    const remedy = "use a registry that has them, or remove them from package.json";
    throw new Error(`${faults.join("\n")}\n${path} is unchanged: ${remedy}`);
  }
  const sorted = Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : 1));
  lock.packages = Object.fromEntries(sorted);
  writeFileSync(path, `${JSON.stringify(lock, null, 2)}\n`);
}

if (import.meta.main) {
  const root = join(import.meta.dir, "../..");
  try {
    for (const folder of LOCKED_FOLDERS) lock(join(root, folder));
  } catch (error) {
    console.error((error as Error).message);
    process.exit(1);
  }
}

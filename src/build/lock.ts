/**
 * `npm run lock`: writes package-lock.json anew from package.json, complete for every platform and without addresses,
 * so that a clone installs from its machine's own registry.
 */
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

interface Entry {
  version?: string;
  resolved?: string;
  funding?: unknown;
  integrity?: string;
  dev?: boolean;
  optional?: boolean;
  os?: string[];
  cpu?: string[];
  optionalDependencies?: Record<string, string>;
}

const ROOT = join(import.meta.dir, "../..");

// In an empty folder: beside an existing node_modules npm omits the packages of other platforms.
const scratch = mkdtempSync(join(tmpdir(), "svc-lock-"));
copyFileSync(join(ROOT, "package.json"), join(scratch, "package.json"));
const npm = Bun.spawnSync(["npm", "install", "--package-lock-only", "--no-audit", "--no-fund"], { cwd: scratch });
if (!npm.success) {
  console.error(npm.stderr.toString());
  process.exit(1);
}
const lock = JSON.parse(readFileSync(join(scratch, "package-lock.json"), "utf8")) as {
  packages: Record<string, Entry>;
};
rmSync(scratch, { recursive: true });

for (const entry of Object.values(lock.packages)) {
  delete entry.resolved;
  delete entry.funding;
}

// A registry that mirrors only some platforms leaves the others out of the lock, and `npm ci` then refuses it
// everywhere. Optional dependencies that the registry lacks are entered with their platform and without a hash.
for (const [path, { optionalDependencies, dev }] of Object.entries(lock.packages)) {
  for (const [name, version] of Object.entries(path === "" ? {} : (optionalDependencies ?? {}))) {
    if (lock.packages[`node_modules/${name}`]) continue;
    const [, os, cpu] = name.match(/(linux|darwin|win32|freebsd|android)-(x64|arm64)/) ?? [];
    if (!os || !cpu) throw new Error(`${name} is in no registry here and its name tells no platform`);
    console.error(`${name} is not in this machine's registry: entered without a hash`);
    lock.packages[`node_modules/${name}`] = { version, cpu: [cpu], ...(dev ? { dev } : {}), optional: true, os: [os] };
  }
}
const sorted = Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : 1));
lock.packages = Object.fromEntries(sorted);
writeFileSync(join(ROOT, "package-lock.json"), `${JSON.stringify(lock, null, 2)}\n`);

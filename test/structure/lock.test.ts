/** The lock files: they name the bytes of every package, and no address. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { LOCKED_FOLDERS, type LockPackages, lockFaults } from "../../src/build/lock.ts";

const ROOT = join(import.meta.dir, "../..");

test.each([...LOCKED_FOLDERS])(
  "every package of the lock file in '%s' has a SHA-512 checksum and no address",
  (folder) => {
    const read = (name: string) => JSON.parse(readFileSync(join(ROOT, folder, name), "utf8"));
    const { packages } = read("package-lock.json") as { packages: LockPackages };
    const { dependencies, devDependencies, optionalDependencies } = read("package.json");
    const needed = Object.keys({ ...dependencies, ...devDependencies, ...optionalDependencies });
    expect(needed.length).toBeGreaterThan(0);
    expect(needed.filter((name) => packages[`node_modules/${name}`] === undefined)).toEqual([]);
    expect(lockFaults(packages)).toEqual([]);
  },
);

test("a checksum, an address or a platform that is wrong is named", () => {
  const integrity = `sha512-${"A".repeat(86)}==`;
  const packages: LockPackages = {
    "": { version: "1.0.0", optionalDependencies: { "other-platform": "1.0.0" } },
    "node_modules/good": { version: "1.0.0", integrity },
    "node_modules/none": { version: "1.0.0" },
    "node_modules/weak": { version: "1.0.0", integrity: "sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk=" },
    "node_modules/placed": { version: "1.0.0", integrity, resolved: "https://example.org/placed.tgz" },
    "node_modules/shim": { version: "1.0.0", integrity, optionalDependencies: { good: "1.0.0", gone: "1.0.0" } },
  };
  expect(lockFaults(packages)).toEqual([
    "node_modules/none has no SHA-512 checksum",
    "node_modules/weak has no SHA-512 checksum",
    "node_modules/placed has an address",
    "node_modules/shim needs gone, which the lock file lacks",
  ]);
});

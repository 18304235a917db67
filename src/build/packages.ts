/**
 * Packages that npm does not install on this machine, as they are for another platform: fetched through npm with its
 * configured registry, and checked against the lock file's checksum.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { LockPackages } from "./lock.ts";
import { BuildError, run } from "./step.ts";

/** Where `fetchPackage` puts a package of a version; it exists once that has been fetched. */
export function fetchedPackage(cache: string, name: string, version: string): string {
  return join(cache, "packages", `${name.replaceAll("/", "+")}-${version}`, "package");
}

/**
 * Fetches a package unless the cache has it.
 * @param purpose what needs the package, for the sentence where npm fails
 * @returns its folder
 * @throws BuildError where npm cannot fetch it, or the lock file has another checksum for it, or none
 */
export async function fetchPackage(
  root: string,
  cache: string,
  name: string,
  version: string,
  purpose: string,
): Promise<string> {
  const path = fetchedPackage(cache, name, version);
  if (existsSync(path)) return path;
  const folder = join(path, "..");
  const work = `${folder}.${process.pid}`;
  mkdirSync(work, { recursive: true });
  try {
    const npm = ["npm", "pack", `${name}@${version}`, "--silent", "--pack-destination", work];
    await run(npm, root).catch((error) => {
      const why = (error as Error).message;
      throw new BuildError(`npm could not fetch ${name}@${version}, ${purpose}: ${why}`);
    });
    const archive = join(work, readdirSync(work).find((file) => file.endsWith(".tgz"))!);
    checkIntegrity(root, name, version, archive);
    await run(["tar", "-xzf", archive, "-C", work], root);
    rmSync(archive);
    rmSync(folder, { recursive: true, force: true });
    renameSync(work, folder);
    return path;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

function checkIntegrity(root: string, name: string, version: string, archive: string): void {
  const lock = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as { packages?: LockPackages };
  const expected = lock.packages?.[`node_modules/${name}`]?.integrity;
  if (!expected) throw new BuildError(`package-lock.json has no checksum for ${name}`);
  const found = `sha512-${new Bun.CryptoHasher("sha512").update(readFileSync(archive)).digest("base64")}`;
  if (found !== expected) throw new BuildError(`${name}@${version} has another checksum than in package-lock.json`);
}

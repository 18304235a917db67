/** Peers' packages, in a cache of their own, apart from the project's dependencies. */
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { PEERS } from "./peers/peers.ts";

/** The folder with a peer's `node_modules`. */
export function packagesOf(name: string): string {
  const cache = process.env.XDG_CACHE_HOME || join(homedir(), ".cache");
  return join(cache, "svc-bench-peers", name);
}

/** Installs a peer in its pinned versions, unless it is installed; returns its folder. @throws Error as below */
export const install = (name: string) => installPackages(name, PEERS[name]!.packages);

/**
 * Installs packages into a folder of the cache, unless they are installed; returns the folder.
 *
 * @throws Error with npm's last output
 */
export function installPackages(name: string, packages: readonly string[]): string {
  const folder = packagesOf(name);
  const stamp = join(folder, `installed-${packages.join("+").replaceAll("/", "-")}`);
  if (existsSync(stamp)) return folder;
  mkdirSync(folder, { recursive: true });
  const command = ["npm", "install", "--prefix", folder, "--save-exact", "--no-audit", "--no-fund", "--loglevel=error"];
  const run = Bun.spawnSync([...command, ...packages], { cwd: folder, stdin: "ignore", timeout: 600_000 });
  if (!run.success) {
    const said = run.stderr.toString().trim().split("\n").slice(-3).join(" ");
    throw new Error(`${packages.join(" and ")} could not be installed: ${said || "npm failed and printed nothing"}`);
  }
  writeFileSync(stamp, "");
  return folder;
}

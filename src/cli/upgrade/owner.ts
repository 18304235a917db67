/** Who put this executable where it is: what a package manager has installed, only that one may replace. */
import { accessSync, constants } from "node:fs";
import { dirname, join } from "node:path";
import { isObject } from "../../checks/kinds.ts";
import { readCapped } from "../../durable.ts";
import { attempt, OSError, PermissionError } from "../../errors.ts";
import { CLIENT_FILE_BYTES_MAX } from "../../limits.ts";
import { NPM_PACKAGE } from "../../published.ts";
import { shellWord } from "../../shell-word.ts";

/** A package manager by a path of its own. */
const BY_PATH: readonly [path: RegExp, owner: string, remedy: string][] = [
  [/\/Cellar\//, "Homebrew", "run 'brew upgrade svc'"],
  [/\/node_modules\//, "npm", `run 'npm install -g ${NPM_PACKAGE}@latest', or update your project's package.json`],
  [/^\/nix\/store\//, "Nix", "update it in your Nix configuration, as with 'nix profile upgrade svc'"],
  [/^\/gnu\/store\//, "Guix", "run 'guix upgrade svc'"],
  [/^\/snap\//, "snap", "run 'snap refresh svc'"],
  [/^\/opt\/local\//, "MacPorts", "run 'port upgrade svc'"],
  [/\/Claude Extensions\//, "an extension of Claude", "install the newer .mcpb file in Claude's settings"],
];

/** Package managers that say which package has a file: the question, and what replaces it. */
const BY_QUERY: readonly [question: readonly string[], owner: string, remedy: string][] = [
  [["dpkg-query", "-S"], "a Debian package", "run 'apt install --only-upgrade svc'"],
  [["rpm", "-qf"], "an RPM package", "run 'dnf upgrade svc'"],
  [["pacman", "-Qo"], "a package of pacman", "run 'pacman -Syu'"],
];
/** Where packages put programs; what is in `local` is the administrator's own. */
const OF_PACKAGES = /^\/(usr\/(?!local\/)|s?bin\/|opt\/)/;
/** Where these managers are: PATH may lead to other programs of their names. */
const SYSTEM_PATH = "/usr/bin:/bin";
const QUERY_MS_MAX = 10_000;

/** Asks a package manager about a file. */
type Ask = (question: readonly string[]) => boolean;

/**
 * Refuses to replace an executable that a package manager owns, or that is in a folder that this user cannot write.
 * @param executable its path, without links
 * @param flags those of this upgrade, for the command with sudo
 * @throws PermissionError with the package manager's command; OSError where the folder cannot be written
 */
export function requireOwnFile(executable: string, flags: readonly string[] = [], ask: Ask = isOwner): void {
  const refuse = (owner: string, remedy: string) => new PermissionError(`this svc belongs to ${owner}: ${remedy}`);
  for (const [path, owner, remedy] of BY_PATH) if (path.test(executable)) throw refuse(owner, remedy);
  if (isInBundle(executable))
    throw refuse("an extension of an MCP client", "install the newer .mcpb file in that client");
  if (OF_PACKAGES.test(executable))
    for (const [question, owner, remedy] of BY_QUERY) if (ask([...question, executable])) throw refuse(owner, remedy);
  requireWritable(executable, flags);
}

/** Whether the folder above holds the manifest of an .mcpb bundle, which clients unpack as it is. */
function isInBundle(executable: string): boolean {
  return [dirname(executable), dirname(dirname(executable))].some((folder) => {
    const bytes = attempt(() => readCapped(join(folder, "manifest.json"), CLIENT_FILE_BYTES_MAX));
    const manifest: unknown = bytes && attempt(() => JSON.parse(new TextDecoder().decode(bytes)));
    return isObject(manifest) && isObject(manifest.server) && typeof manifest.manifest_version === "string";
  });
}

function requireWritable(executable: string, flags: readonly string[]): void {
  try {
    accessSync(dirname(executable), constants.W_OK | constants.X_OK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const remedy =
      code === "EROFS"
        ? "upgrade svc where this file system was made, as in the image of a container"
        : `run 'sudo ${[shellWord(executable), "upgrade", ...flags].join(" ")}', or install svc in a folder of your own`;
    throw new OSError(`this user cannot write to the folder of this svc (${code}): ${remedy}`);
  }
}

function isOwner([program = "", ...words]: readonly string[]): boolean {
  const path = Bun.which(program, { PATH: SYSTEM_PATH });
  if (path === null) return false;
  const { success } = Bun.spawnSync([path, ...words], { stdio: ["ignore", "ignore", "ignore"], timeout: QUERY_MS_MAX });
  return success;
}

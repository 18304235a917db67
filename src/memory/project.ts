/** The scope of a project: what the rows of its notes have in common, wherever a checkout of it lies. */
import { realpathSync, statSync } from "node:fs";
import { basename } from "node:path";
import { UNPRINTABLE } from "../checks/names.ts";
import { attempt } from "../errors.ts";
import { SCOPE_BYTES_MAX } from "../limits.ts";
import type { Env } from "../paths.ts";
import { readRemotes } from "../repo/files/git/config.ts";
import { type GitLayout, layoutOf } from "../repo/files/git/layout.ts";
import { tooLargeReason } from "../repo/files/refusals.ts";
import { workTreeOf } from "../repo/files/top-level.ts";

const DIGEST_LENGTH = 16;

const URL = /^[a-z][a-z0-9+.-]*:\/\/(?:[^/]*@)?(\[[^\]/]*\]|[^:/[\]]+)(?::\d*)?\/([^?#]*)/i;
/** As ssh takes it, in which no slash comes before the colon: `user@host:path`, `[host:port]:path`. */
const SSH = /^(?:[^/[]*@)?(?:\[(?:[^\]/@]*@)?([^\]/:@]+):\d+\]|(\[[^\]/]*\]|[^:/[\]]+)):(.*)$/s;
/** A program of git's that carries the rest: `ext::ssh …`. */
const HELPER = /^[a-z0-9+.-]+::/i;

/**
 * The scope of the project that a folder belongs to. In a git work tree it is the address of its remote as
 * `host/owner/name`: of `origin`, else of the only one. Without a remote it is the name of the work tree's folder, of
 * a linked work tree that of the main one. In any other folder it is that folder's name. git is not run.
 * @returns undefined for `/`, for the home directory, and for a folder that is not there
 */
export function projectOf(folder: string, env: Env = process.env): string | undefined {
  try {
    const here = realpathSync.native(folder);
    if (!statSync(here).isDirectory() || tooLargeReason(here, env)) return undefined;
    const top = workTreeOf(here);
    // A home directory under git does not make one project of all that lies in it.
    if (top === undefined || tooLargeReason(top, env)) return bounded(basename(here));
    const layout = layoutOf(top);
    return bounded((layout && (remoteOf(layout, env) ?? mainFolderOf(layout))) || basename(top));
  } catch {
    return undefined;
  }
}

/** The same of a working directory, which is a project only in a git work tree. */
export function projectOfWorkTree(folder: string | undefined): string | undefined {
  const here = folder === undefined ? undefined : attempt(() => realpathSync.native(folder));
  return here === undefined || workTreeOf(here) === undefined ? undefined : projectOf(here);
}

function remoteOf(layout: GitLayout, env: Env): string | undefined {
  const remotes = readRemotes(layout, env);
  const url = remotes.get("origin") ?? (remotes.size === 1 ? [...remotes.values()][0] : undefined);
  return url === undefined ? undefined : addressOf(url);
}

/**
 * A remote's address without scheme, user, password, port, query and `.git`: `host/owner/name`, or the folder's name of
 * a path. Undefined where nothing of it names the repository.
 */
export function addressOf(url: string): string | undefined {
  if (HELPER.test(url)) return undefined;
  if (/^file:\/\//i.test(url)) return folderNameOf(decoded(url));
  const [, host, path] = URL.exec(url) ?? [];
  if (host !== undefined) return withHost(host, decoded(path!));
  if (url.includes("://")) return undefined;
  const [, bracketed, plain = bracketed, named] = SSH.exec(url) ?? [];
  return plain === undefined ? folderNameOf(url) : withHost(plain, named!);
}

function withHost(host: string, path: string): string | undefined {
  const repository = withoutGit(path).replace(/^(?:~\/|\/)+/, "");
  return repository === "" ? undefined : `${host.toLowerCase()}/${repository}`;
}

function folderNameOf(path: string): string | undefined {
  const name = basename(withoutGit(path));
  return ["", ".", "..", "~"].includes(name) ? undefined : name;
}

/** A path without slashes at its end and the `.git` of a bare repository, or of a work tree. */
function withoutGit(path: string): string {
  return path.replace(/\/+$/, "").replace(/(?<=[^/])\/*\.git$/, "");
}

/** With its percent signs decoded, where they can be. */
function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/** Of a linked work tree the name of the main one's folder, or that of a bare repository; undefined in any other. */
function mainFolderOf({ gitDir, commonDir }: GitLayout): string | undefined {
  return gitDir === commonDir ? undefined : folderNameOf(commonDir);
}

/** A scope on one line of at most SCOPE_BYTES_MAX; a digest stands for the end of a longer one. */
function bounded(scope: string): string {
  const line = scope.replace(UNPRINTABLE, " ").toWellFormed();
  const bytes = Buffer.from(line);
  if (bytes.length <= SCOPE_BYTES_MAX) return line;
  const digest = new Bun.CryptoHasher("sha256").update(bytes).digest("hex").slice(0, DIGEST_LENGTH);
  // A character that is cut in two becomes U+FFFD, which takes three bytes.
  const beginning = bytes.toString("utf8", 0, SCOPE_BYTES_MAX - DIGEST_LENGTH - 1).replace(/\uFFFD+$/, "");
  return `${beginning}~${digest}`;
}

/**
 * Git's listing of an untrusted repository's files. A repository's configuration can name programs (a file system
 * monitor, hooks, transports for objects a partial clone lacks): each is switched off on the command line, which
 * overrides every file. Environment variables can point git elsewhere (a hook that starts us sets GIT_DIR): they are
 * removed.
 */
import { delimiter, isAbsolute, sep } from "node:path";
import { workTreeOf } from "./worktree.ts";

/** Time for a slow disk; beyond it the plain walk lists the files. */
const GIT_MS_MAX = 30_000;

/** Limit of a listing: a million paths of 256 bytes. Beyond it git is killed and the plain walk lists the files. */
const GIT_OUTPUT_BYTES_MAX = 256 * 1024 * 1024;

const SAFE_CONFIG = [
  "core.fsmonitor=false",
  "core.hooksPath=/dev/null",
  "core.sshCommand=false",
  "protocol.allow=never",
  "submodule.recurse=false",
].flatMap((setting) => ["-c", setting]);

/** What git lists: `/`-separated paths, and how many others are not UTF-8. */
export interface GitListing {
  paths: string[];
  undecodable: number;
}

/**
 * Tracked and untracked-but-not-ignored paths below `directory`, relative to it; undefined where git fails, "late"
 * where it would have needed more than `msMax` milliseconds.
 */
export async function gitFiles(
  directory: string,
  msMax: number,
  signal?: AbortSignal,
): Promise<GitListing | "late" | undefined> {
  if (msMax <= 0) return "late";
  const listing = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
  const ended = await runGit(directory, listing, msMax, signal);
  if (ended?.code === 0) return listingOf(ended.output);
  // Refused (another owner's checkout), killed at our own bounds, or no checkout: the same to the caller.
  return msMax < GIT_MS_MAX && ended?.isKilled ? "late" : undefined;
}

/**
 * Whether git ignores a directory of a work tree as a whole: no file in it is tracked. Undefined where git fails.
 */
export async function gitIgnores(directory: string, signal?: AbortSignal): Promise<boolean | undefined> {
  // By `.`: a path with brackets would be a pattern, and this command takes none as it is written.
  const ended = await runGit(directory, ["check-ignore", "--quiet", "--", "."], GIT_MS_MAX, signal);
  return ended?.code === 0 ? true : ended?.code === 1 ? false : undefined;
}

interface Ended {
  code: number;
  output: Uint8Array;
  isKilled: boolean;
}

/** Runs git in a directory of an untrusted repository; undefined where it cannot be run. */
async function runGit(
  directory: string,
  words: readonly string[],
  msMax: number,
  signal: AbortSignal | undefined,
): Promise<Ended | undefined> {
  const env = safeEnvironment();
  const git = Bun.which("git", { PATH: env.PATH });
  if (git === null || git.startsWith((workTreeOf(directory) ?? directory) + sep)) return undefined;
  try {
    const child = Bun.spawn([git, "--no-pager", ...SAFE_CONFIG, ...words], {
      cwd: directory,
      env,
      stdin: "ignore",
      stdout: "pipe",
      stderr: "ignore",
      timeout: Math.ceil(Math.min(msMax, GIT_MS_MAX)),
      killSignal: "SIGKILL",
      maxBuffer: GIT_OUTPUT_BYTES_MAX,
      signal,
    });
    const output = new Uint8Array(await new Response(child.stdout).arrayBuffer());
    return { code: await child.exited, output, isKilled: child.signalCode === "SIGKILL" };
  } catch {
    return undefined;
  }
}

function safeEnvironment(): Record<string, string> & { PATH: string } {
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries(process.env)) {
    if (value !== undefined && !name.startsWith("GIT_")) env[name] = value;
  }
  // A relative entry could find a `git` inside the repository.
  const PATH = (env.PATH ?? "").split(delimiter).filter(isAbsolute).join(delimiter);
  return { ...env, PATH, GIT_OPTIONAL_LOCKS: "0", GIT_NO_LAZY_FETCH: "1", GIT_TERMINAL_PROMPT: "0", LC_ALL: "C" };
}

/** The paths of an output, each with a NUL behind it. */
function listingOf(output: Uint8Array): GitListing {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  try {
    // At once, since each path by itself takes a sixth of a call that finds no change.
    return { paths: decoder.decode(output).split("\0").slice(0, -1), undecodable: 0 };
  } catch {
    return decodedEach(output, decoder);
  }
}

function decodedEach(output: Uint8Array, decoder: TextDecoder): GitListing {
  const listing: GitListing = { paths: [], undecodable: 0 };
  let start = 0;
  for (let end = output.indexOf(0); end !== -1; end = output.indexOf(0, start)) {
    try {
      listing.paths.push(decoder.decode(output.subarray(start, end)));
    } catch {
      listing.undecodable++;
    }
    start = end + 1;
  }
  return listing;
}

/** Git's listing of an untrusted repository's files. */
import { gitProgram, SAFE_CONFIG, safeEnvironment } from "./git/command.ts";
import { workTreeOf } from "./worktree.ts";

/** Time for a slow disk; beyond it the plain walk lists the files. */
const GIT_MS_MAX = 30_000;

/** Limit of a listing: a million paths of 256 bytes. Beyond it git is killed and the plain walk lists the files. */
const GIT_OUTPUT_BYTES_MAX = 256 * 1024 * 1024;

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
  const git = gitProgram(env.PATH, workTreeOf(directory) ?? directory);
  if (git === undefined) return undefined;
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

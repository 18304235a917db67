/**
 * Git's own answer to "which files belong here", from a repository that may be hostile. A repository's configuration
 * can name programs (a file system monitor, hooks, transports for objects a partial clone lacks), and variables of the
 * surroundings can point git elsewhere (a hook that starts us sets GIT_DIR): each is switched off on the command line,
 * which beats every file.
 */
import { delimiter, isAbsolute, sep } from "node:path";

/** A slow disk is waited for; past this the plain walk answers instead. */
const GIT_MS_MAX = 30_000;

/** Paths of a listing, bounded: a million files of 256 bytes. Beyond it git is killed and the plain walk answers. */
const GIT_OUTPUT_BYTES_MAX = 256 * 1024 * 1024;

const SAFE_CONFIG = [
  "core.fsmonitor=false",
  "core.hooksPath=/dev/null",
  "core.sshCommand=false",
  "protocol.allow=never",
  "submodule.recurse=false",
].flatMap((setting) => ["-c", setting]);

/**
 * Tracked and untracked-but-not-ignored paths below `directory`, relative to it; undefined where git has no answer, "late" where
 * it would have needed more than `msMax` milliseconds for one.
 */
export async function gitFiles(
  directory: string,
  msMax: number,
  signal?: AbortSignal,
): Promise<Uint8Array[] | "late" | undefined> {
  const env = surroundings();
  const git = Bun.which("git", { PATH: env.PATH });
  if (git === null || git.startsWith(directory + sep)) return undefined;
  if (msMax <= 0) return "late";
  const listing = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
  try {
    const child = Bun.spawn([git, "--no-pager", ...SAFE_CONFIG, ...listing], {
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
    if ((await child.exited) === 0) return splitAtNul(output);
    // Refused (another owner's checkout), killed at our own bounds, or not a checkout at all: all the same to the caller.
    return msMax < GIT_MS_MAX && child.signalCode === "SIGKILL" ? "late" : undefined;
  } catch {
    return undefined;
  }
}

function surroundings(): Record<string, string> & { PATH: string } {
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries(process.env)) {
    if (value !== undefined && !name.startsWith("GIT_")) env[name] = value;
  }
  // A relative entry would find a `git` that the repository brought along.
  const PATH = (env.PATH ?? "").split(delimiter).filter(isAbsolute).join(delimiter);
  return { ...env, PATH, GIT_OPTIONAL_LOCKS: "0", GIT_NO_LAZY_FETCH: "1", GIT_TERMINAL_PROMPT: "0", LC_ALL: "C" };
}

function splitAtNul(bytes: Uint8Array): Uint8Array[] {
  const parts: Uint8Array[] = [];
  let start = 0;
  for (let end = bytes.indexOf(0); end !== -1; end = bytes.indexOf(0, start)) {
    parts.push(bytes.subarray(start, end));
    start = end + 1;
  }
  return parts;
}

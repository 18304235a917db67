/**
 * Git's listing of an untrusted repository's files. A repository's configuration can name programs (a file system
 * monitor, hooks, transports for objects a partial clone lacks): each is switched off on the command line, which
 * overrides every file. Environment variables can point git elsewhere (a hook that starts us sets GIT_DIR): they are
 * removed.
 */
import { delimiter, isAbsolute, sep } from "node:path";

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

/**
 * Tracked and untracked-but-not-ignored paths below `directory`, relative to it; undefined where git fails, "late"
 * where it would have needed more than `msMax` milliseconds.
 */
export async function gitFiles(
  directory: string,
  msMax: number,
  signal?: AbortSignal,
): Promise<Uint8Array[] | "late" | undefined> {
  const env = safeEnvironment();
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
    // Refused (another owner's checkout), killed at our own bounds, or no checkout: the same to the caller.
    return msMax < GIT_MS_MAX && child.signalCode === "SIGKILL" ? "late" : undefined;
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

function splitAtNul(bytes: Uint8Array): Uint8Array[] {
  const parts: Uint8Array[] = [];
  let start = 0;
  for (let end = bytes.indexOf(0); end !== -1; end = bytes.indexOf(0, start)) {
    parts.push(bytes.subarray(start, end));
    start = end + 1;
  }
  return parts;
}

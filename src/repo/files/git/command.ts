/**
 * Runs git in an untrusted repository. Its configuration can name programs (a file system monitor, hooks, transports for
 * objects a partial clone lacks): each is switched off on the command line, which overrides every file. Environment
 * variables can point git elsewhere (a hook that starts us sets GIT_DIR): they are removed.
 */
import { delimiter, isAbsolute, sep } from "node:path";

/** Time for a slow disk. The process waits meanwhile: git is only asked for an index that was not read here. */
const GIT_MS_MAX = 5_000;
/** A million paths of 256 bytes. Beyond it git is killed. */
const GIT_OUTPUT_BYTES_MAX = 256 * 1024 * 1024;

export const SAFE_CONFIG = [
  "core.fsmonitor=false",
  "core.hooksPath=/dev/null",
  "core.sshCommand=false",
  "protocol.allow=never",
  "submodule.recurse=false",
].flatMap((setting) => ["-c", setting]);

/**
 * The output of a command that was carried out; undefined where git is not installed, refuses, fails or takes too long.
 * @param top the top level of the work tree, in which it runs
 */
export function runGit(top: string, words: readonly string[]): Uint8Array | undefined {
  const env = safeEnvironment();
  const git = gitProgram(env.PATH, top);
  if (git === undefined) return undefined;
  try {
    const ended = Bun.spawnSync([git, "--no-pager", ...SAFE_CONFIG, ...words], {
      cwd: top,
      env,
      stdin: "ignore",
      stdout: "pipe",
      stderr: "ignore",
      timeout: GIT_MS_MAX,
      killSignal: "SIGKILL",
      maxBuffer: GIT_OUTPUT_BYTES_MAX,
    });
    return ended.exitCode === 0 ? ended.stdout : undefined;
  } catch {
    return undefined;
  }
}

/** The git of a search path, unless it lies in the work tree. */
export function gitProgram(PATH: string, top: string): string | undefined {
  const git = Bun.which("git", { PATH });
  return git === null || git.startsWith(top + sep) ? undefined : git;
}

export function safeEnvironment(): Record<string, string> & { PATH: string } {
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries(process.env)) {
    if (value !== undefined && !name.startsWith("GIT_")) env[name] = value;
  }
  // A relative entry could find a `git` inside the repository.
  const PATH = (env.PATH ?? "").split(delimiter).filter(isAbsolute).join(delimiter);
  return { ...env, PATH, GIT_OPTIONAL_LOCKS: "0", GIT_NO_LAZY_FETCH: "1", GIT_TERMINAL_PROMPT: "0", LC_ALL: "C" };
}

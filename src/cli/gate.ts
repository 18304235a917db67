/**
 * The way to the memory for `svc mcp` and `svc mem`: login checked, runtime verified, memory opened. Help and `tools/list` do not
 * import this file.
 */
import { buildInfo } from "../build-info.ts";
import { openMemory } from "../memory/open.ts";
import type { Verbs } from "../memory/requests.ts";
import { type Env, memoryPath, svcHome } from "../paths.ts";
import { verifiedNative } from "../runtime/libraries.ts";
import { optimiseForWork } from "./jit.ts";

export interface GateOptions {
  readonly env: Env;
  /** The memory directory, from `--path`. */
  readonly path?: string;
  /** The repository that `repo_search` answers about. */
  readonly workspace?: string;
  /** False: what is indexed of a repository lives only as long as this process. */
  readonly persistentIndex?: boolean;
  /** Gets the warnings of a login that is good: a licence in its days of grace, a clock gone back. */
  readonly warn?: (line: string) => void;
}

/** The verbs, and `close`, which frees what they hold. */
export type OpenVerbs = Verbs & { close(): Promise<void> };

/**
 * Opens the memory.
 * @throws PermissionError if not logged in or the licence is not good; RuntimeError if the native runtime is missing or is not
 * what was signed; the message says which command mends it
 */
export async function openVerbs(options: GateOptions): Promise<OpenVerbs> {
  optimiseForWork();
  const { env, warn } = options;
  const native = await verifiedNative({ env, warn: (line) => warn?.(`svc: note: ${line}`) });
  return openMemory({
    path: memoryPath(options.path, env),
    native,
    workspace: options.workspace || env.SVC_MCP_WORKSPACE || undefined,
    persistentIndex: options.persistentIndex,
    home: svcHome(env),
    version: buildInfo().version,
  });
}

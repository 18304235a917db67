/**
 * The one way to the memory, for `svc mcp` and `svc mem` alike: logged in, runtime verified, then opened. Whoever only shows help or
 * answers `tools/list` never imports this file.
 */
import { requireLogin } from "../account/credentials.ts";
import { buildInfo } from "../build-info.ts";
import { openMemory } from "../memory/open.ts";
import type { Verbs } from "../memory/schemas.ts";
import { type Env, memoryPath, svcHome } from "../paths.ts";
import { type LicenseCheck, loadVerified } from "../runtime/load.ts";
import { licenseCheck } from "./gate-license.ts";

export interface GateOptions {
  readonly env: Env;
  /** The memory directory, from `--path`. */
  readonly path?: string;
  /** The repository that `repo_search` answers about. */
  readonly workspace?: string;
  /** False: what is indexed of a repository lives only as long as this process. */
  readonly persistentIndex?: boolean;
  /** Told what a person should know though nothing fails: a licence about to expire, a clock gone back. */
  readonly warn?: (line: string) => void;
}

/** The verbs, and the way to let go of what they hold. */
export type OpenVerbs = Verbs & { close(): Promise<void> };

/**
 * Opens the memory.
 * @throws PermissionError if not logged in or the licence is not good; RuntimeError if the native runtime is missing or is not
 * what was signed; the message says which command mends it
 */
export async function openVerbs(options: GateOptions): Promise<OpenVerbs> {
  // Start-up was compiled for speed of start; from here on the work is long enough to be worth optimising.
  (Bun.unsafe as { setJITPolicy?(policy: number): void }).setJITPolicy?.(1);
  const { env } = options;
  const home = svcHome(env);
  const login = await requireLogin(home, env);
  for (const warning of login.warnings) options.warn?.(`svc: note: ${warning}`);
  // The install keeps the licence of the login that made it; where it is that one, it has just been checked.
  const check = licenseCheck(home, env);
  const checkLicense: LicenseCheck = async (jwt) => (jwt === login.jwt ? login.license : check(jwt));
  const runtime = await loadVerified({ home, env, checkLicense });
  const memory = await openMemory({
    path: memoryPath(options.path, env),
    runtime,
    workspace: options.workspace || env.SVC_MCP_WORKSPACE || undefined,
    persistentIndex: options.persistentIndex,
    home,
    version: buildInfo().version,
  });
  // Both libraries are mapped by now; the sealed files they came from are not needed any more.
  runtime.close();
  return memory;
}

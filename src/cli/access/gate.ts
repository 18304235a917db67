/**
 * Opens the memory for `svc mcp` and `svc mem`, after login and runtime. Help and `tools/list` do not import this file.
 */

import type { LocalStore } from "../../api/local-store.ts";
import { programVersion } from "../../build-info.ts";
import { errorMessage, PermissionError } from "../../errors.ts";
import type { Memory } from "../../memory/memory.ts";
import { openMemory } from "../../memory/open.ts";
import { type Env, memoryPath, svcHome } from "../../paths.ts";
import type { ReplicaNode } from "../../replication/node/node.ts";
import type { SecretPolicy } from "../../secrets/policy.ts";
import type { CompactionOptions } from "../../store/compaction/compactor.ts";
import type { FillingOptions } from "../../texts/meaning/background.ts";
import { requireFeature } from "../../trust/account/license/features.ts";
import type { License } from "../../trust/account/license/license.ts";
import type { Native } from "../../trust/runtime/libraries.ts";
import { atEnd, EXIT } from "../terminal/command.ts";
import { optimiseForWork } from "../terminal/jit.ts";
import { overProgress } from "../terminal/output.ts";
import { engineAddress } from "./engine.ts";
import { keepRenewed, licensedNative, type RenewalSite, renewAtEnd } from "./renewal.ts";

/** How long after a signal: the system takes the rest of a second to free gigabytes. */
const STOP_MS = 500;

export interface GateOptions {
  /** The command that opens it, as `svc mem add`: it stands in messages of processes that wait for this one. */
  readonly label: string;
  /** What the licence has to have; searching repositories also needs `repo`. */
  readonly feature: "mcp" | "memory";
  readonly env: Env;
  /** The memory directory, from `--path`. */
  readonly path?: string | undefined;
  /** The file with the address of the database that has the memory's log, from `--engine-file`. */
  readonly engineFile?: string | undefined;
  /** The repository that `repo_search` searches. */
  readonly workspace?: string;
  /** False: the index of a repository lives only as long as this process. */
  readonly persistentIndex?: boolean;
  /** Whether this process stays, and compacts and renews in the background; others have two seconds at their end. */
  readonly stays?: boolean;
  /** Whether this process reads and ends: nothing is compacted, filled or renewed then. */
  readonly readsOnly?: boolean;
  /** Why nothing may be changed: each change fails with this sentence. */
  readonly refusal?: string | undefined;
  /** What becomes of credentials in texts that are put. */
  readonly secrets?: SecretPolicy | undefined;
  /**
   * A signal ends this process within a second, also while it is at something that cannot be interrupted; then this is
   * the last line of stderr. Absent: the process ends when that is done.
   */
  readonly stopLine?: string | undefined;
  /** This process ends well after so many milliseconds, also while it is at something that cannot be interrupted. */
  readonly limitMs?: number;
  /** Gets warnings of a valid login: a licence in its days of grace, a clock gone back. */
  readonly warn?: (line: string) => void;
}

/**
 * Opens the memory. Messages of errors name the command that helps.
 * @throws PermissionError for no login, an invalid licence or one without the command's feature; RuntimeError for a
 * missing or unverified native runtime
 */
export async function openVerbs(options: GateOptions): Promise<Memory> {
  const { env, warn, label } = options;
  const site: RenewalSite = { env, network: true, warn: (line) => warn?.(`svc: note: ${line}`) };
  const native = await licensedNative({ label, feature: options.feature }, site);
  if (options.stopLine !== undefined)
    native.env.stopAfterSignal(STOP_MS, EXIT.interrupted, overProgress(options.stopLine));
  if (options.limitMs !== undefined) {
    native.env.stopAfterSignal(options.limitMs, EXIT.done, "");
    process.kill(process.pid, "SIGTERM");
  }
  // Not before: what verifies runs once, and compiling it costs more than it takes.
  optimiseForWork();
  if (options.stays) keepRenewed(native.license, site);
  else if (!options.readsOnly) atEnd(() => renewAtEnd(native.license, site));
  const node = await nodeOf(options, native);
  return openMemory({
    path: node?.dir ?? memoryPath(options.path, env),
    node,
    reportsOutages: options.stays,
    native: options.refusal === undefined ? native : { ...native, refuseChanges: refusing(options.refusal) },
    workspace: {
      flag: options.workspace,
      environment: env.SVC_MCP_WORKSPACE,
      projectDir: env.CLAUDE_PROJECT_DIR,
    },
    persistentIndex: options.persistentIndex,
    admitRepositories: () => admitRepositories(native.license, label, env),
    home: svcHome(env),
    version: programVersion(),
    secrets: options.secrets,
    compaction: compaction(options),
    filling: filling(options),
  });
}

/** This process as a node of a memory whose log is in a database; undefined for a memory of this machine alone. */
async function nodeOf(
  { engineFile, env, path, warn }: Omit<GateOptions, "feature">,
  native: Native,
): Promise<ReplicaNode | undefined> {
  const address = await engineAddress(engineFile, env);
  if (address === undefined) return undefined;
  const { openNode } = await import("../../replication/node/node.ts");
  return openNode({ address, path, env, warn: (line) => warn?.(`svc: note: ${line}`) }, native.env);
}

function refusing(why: string): () => never {
  return () => {
    throw new PermissionError(why);
  };
}

/** Where the licence of this process lacks them, a login since may have brought another one. */
async function admitRepositories(license: License, label: string, env: Env): Promise<void> {
  if (license.features.includes("repo")) return;
  const { checkStoredLicense } = await import("../../trust/account/license/license-check.ts");
  requireFeature(await checkStoredLicense(svcHome(env), env), "repo", `'${label}' for repositories`);
}

function compaction({ stays = false, readsOnly = false, warn }: GateOptions): CompactionOptions {
  const onFailed = (name: string, error: unknown) =>
    warn?.(`svc: note: collection '${name}' could not be compacted by itself: ${errorMessage(error)}`);
  const onLeft = (name: string, saves: number) =>
    warn?.(
      `svc: note: collection '${name}' has had ${saves} saves since it was compacted, and is too large to do it now: ` +
        `'svc mem compact ${name}' makes it open faster`,
    );
  return { background: stays, atClose: !stays && !readsOnly, onFailed, onLeft };
}

function filling({ stays = false, readsOnly = false, warn }: GateOptions): FillingOptions {
  return {
    background: stays,
    atClose: !stays && !readsOnly,
    onFailed: (name, error) => warn?.(`svc: note: ${unfilled(name, error)}`),
  };
}

/** That texts of a collection have no vectors of meaning, and why. */
export function unfilled(name: string, error: unknown): string {
  return `texts of collection '${name}' are found by their words only for now: ${errorMessage(error)}`;
}

/** Opens the memory as a program does, for commands about its files. @throws as `openVerbs` */
export async function openStore(options: Omit<GateOptions, "feature">): Promise<LocalStore> {
  const { env, path, warn, label } = options;
  const { LocalStore } = await import("../../api/local-store.ts");
  // Opened here, so that a licence which has to be renewed is.
  const site: RenewalSite = { env, network: false, warn: (line) => warn?.(`svc: note: ${line}`) };
  await licensedNative({ label, feature: "memory" }, site);
  optimiseForWork();
  const address = await engineAddress(options.engineFile, env);
  return LocalStore.open(path, { env, engine: address, warn: (line) => warn?.(`svc: note: ${line}`) });
}

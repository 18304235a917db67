/** Assembles a memory: native libraries, store, embedder, repositories. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ProgramVersion } from "../build-info.ts";
import { diskError } from "../durable.ts";
import { briefMarksPath } from "../paths.ts";
import type { ReplicaNode } from "../replication/node/node.ts";
import type { SecretPolicy } from "../secrets/policy.ts";
import type { CompactionOptions } from "../store/compaction/compactor.ts";
import { Store } from "../store/store.ts";
import { MultigramEmbedder } from "../texts/kernel.ts";
import { BackgroundFiller, type FillingOptions } from "../texts/meaning/background.ts";
import { SentenceEncoder } from "../texts/meaning/encoder.ts";
import type { Native } from "../trust/runtime/libraries.ts";
import { Memory } from "./memory.ts";
import type { NamedWorkspaces } from "./repos/workspaces.ts";

/** A memory's directory and dependencies. */
export interface MemoryOptions {
  /** The memory directory. */
  path: string;
  /** Commits its saves elsewhere as well; closed after it. */
  node?: ReplicaNode | undefined;
  /** Whether answers say that the node's database is away; a command that ends has said so when it was opened. */
  reportsOutages?: boolean | undefined;
  /** The verified libraries, mapped. */
  native: Native;
  /** What names the repository of the repository verbs, where a call and a client do not. */
  workspace?: NamedWorkspaces;
  /** False: the repository's rows are in a folder that is removed with this process. */
  persistentIndex?: boolean | undefined;
  /** Throws where the repository verbs are refused; asked before the first of them. */
  admitRepositories?: () => Promise<void>;
  /** Root of all state, which is never indexed, even inside a repository. */
  home: string;
  /** Version of this program, and its build, written into manifests. */
  version: string | ProgramVersion;
  /** What becomes of credentials in texts that are put; they are stored by default. */
  secrets?: SecretPolicy | undefined;
  /** What is compacted by itself; nothing by default. Not the index of a repository, which is merged after each run. */
  compaction?: CompactionOptions | undefined;
  /** What is filled with vectors of meaning by itself; nothing by default. */
  filling?: FillingOptions | undefined;
}

/** A temporary folder, removed with this process. */
function scratchDirectory(): string {
  try {
    return mkdtempSync(join(tmpdir(), "svc-repo-"));
  } catch (error) {
    throw diskError(error, "create", "a temporary folder");
  }
}

/**
 * Opens a memory; nothing on disk is read or written before the first verb, and the code of the repository verbs is
 * loaded with the first of them.
 */
export async function openMemory(options: MemoryOptions): Promise<Memory> {
  const { kernel, env, refuseUse } = options.native;
  const encoder = new SentenceEncoder(options.native);
  const { path, version, compaction, native, node } = options;
  const store = new Store(path, env, version, undefined, compaction, native, node?.log);
  const embedder = new MultigramEmbedder(kernel, encoder);
  store.upkeep = new BackgroundFiller(encoder, options.filling ?? {});
  const persistent = options.persistentIndex ?? true;
  const scratch = persistent ? undefined : scratchDirectory();
  const repoStore =
    scratch === undefined ? store : new Store(scratch, env, options.version, undefined, {}, { refuseUse });
  const repositories = async () => {
    await options.admitRepositories?.();
    const { Repositories } = await import("./repositories.ts");
    const { workspace = {}, path, home } = options;
    return new Repositories({ repoStore, embedder, workspace, persistent, neverIndexed: [path, home] });
  };
  return new Memory({
    store,
    repoStore,
    embedder,
    repositories,
    secrets: options.secrets === "store" ? undefined : options.secrets,
    marksFile: briefMarksPath(options.home),
    replica: node,
    outage: options.reportsOutages ? () => node?.follower.outage : undefined,
    async dispose() {
      await node?.close();
      if (scratch !== undefined) {
        await repoStore.close();
        rmSync(scratch, { recursive: true, force: true });
      }
    },
  });
}

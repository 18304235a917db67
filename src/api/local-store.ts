/** A memory directory in this process: what the SDK opens and `svc serve` serves. */
import type { Kernel } from "../../ffi/ame_kernel.ts";
import { type ProgramVersion, programVersion } from "../build-info.ts";
import { optional, readFlag } from "../checks/kinds.ts";
import { REPO_COLLECTION } from "../checks/names.ts";
import { readString } from "../checks/strings.ts";
import { ValueError } from "../errors.ts";
import { type Env, memoryPath } from "../paths.ts";
import type { CompactionOptions } from "../store/compaction/compactor.ts";
import type { Coordinator } from "../store/coordination/coordinator.ts";
import { type Allowance, LimitedStore } from "../store/limited/view.ts";
import { dropCollection, renameCollection } from "../store/moves.ts";
import type { CollectionOverview } from "../store/overview.ts";
import { Store } from "../store/store.ts";
import { type EmbedderSource, Embedders } from "../texts/embedders.ts";
import { BackgroundFiller, type FillingOptions } from "../texts/meaning/background.ts";
import { SentenceEncoder } from "../texts/meaning/encoder.ts";
import type { Native } from "../trust/runtime/libraries.ts";
import { verifiedNative } from "../trust/runtime/libraries.ts";
import { type AlteredCollection, type AlterOptions, alter } from "./alter.ts";
import type { StoreApi } from "./api.ts";
import { type BackupOptions, type BackupResult, backup } from "./backup.ts";
import { type CheckedCollection, type CheckOptions, check } from "./check.ts";
import type { Following } from "./generations.ts";
import type { LocalCollection } from "./local-collection.ts";
import { type LocalCreateOptions, NamedCollections } from "./named-collections.ts";
import { type RepairedCollection, type RepairOptions, repair } from "./repair.ts";
import { type RestoreOptions, type RestoreResult, restore } from "./restore.ts";

/** How to open a memory directory. */
export interface OpenOptions {
  /** Environment variables that say where things are (`SVC_HOME`, `SVC_MEMORY_PATH`); the process's own by default. */
  env?: Env | undefined;
  /** Gets warnings that fail nothing: a licence about to expire. */
  warn?: ((line: string) => void) | undefined;
  /**
   * Compact collections by themselves once they have grown by enough saves, and make vectors of meaning that texts lack,
   * in the background and, for at most two seconds, in `close` (true). What the last save that deleted or replaced rows
   * took away stays on disk for 24 hours.
   */
  compaction?: boolean | undefined;
  /**
   * `postgres://…`: the address of a database that has the memory's log. The directory is this machine's copy then; without
   * a path, it is one under `SVC_HOME` that belongs to the address.
   */
  engine?: string | undefined;
}

/**
 * The collections of a directory. Several processes may open it: they see each other's saves, and each collection has
 * one writer at a time.
 */
export class LocalStore implements StoreApi<LocalCollection> {
  /** The native kernel, for `new MultigramEmbedder(store.kernel)`. */
  readonly kernel: Kernel;
  /** The sentence encoder, for `SentenceEmbedder.open(store)`. */
  readonly encoder: SentenceEncoder;
  /** The collections themselves, for the verbs of `src/memory` over this store. */
  readonly shared: Store;
  private readonly embedders: Embedders;
  private readonly named: NamedCollections;

  /** Made by `open`; tests and the server pass their own libraries. */
  constructor(
    dir: string,
    native: Native,
    version: string | ProgramVersion,
    inlineScanBytes?: number,
    compaction?: CompactionOptions | undefined,
    filling: FillingOptions = {},
    /** Commits its saves elsewhere as well; closed after it. */
    private readonly node?: { readonly log: Coordinator; readonly follower?: Following; close(): Promise<void> },
  ) {
    this.kernel = native.kernel;
    this.encoder = new SentenceEncoder(native);
    this.shared = new Store(dir, native.env, version, inlineScanBytes, compaction, native, node?.log);
    this.embedders = new Embedders(native.kernel, this.encoder);
    this.named = new NamedCollections(this.shared, this.embedders, this.encoder, this.following);
    this.shared.upkeep = new BackgroundFiller(this.encoder, filling);
  }

  /**
   * Opens a memory directory, which need not exist yet: `path`, else `SVC_MEMORY_PATH`, else `memory` under `SVC_HOME`.
   * Under a clock that jumped ahead beyond the licence's end it is opened for reading: changes throw a PermissionError.
   * @throws ValueError for an address in place of a directory; PermissionError if `svc login` was not done, or the licence lacks
   *   the feature `memory`; RuntimeError if the native runtime is missing or not verified
   */
  static async open(path?: string, options: OpenOptions = {}): Promise<LocalStore> {
    const { engine, env, warn } = options;
    // An address or a folder that cannot be used is reported before a missing login.
    const dir = engine === undefined ? memoryPath(path, env) : undefined;
    const native = await verifiedNative({ ...options, feature: "memory" });
    const isOn = optional(options.compaction, "compaction", readFlag) ?? true;
    const compaction = { background: isOn, atClose: isOn };
    const version = programVersion();
    if (dir !== undefined) return new LocalStore(dir, native, version, undefined, compaction, compaction);
    const { openNode } = await import("../replication/node/node.ts");
    const node = await openNode({ address: engine!, path, env, warn }, native.env);
    return new LocalStore(node.dir, native, version, undefined, compaction, compaction, node);
  }

  /** Brings the copy up to date, where a database has the memory's log. */
  get following(): Following | undefined {
    return this.node?.follower;
  }

  /** Registers an embedder, also for collections created with it. @throws ValueError for a name that is taken */
  registerEmbedder(name: string, source: EmbedderSource): void {
    this.embedders.register(name, source);
  }

  /**
   * A new collection, in memory until its first `save`; the existing one where everything agrees.
   * @throws ValueError for an invalid name, schema or embedder, or an existing collection that differs; TypeError
   */
  async createCollection(name: string, options: LocalCreateOptions): Promise<LocalCollection> {
    return this.named.createCollection(name, options);
  }

  /** A collection, saved or created here. @throws ValueError where it does not exist; OSError where it is damaged */
  async openCollection(name: string): Promise<LocalCollection> {
    return this.collection(name);
  }

  /** The same without a promise. @throws ValueError for a collection that does not exist */
  collection(name: string): LocalCollection {
    return this.named.collection(name);
  }

  /** A handle that is not checked: its methods fail where the collection does not exist. */
  handle(name: string): LocalCollection {
    return this.named.handle(name);
  }

  /** The store as one sees it who may use only some of its collections, or change nothing. */
  limited(allowance: Allowance): NamedCollections {
    const view = new LimitedStore(this.shared, allowance);
    return new NamedCollections(view, this.embedders, this.encoder, this.following);
  }

  async collections(): Promise<string[]> {
    return this.shared.list();
  }

  /** Names of the collections with something to save: changes, or created and never saved. */
  unsaved(): string[] {
    return this.shared.unsaved().map((collection) => collection.name);
  }

  /** The unsaved changes of a collection, another object after each save of them; undefined where there are none. */
  batchOf(name: string): object | undefined {
    return this.shared.held(name)?.batch;
  }

  /** The clients that made these unsaved changes are gone: other processes that wait get an error that says so. */
  async left(name: string, batch: object): Promise<void> {
    await this.shared.held(name)?.left(batch);
  }

  /** Failed saves of unsaved changes since this process began, over all collections. */
  get lostSaves(): number {
    return [...this.shared.lostSaves.values()].reduce((sum, count) => sum + count, 0);
  }

  /** The same by collection. */
  lostByCollection(): Map<string, number> {
    return new Map(this.shared.lostSaves);
  }

  /** Saves every collection with unsaved changes, also where one fails; resolves to the failures, by collection. */
  async saveAll(): Promise<Map<string, unknown>> {
    const failures = new Map<string, unknown>();
    await Promise.all(
      this.shared
        .unsaved()
        .map((collection) => collection.save().catch((error) => failures.set(collection.name, error))),
    );
    return failures;
  }

  /**
   * Copies the saved collections into a folder, which is then a memory directory itself, beside other processes' writes.
   * Unsaved changes of this store are saved first. A collection that is damaged or cannot be read is left out and named
   * in the result.
   * @throws ValueError for a folder inside the memory directory or with collections of these names; OSError
   */
  async backup(dir: string, options: BackupOptions = {}): Promise<BackupResult> {
    readString(dir, "dir");
    return backup(this.shared, dir, options);
  }

  /**
   * Reads every byte of the saved collections, of those too that cannot be opened, and names all damage.
   * @throws ValueError for a collection that does not exist; OSError for a memory directory that cannot be read
   */
  async check(options: CheckOptions = {}): Promise<CheckedCollection[]> {
    return check(this.shared, options);
  }

  /**
   * Checks a collection and repairs it: what is derived is made again in place; where rows are damaged, those that can be
   * read are saved in a new collection, and the damaged one is not touched. Texts are embedded again where an embedder
   * of theirs is registered.
   * @throws ValueError for a collection that does not exist, or a name of `to` that is taken; OSError
   */
  async repair(name: string, options: RepairOptions = {}): Promise<RepairedCollection> {
    const [checked] = await check(this.shared, { names: [readString(name, "name")], signal: options.signal });
    return repair(this.shared, this.embedders, checked!, options);
  }

  /**
   * Removes a collection for good, a damaged one too, once other processes' writes of it are done.
   * @throws ValueError where there is none, or it has unsaved changes here; TimeoutError that names who else has; OSError
   */
  async dropCollection(name: string, options: { signal?: AbortSignal | undefined } = {}): Promise<void> {
    await dropCollection(this.shared, readString(name, "name"), options.signal);
  }

  /**
   * Gives a saved collection another name, once other processes' writes of it are done.
   * @throws ValueError where there is none, or one of the new name, or for the index of `svc_repo_search`; TimeoutError
   *   that names who has unsaved changes; OSError
   */
  async renameCollection(
    name: string,
    newName: string,
    options: { signal?: AbortSignal | undefined } = {},
  ): Promise<void> {
    const [from, to] = [readString(name, "name"), readString(newName, "newName")];
    if (from === REPO_COLLECTION || to === REPO_COLLECTION) {
      throw new ValueError(
        `'${REPO_COLLECTION}' is the collection that repositories are indexed into: it keeps its name`,
      );
    }
    await renameCollection(this.shared, from, to, options.signal);
  }

  /**
   * Gives a saved collection search by word alone, or other filter columns: a rewrite beside it, which takes its place
   * in one step. All rows are kept as they are. Other processes' writes wait meanwhile.
   * @throws ValueError for what cannot be changed; TimeoutError that names who has unsaved changes; OSError
   */
  async alterCollection(name: string, options: AlterOptions): Promise<AlteredCollection> {
    return alter(this.shared, this.encoder, readString(name, "name"), options);
  }

  /**
   * Verified copies of the collections of a backup, or of some, in this memory; each is there whole or not at all. One
   * that is damaged is left out and named in the result.
   * @throws ValueError for a folder that is not a backup, and for names that are taken, unless they are to be replaced;
   *   TimeoutError that names who has unsaved changes; OSError
   */
  async restore(dir: string, options: RestoreOptions = {}): Promise<RestoreResult> {
    return restore(this.shared, readString(dir, "dir"), options);
  }

  /** What the folders of the collections say, of damaged ones too, without opening them; sorted by name. */
  overview(): CollectionOverview[] {
    return this.shared.overview();
  }

  /** Waits for calls under way and closes. Unsaved changes are dropped. */
  async close(): Promise<void> {
    await this.shared.close();
    await this.node?.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

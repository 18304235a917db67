/** A memory directory: named collections, opened once and kept. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { NativeError, Status } from "../../ffi/status.ts";
import type { Checked, Watch } from "../../ffi/ty_collection.ts";
import type { Environment } from "../../ffi/ty_runtime.ts";
import type { ProgramVersion } from "../build-info.ts";
import { shown } from "../checks/kinds.ts";
import { checkName } from "../checks/names.ts";
import { makeDurableDirectory } from "../durable.ts";
import { PermissionError, RuntimeError, ValueError } from "../errors.ts";
import { Collection } from "./collection.ts";
import { type CompactionOptions, Compactor } from "./compaction/compactor.ts";
import type { Coordinator } from "./coordination/coordinator.ts";
import { caseTwin, hasFolder, hasManifest, savedIn, statesIn } from "./directory.ts";
import { fromNative } from "./failure.ts";
import { withFolderLock } from "./folder-lock.ts";
import { absent, type FolderState, stateOf } from "./folder-state.ts";
import { COPY_MARK, discardFolder } from "./folders.ts";
import { type CollectionOverview, overviewOf } from "./overview.ts";
import {
  type CarriedOver,
  completeSchema,
  parseManifest,
  type Schema,
  type SchemaInput,
  schemaDifference,
  schemaJson,
} from "./schema.ts";
import type { CollectionOptions } from "./writer.ts";

/** Queries that scan more bytes of codes than this run on a worker: on the event loop they would delay other calls. */
const INLINE_SCAN_BYTES = 32 * 1024 * 1024;

/** How long a process may take for what it does by itself before it ends. */
const CLOSING_MS_MAX = 2_000;

/** Work that a store does by itself, beside compactions. */
export interface Upkeep {
  /** A call uses a collection. */
  used(collection: Collection): void;
  /** Stops what is under way, and does what is to be done before the collections are closed, until `until`. */
  close(until: number): Promise<void>;
}

/** What a store is used under. Saves of what was changed before are never refused. */
export interface Guards {
  /** Throws where nothing may be read or changed any more. */
  readonly refuseUse?: (() => void) | undefined;
  /** Throws where nothing may be changed. */
  readonly refuseChanges?: (() => void) | undefined;
}

/**
 * The collections under one directory. A collection exists on disk once its directory holds `collection.json`; one that
 * was created but never saved exists in this process only. `open` finds collections that other processes saved.
 */
export class Store {
  private readonly collections = new Map<string, Collection>();
  private readonly forgotten = new Set<Collection>();
  /** How often a save of a collection has failed and dropped staged changes, or may have, by name. */
  readonly lostSaves = new Map<string, number>();
  /** Set when `close` begins. */
  private isClosed = false;
  private readonly compactor: Compactor;
  /** What else is done with its collections by itself. */
  upkeep: Upkeep | undefined;

  /**
   * @param writer the version of this program, and its build: what manifests of new collections name
   * @param inlineScanBytes scans of more bytes of codes run on a worker; few where many clients query at once
   * @param compaction what it compacts by itself; nothing by default
   * @param guards called before each use and before each change: each throws where that is refused
   */
  constructor(
    readonly dir: string,
    /** The native environment that its collections are opened in. */
    readonly env: Environment,
    private readonly writer: string | ProgramVersion,
    private readonly inlineScanBytes = INLINE_SCAN_BYTES,
    compaction: CompactionOptions = {},
    private readonly guards: Guards = {},
    /** Commits the saves elsewhere as well. */
    readonly coordinator?: Coordinator,
  ) {
    this.compactor = new Compactor(compaction);
  }

  /** Another memory directory of the same environment, in which nothing is compacted by itself or refused. */
  at(dir: string): Store {
    return new Store(dir, this.env, this.writer, this.inlineScanBytes);
  }

  /** @throws where a change is refused */
  readonly refuseChanges = (): void => {
    this.guards.refuseChanges?.();
    if (this.coordinator === undefined) refuseCopy(this.dir);
  };

  /** @throws where use is refused, or after `close`: a collection opened then would never be closed. */
  requireUsable(): void {
    this.guards.refuseUse?.();
    if (this.isClosed) throw new RuntimeError("this store is closed: open the memory directory again");
  }

  /** Why changes are refused; undefined where they are not. */
  get refusal(): string | undefined {
    return refusalOf(this.refuseChanges);
  }

  /** Names of the saved collections, sorted. */
  list(): string[] {
    this.requireUsable();
    return savedIn(this.dir);
  }

  /** As `list`, and folders of collections whose `collection.json` was lost: opening one says so. */
  present(): string[] {
    return namesWith(this.folders(), "saved", "lost");
  }

  /** As `present`, and what interrupted first saves left: everything that is shown where collections are. */
  listed(): string[] {
    return namesWith(this.folders(), "saved", "lost", "leftover");
  }

  /** Every folder that has something of a collection, sorted by name. */
  folders(): Map<string, FolderState> {
    this.requireUsable();
    return statesIn(this.dir);
  }

  /** The collection of that name, saved or created here; undefined where there is none. */
  find(name: string): Collection | undefined {
    this.requireUsable();
    checkName(name);
    const cached = this.collections.get(name);
    // A busy one is kept in any case: its first save is on disk before `isSaved` is set, and staged changes would be lost
    // with the object. Where the directory is gone, the save fails.
    if (cached?.isBusy) return this.used(cached);
    const isSaved = hasManifest(this.dir, name);
    // The disk decides: the directory may be gone, or another process may have saved a collection that is new here, or
    // has put another one in its place.
    if (cached?.isSaved === isSaved && (!isSaved || cached.isThere)) return this.used(cached);
    this.forget(cached);
    // A folder without a manifest is opened too: where that was lost, the collection is damaged and its name not free.
    if (!isSaved && !existsSync(join(this.dir, name))) return undefined;
    // On a file system that folds case, another spelling would open the same directory.
    if (isSaved && !hasFolder(this.dir, name)) return undefined;
    try {
      const native = this.env.openCollection(join(this.dir, name));
      const collection = new Collection(name, parseManifest(native.manifest()), native, this.collectionOptions(name));
      return this.used(this.keep(collection));
    } catch (error) {
      if (error instanceof NativeError && error.status === Status.NOT_FOUND) return undefined;
      throw fromNative(error, name);
    }
  }

  /**
   * The collection of that name if it is open and was saved, without checking that it still exists: a query checks
   * anyway, and after its failure the caller uses `open`.
   * @throws where use is refused
   */
  opened(name: string): Collection | undefined {
    this.guards.refuseUse?.();
    const cached = this.isClosed ? undefined : this.collections.get(name);
    return cached?.isSaved ? this.used(cached) : undefined;
  }

  /** Waits for another process to end its first save of a collection, where it is at one. @throws TimeoutError */
  async firstSave(name: string, signal?: AbortSignal): Promise<void> {
    this.requireUsable();
    const isBegun = !this.collections.has(name) && stateOf(join(this.dir, checkName(name))) === "begun";
    if (isBegun) await withFolderLock({ env: this.env, dir: this.dir, name, signal }, () => {});
  }

  /** The collection of that name; a ValueError where there is none. */
  open(name: string): Collection {
    const found = this.find(name);
    if (!found) throw this.absent(name);
    return found;
  }

  /** The error for a collection that is not there, or was never saved. */
  absent(name: string): ValueError {
    return absent(this.dir, name);
  }

  /**
   * A new collection, in memory until its first save. An existing one of that name is returned if its schema agrees.
   * @throws ValueError with the difference between the schemas, or for an invalid one; PermissionError where changes are
   *   refused
   */
  create(name: string, input: SchemaInput): Collection {
    const existing = this.find(name);
    // A caller that does not set `lexical` accepts either.
    const schema = completeSchema({ ...input, lexical: input.lexical ?? existing?.schema.lexical });
    if (existing) {
      const difference = schemaDifference(existing.schema, schema);
      if (difference) throw new ValueError(`collection ${shown(name)} exists already and ${difference}`);
      return existing;
    }
    this.refuseCaseTwin(name);
    this.refuseChanges();
    return this.createLike(name, schema);
  }

  /** The same with what `work` does first. Where that fails, a collection that it has not saved is forgotten. */
  async createWith<T>(name: string, input: SchemaInput, work: (made: Collection) => Promise<T>): Promise<T> {
    const made = this.create(name, input);
    try {
      return await work(made);
    } catch (error) {
      // A change still in its queue may save it after all.
      if (!made.isSaved) this.forget(made);
      throw error;
    }
  }

  /**
   * A new collection, in memory until its first save, in a directory that has none of its name.
   * @param kept what is to be kept of another one's manifest
   */
  createLike(name: string, schema: Schema, kept?: CarriedOver): Collection {
    try {
      const native = this.env.newCollection(join(this.dir, name), schemaJson(name, schema, this.writer, kept));
      return this.keep(new Collection(name, schema, native, this.collectionOptions(name)));
    } catch (error) {
      throw fromNative(error, name);
    }
  }

  /**
   * Removes a collection with its directory, one that cannot be opened as well; other processes find it gone. For derived
   * data that can be rebuilt. The directory is renamed first: one half removed by a kill would be opened as a damaged
   * collection for ever.
   * @throws OSError where the directory cannot be moved; PermissionError where changes are refused
   */
  discard(name: string): void {
    this.refuseChanges();
    this.forget(this.collections.get(name));
    discardFolder(this.dir, name);
  }

  /** What the folders of collections say, of damaged ones too, without opening them; sorted by name. */
  overview(names: readonly string[] = this.listed()): CollectionOverview[] {
    this.requireUsable();
    return names.map((name) => overviewOf(this.env, this.dir, name)).filter((one) => one !== undefined);
  }

  /** The collection of that name, opened again unless busy; undefined where there is none. */
  reopen(name: string): Collection | undefined {
    const cached = this.collections.get(name);
    if (!cached?.isBusy) this.forget(cached);
    return this.find(name);
  }

  /**
   * Forgets a collection that is not what the folder of its name holds any more, though calls are queued on it: each of
   * them fails. It is closed with the store. Nothing where another object has the name already.
   */
  forget(collection: Collection | undefined): void {
    if (collection === undefined || this.collections.get(collection.name) !== collection) return;
    this.collections.delete(collection.name);
    this.forgotten.add(collection);
  }

  /** The collection of that name if this process has it open, saved or not. */
  held(name: string): Collection | undefined {
    return this.collections.get(name);
  }

  /**
   * Reads every byte of a saved collection, also of one that cannot be opened, and reports all damage.
   * @throws OSError where the files cannot be read, or are of another version; ValueError where nothing was saved
   */
  async checkFiles(name: string, watch?: Watch): Promise<Checked> {
    this.requireUsable();
    checkName(name);
    hasManifest(this.dir, name);
    const native = this.env.collectionAt(join(this.dir, name));
    try {
      return await native.checkFiles(watch);
    } catch (error) {
      if (error instanceof NativeError && error.status === Status.NOT_FOUND) throw absent(this.dir, name);
      throw fromNative(error, name);
    } finally {
      native.close();
    }
  }

  /** How often a save of a collection has failed and dropped staged changes, or may have. */
  lostSavesOf(name: string): number {
    return this.lostSaves.get(name) ?? 0;
  }

  /** Collections of this process that need a save: with staged changes, or created and never saved. */
  unsaved(): Collection[] {
    return [...this.collections.values()].filter((collection) => collection.hasStaged || !collection.isSaved);
  }

  /**
   * Waits for running changes and closes everything; unsaved changes are dropped. Further calls throw a RuntimeError.
   */
  async close(): Promise<void> {
    this.isClosed = true;
    const until = performance.now() + CLOSING_MS_MAX;
    await this.upkeep?.close(until);
    await this.compactor.close(until);
    const open = [...this.collections.values(), ...this.forgotten];
    await Promise.all(open.map((collection) => collection.close()));
    this.collections.clear();
    this.forgotten.clear();
  }

  private collectionOptions(name: string): CollectionOptions {
    return {
      dir: join(this.dir, name),
      coordinator: this.coordinator?.covers(name) ? this.coordinator : undefined,
      openAnother: () => this.env.collectionAt(join(this.dir, name)),
      onSaved: (collection) => this.compactor.onSaved(collection as Collection),
      onUsed: (collection) => this.used(collection as Collection),
      // The memory directory is created with the first change, readable by its owner only.
      ensureHome: () => makeDurableDirectory(this.dir),
      onLost: (name) => this.lostSaves.set(name, (this.lostSaves.get(name) ?? 0) + 1),
      inlineScanBytes: this.inlineScanBytes,
      refuseChanges: this.refuseChanges,
    };
  }

  private used(collection: Collection): Collection {
    this.upkeep?.used(collection);
    return collection;
  }

  private keep(collection: Collection): Collection {
    this.collections.set(collection.name, collection);
    return collection;
  }

  private refuseCaseTwin(name: string): void {
    const twin = caseTwin(name, [...this.list(), ...this.collections.keys()]);
    if (twin === undefined) return;
    throw new ValueError(
      `collection ${shown(name)} differs only in case from ${shown(twin)}: use that one or another name`,
    );
  }
}

/** @throws PermissionError where a directory is a copy: a change that the database does not have would be lost */
function refuseCopy(dir: string): void {
  if (!existsSync(join(dir, COPY_MARK))) return;
  throw new PermissionError(
    "this memory directory is a copy of a memory whose log is in a database: name the database with SVC_ENGINE_URL or " +
      "--engine-file to change it",
  );
}

/** The message of what is thrown; undefined where nothing is. */
export function refusalOf(refuse: () => void): string | undefined {
  try {
    refuse();
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

function namesWith(folders: ReadonlyMap<string, FolderState>, ...states: readonly FolderState[]): string[] {
  return [...folders].filter(([, state]) => states.includes(state)).map(([name]) => name);
}

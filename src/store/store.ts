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
import { OSError, RuntimeError, ValueError } from "../errors.ts";
import { Collection } from "./collection.ts";
import { type CompactionOptions, Compactor } from "./compactor.ts";
import { caseTwin, hasFolder, hasManifest, refuseTaken, savedIn, statesIn } from "./directory.ts";
import { fromNative } from "./failure.ts";
import { type FolderSite, gone, withFolderLock } from "./folder-lock.ts";
import { absent, type FolderState, isRemainder, stateOf } from "./folder-state.ts";
import { discardFolder, renameFolder, taken } from "./folders.ts";
import { type CollectionOverview, overviewOf } from "./overview.ts";
import {
  completeSchema,
  type Kept,
  parseManifest,
  type Schema,
  type SchemaInput,
  schemaDifference,
  schemaJson,
} from "./schema.ts";
import { exchangeFolders } from "./stages.ts";
import type { CollectionOptions } from "./writer.ts";

/** Queries that scan more bytes of codes than this run on a worker: on the event loop they would delay other calls. */
const INLINE_SCAN_BYTES = 16 * 1024 * 1024;

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
  /** Lost saves by name, kept when a collection is reopened. */
  private readonly lost = new Map<string, number>();
  /** Set when `close` begins. */
  private isClosed = false;
  private readonly compactor: Compactor;

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
  ) {
    this.compactor = new Compactor(compaction);
  }

  /** Another memory directory of the same environment, in which nothing is compacted by itself or refused. */
  at(dir: string): Store {
    return new Store(dir, this.env, this.writer, this.inlineScanBytes);
  }

  /** @throws where a change is refused */
  readonly refuseChanges = (): void => this.guards.refuseChanges?.();

  /** @throws where use is refused, or after `close`: a collection opened then would never be closed. */
  requireUsable(): void {
    this.guards.refuseUse?.();
    if (this.isClosed) throw new RuntimeError("this store is closed: open the memory directory again");
  }

  /** Why changes are refused; undefined where they are not. */
  get refusal(): string | undefined {
    try {
      this.refuseChanges();
      return undefined;
    } catch (error) {
      return (error as Error).message;
    }
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
    const isSaved = hasManifest(this.dir, name);
    const cached = this.collections.get(name);
    // The disk decides: the directory may be gone, or another process may have saved a collection that is new here, or
    // has put another one in its place. A busy one is kept in any case: its first save is on disk before `isSaved` is
    // set, and staged changes would be lost with the object. Where the directory is gone, the save fails.
    if (cached?.isBusy || (cached?.isSaved === isSaved && (!isSaved || cached.isThere))) return cached;
    if (cached) this.forget(cached);
    // A folder without a manifest is opened too: where that was lost, the collection is damaged and its name not free.
    if (!isSaved && !existsSync(join(this.dir, name))) return undefined;
    // On a file system that folds case, another spelling would open the same directory.
    if (isSaved && !this.list().includes(name)) return undefined;
    try {
      const native = this.env.openCollection(join(this.dir, name));
      return this.keep(new Collection(name, parseManifest(native.manifest()), native, this.collectionOptions(name)));
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
    return cached?.isSaved ? cached : undefined;
  }

  /** Waits for another process to end its first save of a collection, where it is at one. @throws TimeoutError */
  async firstSave(name: string, signal?: AbortSignal): Promise<void> {
    this.requireUsable();
    const isBegun = !this.collections.has(name) && stateOf(join(this.dir, checkName(name))) === "begun";
    if (isBegun) await withFolderLock(this.site(name, signal), () => {});
  }

  /** The collection of that name; a ValueError where there is none. */
  open(name: string): Collection {
    const found = this.find(name);
    if (!found) throw absent(this.dir, name);
    return found;
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

  /**
   * A new collection, in memory until its first save, in a directory that has none of its name.
   * @param kept what is to be kept of another one's manifest
   */
  createLike(name: string, schema: Schema, kept?: Kept): Collection {
    try {
      const native = this.env.newCollection(join(this.dir, name), schemaJson(name, schema, this.writer, kept));
      return this.keep(new Collection(name, schema, native, this.collectionOptions(name)));
    } catch (error) {
      throw fromNative(error, name);
    }
  }

  /**
   * Works on a collection while no other process can change it, and puts another one in its place, or leaves it.
   * @param work makes that in a stage; resolves to its folder, or to undefined for nothing to change
   * @param remedy what else leads there where the file system cannot exchange two folders, for the error
   * @param waitMs how long another process's change is waited for at most
   * @returns whether there is another one
   * @throws ValueError where there is none; TimeoutError that names who has unsaved changes
   */
  async replace(
    name: string,
    remedy: string,
    work: () => Promise<string | undefined>,
    signal?: AbortSignal,
    waitMs?: number,
  ): Promise<boolean> {
    this.refuseChanges();
    this.refuseStaged(name);
    return withFolderLock({ ...this.site(name, signal), waitMs }, async () => {
      const staged = await work();
      if (staged === undefined) return false;
      signal?.throwIfAborted();
      exchangeFolders(staged, this.dir, name, remedy);
      const held = this.collections.get(name);
      if (held) this.forget(held);
      return true;
    });
  }

  /**
   * Forgets a collection whose files are those of another schema now, though calls are queued on it: each of them fails.
   * Nothing is staged on it, as that would have kept the lock.
   */
  forgetAltered(collection: Collection): void {
    if (this.collections.get(collection.name) === collection) this.forget(collection);
  }

  /** Forgets a collection that was created here and never saved; a change still in its queue may save it after all. */
  forgetUnsaved(collection: Collection): void {
    if (!collection.isSaved && this.collections.get(collection.name) === collection) this.forget(collection);
  }

  /**
   * Removes a collection with its directory, one that cannot be opened as well; other processes find it gone. For derived
   * data that can be rebuilt. The directory is renamed first: one half removed by a kill would be opened as a damaged
   * collection for ever.
   * @throws OSError where the directory cannot be moved; PermissionError where changes are refused
   */
  discard(name: string): void {
    this.refuseChanges();
    const cached = this.collections.get(name);
    if (cached) this.forget(cached);
    discardFolder(this.dir, name);
  }

  /**
   * Removes a collection for good, one that cannot be opened or has lost its manifest as well, once other processes'
   * writes of it are done; they find it gone.
   * @throws ValueError where there is none; TimeoutError that names who has unsaved changes; PermissionError; OSError
   */
  async drop(name: string, signal?: AbortSignal): Promise<void> {
    this.refuseChanges();
    this.requireUsable();
    checkName(name);
    hasManifest(this.dir, name); // not of a link
    const cached = this.collections.get(name);
    if (!hasFolder(this.dir, name)) {
      // One that was never saved is in this process only.
      if (cached?.isSaved !== false || cached.isBusy) throw gone(name);
      return this.forget(cached);
    }
    this.refuseStaged(name);
    const folder = join(this.dir, name);
    if (stateOf(folder) === "other" && !isRemainder(folder)) {
      throw new ValueError(`the folder ${shown(name)} has other files than a collection's: remove it by hand`);
    }
    await withFolderLock(this.site(name, signal), () => discardFolder(this.dir, name));
    const held = this.collections.get(name);
    if (held) this.forget(held);
  }

  /**
   * Gives a collection another name, once other processes' writes of it are done; they find it under that one. The
   * manifest has the new name first: a kill between leaves the collection under its old one.
   * @throws ValueError where there is none, or one of the new name; TimeoutError that names who has unsaved changes
   */
  async rename(from: string, to: string, signal?: AbortSignal): Promise<void> {
    this.refuseChanges();
    checkName(to);
    this.refuseStaged(from);
    if (from === to) throw new ValueError(`collection ${shown(from)} has this name already`);
    // Damage does not keep a folder from being renamed: the rest of it may still be of use.
    const collection = this.orDamaged(from);
    if (collection === undefined && !this.present().includes(from)) throw absent(this.dir, from);
    if (collection?.isSaved === false) throw new ValueError(`collection ${shown(from)} was never saved: save it first`);
    this.refuseTaken(to, from);
    const named = (name: string) => collection?.change(async (t) => t.set("name", name), signal);
    await named(to);
    try {
      await withFolderLock(this.site(from, signal), () => {
        this.refuseTaken(to, from);
        renameFolder(this.dir, from, to);
      });
    } catch (error) {
      await named(from)?.catch(() => {});
      throw error;
    }
    if (collection) this.forget(collection);
  }

  /** What the folders of collections say, of damaged ones too, without opening them; sorted by name. */
  overview(names: readonly string[] = this.listed()): CollectionOverview[] {
    this.requireUsable();
    return names.map((name) => overviewOf(this.dir, name)).filter((one) => one !== undefined);
  }

  /** The collection of that name, opened again unless busy; undefined where there is none. */
  reopen(name: string): Collection | undefined {
    const cached = this.collections.get(name);
    if (cached && !cached.isBusy) this.forget(cached);
    return this.find(name);
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

  /** Collections of this process that need a save: with staged changes, or created and never saved. */
  unsaved(): Collection[] {
    return [...this.collections.values()].filter((collection) => collection.hasStaged || !collection.isSaved);
  }

  /** Failed saves of the collection's staged changes since this process began; each dropped them, or may have. */
  lostSaves(name: string): number {
    return this.lost.get(name) ?? 0;
  }

  /** A copy of the lost saves of all collections, by name. */
  lostByCollection(): Map<string, number> {
    return new Map(this.lost);
  }

  /** The sum of lost saves over all collections. */
  get lostSavesTotal(): number {
    return [...this.lost.values()].reduce((sum, count) => sum + count, 0);
  }

  /**
   * Waits for running changes and closes everything; unsaved changes are dropped. Further calls throw a RuntimeError.
   */
  async close(): Promise<void> {
    this.isClosed = true;
    await this.compactor.close();
    const open = [...this.collections.values(), ...this.forgotten];
    await Promise.all(open.map((collection) => collection.close()));
    this.collections.clear();
    this.forgotten.clear();
  }

  private forget(collection: Collection): void {
    this.collections.delete(collection.name);
    this.forgotten.add(collection);
  }

  private collectionOptions(name: string): CollectionOptions {
    return {
      dir: join(this.dir, name),
      onSaved: (collection) => this.compactor.onSaved(collection),
      // The memory directory is created with the first change, readable by its owner only.
      ensureHome: () => makeDurableDirectory(this.dir),
      onLost: (name) => this.lost.set(name, this.lostSaves(name) + 1),
      inlineScanBytes: this.inlineScanBytes,
      refuseChanges: this.refuseChanges,
    };
  }

  private keep(collection: Collection): Collection {
    this.collections.set(collection.name, collection);
    return collection;
  }

  /** The collection of that name; undefined where there is none that can be opened. */
  private orDamaged(name: string): Collection | undefined {
    try {
      return this.find(name);
    } catch (error) {
      if (error instanceof OSError && (error.reason === "damaged" || error.reason === "other_version"))
        return undefined;
      throw error;
    }
  }

  private site(name: string, signal: AbortSignal | undefined): FolderSite {
    return { env: this.env, dir: this.dir, name, signal };
  }

  private refuseStaged(name: string): void {
    if (!this.collections.get(name)?.hasStaged) return;
    throw new ValueError(`collection ${shown(name)} has unsaved changes in this process: save them first`);
  }

  /** @throws ValueError where another collection, or a folder, has a name, or one that differs in case only */
  private refuseTaken(name: string, of: string): void {
    if (this.collections.has(name)) throw taken(name);
    refuseTaken(this.dir, name, of);
  }

  private refuseCaseTwin(name: string): void {
    const twin = caseTwin(name, [...this.list(), ...this.collections.keys()]);
    if (twin === undefined) return;
    throw new ValueError(
      `collection ${shown(name)} differs only in case from ${shown(twin)}: use that one or another name`,
    );
  }
}

function namesWith(folders: ReadonlyMap<string, FolderState>, ...states: readonly FolderState[]): string[] {
  return [...folders].filter(([, state]) => states.includes(state)).map(([name]) => name);
}

/** A memory directory in this process: what the SDK opens and `svc serve` serves. */
import type { Kernel } from "../../ffi/ame_kernel.ts";
import { buildInfo } from "../build-info.ts";
import { optional, readCreateOptions } from "../checks/create-options.ts";
import { readFlag, wrongType } from "../checks/kinds.ts";
import { readString } from "../checks/strings.ts";
import { ValueError } from "../errors.ts";
import { type Env, memoryPath } from "../paths.ts";
import type { Native } from "../runtime/libraries.ts";
import { verifiedNative } from "../runtime/libraries.ts";
import { Store } from "../store/store.ts";
import type { Embedder } from "../texts/embedder.ts";
import { type EmbedderSource, Embedders } from "../texts/embedders.ts";
import type { CreateOptions, StoreApi } from "./api.ts";
import { LocalCollection } from "./local-collection.ts";

/** How to open a memory directory. */
export interface OpenOptions {
  /** Environment variables that say where things are (`SVC_HOME`, `SVC_MEMORY_PATH`); the process's own by default. */
  env?: Env | undefined;
  /** Called with what a person should know though nothing fails: a licence about to expire. */
  warn?: ((line: string) => void) | undefined;
}

/** What only a collection of this process can be created with. */
export interface LocalCreateOptions extends Omit<CreateOptions, "embedder"> {
  /** A registered embedder's name, or an embedder of your own; it is registered under its model id. */
  embedder?: string | Embedder | undefined;
  /** Keep the words of texts, so that `buildLexical` can index them (false). */
  lexical?: boolean | undefined;
}

/**
 * The collections under one directory. Several processes may have it open: they see each other's saves, and one at a time writes to a
 * collection.
 */
export class LocalStore implements StoreApi<LocalCollection> {
  /** The native kernel, for `new MultigramEmbedder(store.kernel)`. */
  readonly kernel: Kernel;
  private readonly embedders: Embedders;
  private readonly store: Store;
  private readonly storeAt: (dir: string) => Store;

  /** Made by `open`; tests and the server hand in libraries of their own. */
  constructor(dir: string, native: Native, version: string, inlineScanBytes?: number) {
    this.kernel = native.kernel;
    this.storeAt = (other) => new Store(other, native.env, version, inlineScanBytes);
    this.store = this.storeAt(dir);
    this.embedders = new Embedders(native.kernel);
  }

  /**
   * Opens a memory directory (`SVC_MEMORY_PATH`, else `memory` under `SVC_HOME`, where none is named). It need not exist yet.
   * @throws PermissionError if `svc login` was not done; RuntimeError if the native runtime is missing or not verified
   */
  static async open(path?: string, options: OpenOptions = {}): Promise<LocalStore> {
    const native = await verifiedNative(options);
    return new LocalStore(memoryPath(path, options.env), native, buildInfo().version);
  }

  /** Makes an embedder known by name, and to collections that were created with it. @throws ValueError for a name that is taken */
  registerEmbedder(name: string, source: EmbedderSource): void {
    this.embedders.register(name, source);
  }

  /**
   * A new collection, in memory until its first `save`; the existing one where everything agrees.
   * @throws ValueError for a name, a schema or an embedder that is not good, or an existing collection that differs; TypeError for what is of
   * another type
   */
  async createCollection(name: string, options: LocalCreateOptions): Promise<LocalCollection> {
    readString(name, "name");
    const given = { ...readCreateOptions(options), lexical: optional(options.lexical, "lexical", readFlag) };
    const embedder = await this.embedderOf(options.embedder);
    // Beside an embedder dim is a hint: callers write down a number that only the kernel knows.
    const dim = embedder?.profile.dimension ?? given.dim;
    if (dim === undefined) throw new ValueError("a new collection needs dim, or an embedder that knows it");
    this.store.create(name, { ...given, dim, embedderProfile: embedder?.profile ?? null });
    return this.handle(name);
  }

  /** A collection that exists, saved or created here. @throws ValueError where it does not; OSError where it is damaged */
  async openCollection(name: string): Promise<LocalCollection> {
    return this.collection(name);
  }

  /** The same without a promise. @throws ValueError for a collection that does not exist */
  collection(name: string): LocalCollection {
    readString(name, "name");
    this.store.open(name);
    return this.handle(name);
  }

  /** A handle without a look whether the collection exists: whatever is done with it finds out. */
  handle(name: string): LocalCollection {
    return new LocalCollection(name, this.store, this.embedders, this.storeAt);
  }

  async collections(): Promise<string[]> {
    return this.store.list();
  }

  /** Names of the collections with something to save: changes, or created and never saved. */
  unsaved(): string[] {
    return this.store.unsaved().map((collection) => collection.name);
  }

  /** Saves of unsaved changes that failed since this process began, over all collections; each dropped what was unsaved. */
  get lostSaves(): number {
    return this.store.lostSavesTotal;
  }

  /** The same by collection, as it is now. */
  lostByCollection(): ReadonlyMap<string, number> {
    return this.store.lostByCollection();
  }

  /**
   * Saves every collection that has something to save. One that fails does not keep the others from it.
   * @returns the failures, by collection
   */
  async saveAll(): Promise<Map<string, unknown>> {
    const failures = new Map<string, unknown>();
    await Promise.all(
      this.store
        .unsaved()
        .map((collection) => collection.save().catch((error) => failures.set(collection.name, error))),
    );
    return failures;
  }

  /** Waits for what is under way and closes. Changes that were not saved are dropped. */
  async close(): Promise<void> {
    await this.store.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  private async embedderOf(given: string | Embedder | undefined): Promise<Embedder | undefined> {
    if (given === undefined || given === null) return undefined;
    if (typeof given === "string") return this.embedders.named(given);
    if (typeof given !== "object") throw wrongType("embedder", "a name or an embedder", given);
    this.embedders.adopt(given);
    return given;
  }
}

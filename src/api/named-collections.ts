/** The collections of a store by their names: of a memory directory, or those that a limited view of it presents. */
import { readCreateOptions } from "../checks/create-options.ts";
import { optional, readFlag, wrongType } from "../checks/kinds.ts";
import { readString } from "../checks/strings.ts";
import { ValueError } from "../errors.ts";
import type { StoreView } from "../store/limited/view.ts";
import type { Embedder } from "../texts/embedder.ts";
import type { Embedders } from "../texts/embedders.ts";
import type { SentenceEncoder } from "../texts/meaning/encoder.ts";
import type { CreateOptions } from "./api.ts";
import type { Following } from "./generations.ts";
import { LocalCollection } from "./local-collection.ts";

/** Properties of a new collection in this process. */
export interface LocalCreateOptions extends Omit<CreateOptions, "embedder"> {
  /** A registered embedder's name, or an embedder of your own; it is registered under its model id. */
  embedder?: string | Embedder | undefined;
  /** Keep the terms of texts, so that `buildLexical` can index them (false). */
  lexical?: boolean | undefined;
}

/** What `LocalStore` and its limited views have in common; `LocalStore` says what each method throws. */
export class NamedCollections {
  constructor(
    /** The collections themselves, for the verbs of `src/memory` over this store. */
    readonly shared: StoreView,
    private readonly embedders: Embedders,
    /** The sentence encoder. */
    readonly encoder: SentenceEncoder,
    /** Where a database has the memory's log. */
    readonly following?: Following | undefined,
  ) {}

  /** A new collection, in memory until its first `save`; the existing one where everything agrees. */
  async createCollection(name: string, options: LocalCreateOptions): Promise<LocalCollection> {
    readString(name, "name");
    const given = { ...readCreateOptions(options), lexical: optional(options.lexical, "lexical", readFlag) };
    const embedder = await this.embedderOf(options.embedder);
    // Beside an embedder dim is a hint: only the kernel knows the number.
    const dim = embedder?.profile.dimension ?? given.dim;
    if (dim === undefined) throw new ValueError("a new collection needs dim, or an embedder that knows it");
    this.shared.create(name, { ...given, dim, embedderProfile: embedder?.profile ?? null });
    return this.handle(name);
  }

  /** A collection, saved or created here. */
  collection(name: string): LocalCollection {
    readString(name, "name");
    this.shared.open(name);
    return this.handle(name);
  }

  /** A handle that is not checked: its methods fail where the collection does not exist. */
  handle(name: string): LocalCollection {
    return new LocalCollection(name, this.shared, this.embedders, this.encoder, this.following);
  }

  /** Names of the saved collections, sorted. */
  async collections(): Promise<string[]> {
    return this.shared.list();
  }

  private async embedderOf(given: string | Embedder | undefined): Promise<Embedder | undefined> {
    if (given === undefined || given === null) return undefined;
    if (typeof given === "string") return this.embedders.named(given);
    if (typeof given !== "object") throw wrongType("embedder", "a name or an embedder", given);
    this.embedders.adopt(given);
    return given;
  }
}

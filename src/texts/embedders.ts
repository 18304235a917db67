/** Finds embedders by name, and by a collection's stored profile. */
import type { Kernel } from "../../ffi/ame_kernel.ts";
import { shown } from "../checks/kinds.ts";
import { ValueError } from "../errors.ts";
import { type Embedder, type EmbedderProfile, spaceId } from "./embedder.ts";
import { BigramEmbedder, MultigramEmbedder } from "./kernel.ts";
import type { SentenceEncoder } from "./meaning/encoder.ts";
import { SENTENCE, SentenceEmbedder } from "./sentence.ts";

/** An embedder, or a function that opens one on first use. */
export type EmbedderSource = Embedder | (() => Promise<Embedder>);

/** Embedders by name; `multigram`, `bigram` and `sentence` are built in. */
export class Embedders {
  private readonly sources = new Map<string, EmbedderSource>();

  constructor(kernel: Kernel, encoder: SentenceEncoder) {
    this.sources.set("multigram", new MultigramEmbedder(kernel, encoder));
    this.sources.set("bigram", new BigramEmbedder(kernel));
    this.sources.set(SENTENCE, () => SentenceEmbedder.open({ encoder }));
  }

  /** @throws ValueError for a name that is taken */
  register(name: string, source: EmbedderSource): void {
    if (this.sources.has(name))
      throw new ValueError(`an embedder called ${shown(name)} exists already: choose another name`);
    this.sources.set(name, source);
  }

  /** Registers an embedder for the collections that it created, under its model id where that is free. */
  adopt(embedder: Embedder): void {
    const space = spaceId(embedder.profile);
    for (const source of this.sources.values()) {
      if (typeof source !== "function" && spaceId(source.profile) === space) return;
    }
    const { model_id } = embedder.profile;
    this.sources.set(this.sources.has(model_id) ? `${model_id} ${space}` : model_id, embedder);
  }

  /** @throws ValueError for an unknown name */
  async named(name: string): Promise<Embedder> {
    const source = this.sources.get(name);
    if (source) return this.resolve(name, source);
    const known = [...this.sources.keys()].map(shown).join(", ");
    throw new ValueError(`there is no embedder called ${shown(name)}; there are ${known}`);
  }

  /**
   * The embedder that made a collection's vectors, by its space id.
   * @throws ValueError where the collection has no embedder, or none with its profile is registered
   */
  async attached(collection: string, profile: object | null): Promise<Embedder> {
    if (profile === null) {
      throw new ValueError(
        `collection ${shown(collection)} was created without an embedder: it takes vectors, not texts`,
      );
    }
    const wanted = spaceId(profile as EmbedderProfile);
    // Open embedders first: opening others may need a connection. The sentence encoder is read for its own vectors only.
    const isSentence = (profile as EmbedderProfile).model_id === SENTENCE;
    const sources = [...this.sources]
      .filter(([name]) => name !== SENTENCE || isSentence)
      .sort(([, a], [, b]) => Number(typeof a === "function") - Number(typeof b === "function"));
    let failure: unknown;
    for (const [name, source] of sources) {
      try {
        const embedder = await this.resolve(name, source);
        if (spaceId(embedder.profile) === wanted) return embedder;
      } catch (error) {
        failure = error;
      }
    }
    if (failure) throw failure;
    const { model_id, model_version } = profile as EmbedderProfile;
    throw new ValueError(
      `collection ${shown(collection)} was embedded by ${model_id} version ${model_version} (${wanted}), ` +
        "but no embedder here makes such vectors: register that embedder, or export the collection and import it into a new one",
    );
  }

  private async resolve(name: string, source: EmbedderSource): Promise<Embedder> {
    if (typeof source !== "function") return source;
    const embedder = await source();
    this.sources.set(name, embedder);
    return embedder;
  }
}

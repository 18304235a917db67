/** The sentence encoder as an embedder: vectors that compare what English texts mean, for programs of one's own. */
import { ENCODING_DIM, type SentenceModel } from "../../ffi/ame_kernel.ts";
import type { Embedder, EmbedderProfile } from "./embedder.ts";
import type { SentenceEncoder } from "./meaning/encoder.ts";

/** Its model id. */
export const SENTENCE = "sentence";
/** After the text during which this time has passed, the event loop runs. */
const SLICE_MS = 8;

/**
 * The encoder behind searches by meaning, model id `sentence`: 128 dimensions, of unit length. It reads the
 * first 200 words or so of a text, and knows English only. `open` makes one.
 */
export class SentenceEmbedder implements Embedder {
  readonly profile: EmbedderProfile;

  private constructor(private readonly model: SentenceModel) {
    this.profile = {
      provider: "svc",
      model_id: SENTENCE,
      model_version: "1",
      dimension: ENCODING_DIM,
      dtype: "f32",
      normalization: "l2",
      distance: "inner_product",
      pooling: "mean",
      tokenizer_hash: model.id,
      projection_version: "1",
    };
  }

  /**
   * Opens the embedder; a store has the encoder.
   * @throws RuntimeError where this build of svc has no sentence encoder, or its model does not verify
   */
  static async open(store: { readonly encoder: SentenceEncoder }): Promise<SentenceEmbedder> {
    return new SentenceEmbedder(await store.encoder.model());
  }

  async embedDocuments(texts: readonly string[], signal?: AbortSignal): Promise<Float32Array> {
    const out = new Float32Array(texts.length * ENCODING_DIM);
    let sliceStart = performance.now();
    for (const [i, text] of texts.entries()) {
      this.model.encode(text, out.subarray(i * ENCODING_DIM, (i + 1) * ENCODING_DIM));
      if (performance.now() - sliceStart < SLICE_MS) continue;
      await Bun.sleep(0);
      signal?.throwIfAborted();
      sliceStart = performance.now();
    }
    return out;
  }

  /** Encodes questions as documents are: both are in one space. */
  embedQueries(texts: readonly string[], signal?: AbortSignal): Promise<Float32Array> {
    return this.embedDocuments(texts, signal);
  }
}

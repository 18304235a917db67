/** The embedders of the kernel: words, stems and character n-grams, hashed. No model file, no download. */
import { type Kernel, Model, type ModelCode, Role, type RoleCode } from "../../ffi/ame_kernel.ts";
import { TEXT_EMBED_BYTES_MAX } from "../limits.ts";
import type { Embedder, EmbedderProfile } from "./embedder.ts";
import type { SentenceEncoder } from "./meaning/encoder.ts";

/** UTF-16 units embedded between two turns of the event loop: about 5 ms of kernel time. */
const UNITS_PER_TURN = 256 * 1024;

/** A hashed embedder of the kernel, which defines its dimension and version. */
class KernelEmbedder implements Embedder {
  readonly profile: EmbedderProfile;
  readonly weightedQueries = true;

  constructor(
    private readonly kernel: Kernel,
    readonly kernelModel: ModelCode,
    modelId: string,
  ) {
    this.profile = {
      provider: "svc",
      model_id: modelId,
      model_version: String(kernel.embedVersion(kernelModel)),
      dimension: kernel.embedDim(kernelModel),
      dtype: "f32",
      normalization: "l2",
      distance: "inner_product",
      pooling: "sum",
      tokenizer_hash: `${modelId}-${kernel.embedVersion(kernelModel)}`,
      projection_version: "1",
    };
  }

  embedDocuments(texts: readonly string[], signal?: AbortSignal): Promise<Float32Array> {
    return this.embed(Role.DOCUMENT, texts, signal);
  }

  embedQueries(texts: readonly string[], signal?: AbortSignal): Promise<Float32Array> {
    return this.embed(Role.QUERY, texts, signal);
  }

  private async embed(role: RoleCode, texts: readonly string[], signal?: AbortSignal): Promise<Float32Array> {
    const { dimension } = this.profile;
    const out = new Float32Array(texts.length * dimension);
    for (let start = 0; start < texts.length; ) {
      const part: string[] = [];
      let units = 0;
      while (start + part.length < texts.length && units < UNITS_PER_TURN) {
        const text = embedded(texts[start + part.length]!);
        part.push(text);
        units += text.length;
      }
      const rows = out.subarray(start * dimension, (start + part.length) * dimension);
      this.kernel.embed(this.kernelModel, role, part, rows);
      start += part.length;
      if (start < texts.length) await Bun.sleep(0);
      signal?.throwIfAborted();
    }
    return out;
  }
}

/** The default embedder, model id `multigram`. */
export class MultigramEmbedder extends KernelEmbedder {
  /** @param encoder with it collections of this embedder are searched by meaning as well */
  constructor(
    kernel: Kernel,
    readonly encoder?: SentenceEncoder,
  ) {
    super(kernel, Model.MULTIGRAM, "multigram");
  }
}

/** A smaller, faster and less precise one: words and character bigrams, model id `bigram`. */
export class BigramEmbedder extends KernelEmbedder {
  constructor(kernel: Kernel) {
    super(kernel, Model.BIGRAM, "bigram");
  }
}

/** The part of a text that is embedded: its first bytes up to the limit, cut between characters. */
function embedded(text: string): string {
  if (text.length * 3 <= TEXT_EMBED_BYTES_MAX) return text;
  const bytes = Buffer.from(text);
  if (bytes.length <= TEXT_EMBED_BYTES_MAX) return text;
  let end = TEXT_EMBED_BYTES_MAX;
  while ((bytes[end]! & 0xc0) === 0x80) end--;
  return bytes.toString("utf8", 0, end);
}

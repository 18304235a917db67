/** An embedder from a caller's function: a model in this process, or one behind an address. */

import { shown, wrongType } from "../checks/kinds.ts";
import { DIM, readNumber } from "../checks/numbers.ts";
import { readString } from "../checks/strings.ts";
import { checkFinite, readMatrix } from "../checks/vectors.ts";
import { ValueError } from "../errors.ts";
import type { Embedder, EmbedderProfile } from "./embedder.ts";

/** What a function may return: one vector a text, or all of them as one row-major matrix. */
export type EmbeddedTexts = Float32Array | readonly (Float32Array | readonly number[])[];

/**
 * Turns texts into vectors, one of `dimension` finite numbers a text, in their order. It gets all texts of a call at
 * once, whole, and never none: split or shorten them for a model that takes less. `signal` is aborted when the caller
 * cancels.
 */
export type EmbedFunction = (texts: readonly string[], signal?: AbortSignal) => Promise<EmbeddedTexts> | EmbeddedTexts;

/** Properties of a function. Two embedders that agree in all of them are taken to make comparable vectors. */
export interface CallableOptions {
  /** Name of the model; a collection remembers it. */
  modelId: string;
  /** Numbers in a vector, 1 to 65,536. */
  dimension: number;
  /** Changes whenever the same text would get another vector ("1"). */
  modelVersion?: string | undefined;
  /** Another function for queries, where the model embeds them differently from documents. */
  queries?: EmbedFunction | undefined;
  /** Divide each vector by its length, so that inner products are cosines (false). A vector of zeros stays as it is. */
  normalize?: boolean | undefined;
}

/** An `Embedder` around a function. Errors of the function reach the caller unchanged, and nothing is written then. */
export class CallableEmbedder implements Embedder {
  readonly profile: EmbedderProfile;
  private readonly queries: EmbedFunction;
  private readonly normalize: boolean;

  /**
   * @throws ValueError for an empty model id or version, or a dimension outside its range; TypeError for another type
   */
  constructor(
    private readonly documents: EmbedFunction,
    { modelId, dimension, modelVersion = "1", queries = documents, normalize = false }: CallableOptions,
  ) {
    for (const given of [documents, queries]) {
      if (typeof given !== "function") throw wrongType("an embedder", "a function", given);
    }
    if (readString(modelId, "modelId") === "") throw new ValueError("modelId is empty: name the model");
    if (readString(modelVersion, "modelVersion") === "") throw new ValueError("modelVersion is empty: give it one");
    readNumber(dimension, "dimension", DIM);
    this.queries = queries;
    this.normalize = normalize;
    this.profile = {
      provider: "callable",
      model_id: modelId,
      model_version: modelVersion,
      dimension,
      dtype: "f32",
      normalization: normalize ? "l2" : "none",
      distance: "inner_product",
      pooling: "callable",
      tokenizer_hash: "callable",
      projection_version: "1",
    };
  }

  /**
   * @returns row by row, `dimension` floats a text. @throws ValueError, TypeError for another result of the function
   */
  embedDocuments(texts: readonly string[], signal?: AbortSignal): Promise<Float32Array> {
    return this.embed(this.documents, texts, signal);
  }

  /** The same with the function for queries. */
  embedQueries(texts: readonly string[], signal?: AbortSignal): Promise<Float32Array> {
    return this.embed(this.queries, texts, signal);
  }

  private async embed(
    work: EmbedFunction,
    texts: readonly string[],
    signal: AbortSignal | undefined,
  ): Promise<Float32Array> {
    if (texts.length === 0) return new Float32Array(0);
    signal?.throwIfAborted();
    const result = await work(texts, signal);
    signal?.throwIfAborted();
    const { model_id, dimension } = this.profile;
    const matrix = toMatrix(result, texts.length, dimension, `embedder ${shown(model_id)}: vectors`);
    if (this.normalize) normalizeRows(matrix, dimension);
    return matrix;
  }
}

/** A copy where needed: the function may use its buffer again. */
function toMatrix(result: EmbeddedTexts, texts: number, dim: number, name: string): Float32Array {
  const { floats, count } = readMatrix(result, name, dim);
  if (count !== texts) {
    const rows = count === 1 ? "1 row" : `${count} rows`;
    throw new ValueError(`${name} has ${rows} for ${texts} texts: return one for each text`);
  }
  checkFinite(floats, name, dim);
  return floats === result ? floats.slice() : floats;
}

function normalizeRows(matrix: Float32Array, dimension: number): void {
  for (let at = 0; at < matrix.length; at += dimension) {
    const row = matrix.subarray(at, at + dimension);
    let squares = 0;
    for (const number of row) squares += number * number;
    const length = Math.sqrt(squares);
    if (length > 0)
      row.forEach((number, i) => {
        row[i] = number / length;
      });
  }
}

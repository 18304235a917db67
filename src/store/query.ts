/** Questions to a collection, and their form for the native side. */
import type { ModelCode } from "../../ffi/ame_kernel.ts";
import { By, type NativeQuestion } from "../../ffi/ty_reader.ts";
import { checkDim } from "../checks/vectors.ts";
import type { Condition } from "../checks/where.ts";
import { type Detail, toWhat } from "./answer.ts";
import { checkLabels } from "./pack.ts";

/** Conditions and bounds of a search. */
export interface SearchOptions extends Detail {
  topK: number;
  where?: Condition | undefined;
  /** A second condition: rows whose value in the column is this text, or begins with it and a slash. */
  under?: { column: string; value: string } | undefined;
  /** 1 is exact; below 1 an IVF index may be used; absent: the collection's default. */
  targetRecall?: number | undefined;
  /**
   * Divide the query's elements by their mean squares over the live rows and scale it to unit length, as
   * `Embedder.weightedQueries` requires. Inner-product collections only.
   */
  weighted?: boolean | undefined;
}

/** A query, for `Collection.ask`. */
export interface Question {
  /**
   * The ranking; `both`: fused where there is a lexical index, by vector alone where it is damaged or there is none.
   */
  by: "vector" | "words" | "both";
  /** A vector of the collection's dimension. Absent: the kernel's `model` embeds the text. */
  vector?: Float32Array | undefined;
  model?: ModelCode | undefined;
  text?: string | undefined;
  /** Weight of the ranking by vector in a fused one, 0 to 1; the one by words has the rest. */
  denseWeight?: number | undefined;
  /** Labels (`Rows.labels`) to rank by beside the text, by words or both. Those that no row has are ignored. */
  labels?: readonly string[] | undefined;
  /** A label counts so many times its rarity, above 0 to a million. */
  labelShare?: number | undefined;
  /** Rank by meaning as well, where `by` is "both" and rows have vectors of meaning. */
  meaning?: boolean | undefined;
}

const BY = { vector: By.VECTOR, words: By.WORDS, both: By.BOTH } as const;

/** A query for the native side, without its conditions. @throws ValueError */
export function toQuestion(
  question: Question,
  options: SearchOptions,
  dim: number,
): Omit<NativeQuestion, "filter" | "under"> {
  const { by, vector, model, text, denseWeight = 0, labels, labelShare = 1, meaning = false } = question;
  const { topK, targetRecall = 0, weighted = false } = options;
  if (vector) checkDim(vector.length, "vector", dim);
  if (labels) checkLabels(labels);
  const words = { text, labels, labelShare, denseWeight, meaning };
  return { by: BY[by], vector, ...words, model, topK, targetRecall, weighted, what: toWhat(options) };
}

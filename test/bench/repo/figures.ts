/** Figures of answers about trees, as the JSON has them. */
import type { Marks } from "./score.ts";

/** The ways to ask: ten files and five in the default form, and five with whole windows. */
export const WAYS = {
  ten: { top_k: 10 },
  five: { top_k: 5 },
  windows: { top_k: 5, with_text: true },
} as const;
export type Way = keyof typeof WAYS;

/** How long the answers of one way are, and what they hold. */
export interface Size {
  /** Tokens of an answer; undefined where there is no tokeniser. */
  tokens?: { mean: number; p95: number } | undefined;
  bytes: { mean: number; p95: number; most: number };
  /** Of the questions about a definition, the share of those whose answer holds the defining line. */
  line: number;
}

/** Figures of one tree. */
export interface TreeQuality {
  name: string;
  files: number;
  /** Ids of the questions, their kinds, and their marks in their order. */
  ids: string[];
  kinds: string[];
  each: Record<keyof Marks, number[]>;
  /** Questions about a definition. */
  definitions: number;
  sizes: Record<Way, Size>;
}

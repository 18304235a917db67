/** What stands behind `npm run bench -- text`. */
import { type Asked, peersOf, wholeNumber } from "../options.ts";

/** What it may be measured beside. */
export const TEXT_PEERS = ["fts5", "lancedb"] as const;

/** How to run. */
export interface TextOptions {
  peers: string[];
  /** Passages at most. */
  passages: number;
  /** Where the figures go as JSON. */
  json?: string | undefined;
  /** Whether every figure is to be a line. */
  isJson: boolean;
}

/** Its options. */
export const TEXT_OPTIONS = ["--peers", "--passages", "--json"] as const;

const PASSAGES = 100_000;

/** @throws Error with a sentence for the person who typed */
export function textOptions({ given, isJson }: Pick<Asked, "given" | "isJson">): TextOptions {
  const peers = peersOf(given, TEXT_PEERS) ?? [...TEXT_PEERS];
  const passages = wholeNumber(given, "--passages", 1000) ?? PASSAGES;
  return { peers, passages, json: given.get("--json"), isJson };
}

/** Options of `npm run bench -- text`. */
import { type ParsedArguments, peersOf, wholeNumber } from "../options.ts";

/** Names of the peers. */
export const TEXT_PEERS = ["fts5", "lancedb"] as const;

/** How to run. */
export interface TextOptions {
  peers: string[];
  /** Passages at most. */
  passages: number;
  /** JSON file of the figures. */
  json?: string | undefined;
  /** Whether every figure is printed as a line. */
  isJson: boolean;
}

/** Its options. */
export const TEXT_OPTIONS = ["--peers", "--passages", "--json"] as const;

const PASSAGES = 100_000;

/** @throws Error with a sentence for the user */
export function textOptions({ given, isJson }: Pick<ParsedArguments, "given" | "isJson">): TextOptions {
  const peers = peersOf(given, TEXT_PEERS) ?? [...TEXT_PEERS];
  const passages = wholeNumber(given, "--passages", 1000) ?? PASSAGES;
  return { peers, passages, json: given.get("--json"), isJson };
}

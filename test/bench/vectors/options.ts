/** What stands behind `npm run bench -- vectors`. */
import { listOf, peersOf, wholeNumber } from "../options.ts";
import { PEERS } from "./peers/peers.ts";
import { SETS } from "./sets.ts";

/** How to run. */
export interface VectorOptions {
  peers: string[];
  /** Names of made sets, `fashion-mnist`, or paths. */
  data: string[];
  /** Whether somebody asked for these sets: then one that cannot be had is a failure, not a note. */
  isNamed: boolean;
  /** Where the figures go as JSON. */
  json?: string | undefined;
  /** Where the plot goes. */
  svg?: string | undefined;
  /** Rows at most of each set, to try things out. */
  rows?: number | undefined;
}

/** Its options. */
export const VECTOR_OPTIONS = ["--peers", "--data", "--json", "--svg", "--rows"] as const;

/** @throws Error with a sentence for the person who typed */
export function vectorOptions(given: ReadonlyMap<string, string>): VectorOptions {
  const peers = peersOf(given, Object.keys(PEERS)) ?? [];
  const rows = wholeNumber(given, "--rows", 1000);
  const data = listOf(given, "--data");
  return { peers, data: data ?? SETS, isNamed: !!data, json: given.get("--json"), svg: given.get("--svg"), rows };
}

/** Options of `npm run bench -- vectors`. */
import { listOf, peersOf, wholeNumber } from "../options.ts";
import { PEERS } from "./peers/peers.ts";
import { SETS } from "./sets.ts";

/** How to run. */
export interface VectorOptions {
  peers: string[];
  /** Names of made sets, `fashion-mnist`, or paths. */
  data: string[];
  /** Whether these sets were named: then a missing one is a failure, not a note. */
  isNamed: boolean;
  /** JSON file of the figures. */
  json?: string | undefined;
  /** SVG file of the plot. */
  svg?: string | undefined;
  /** Most rows of each set, for trials. */
  rows?: number | undefined;
}

/** Its options. */
export const VECTOR_OPTIONS = ["--peers", "--data", "--json", "--svg", "--rows"] as const;

/** @throws Error with a sentence for the user */
export function vectorOptions(given: ReadonlyMap<string, string>): VectorOptions {
  const peers = peersOf(given, Object.keys(PEERS)) ?? [];
  const rows = wholeNumber(given, "--rows", 1000);
  const data = listOf(given, "--data");
  return { peers, data: data ?? SETS, isNamed: !!data, json: given.get("--json"), svg: given.get("--svg"), rows };
}

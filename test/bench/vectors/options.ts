/** What stands behind `npm run bench -- vectors`. */
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

/** The options that take a value. */
export const TAKING = ["--peers", "--data", "--json", "--svg", "--rows"];

/**
 * Takes the options with their values out of `words`, which keeps the rest. `--json` without a file stays: it is every suite's.
 *
 * @throws Error with a sentence for the person who typed
 */
export function takeOptions(words: string[]): VectorOptions {
  const given = new Map<string, string>();
  for (const name of TAKING) {
    const at = words.indexOf(name);
    if (at < 0) continue;
    const value = words[at + 1];
    if (name === "--json" && !value?.endsWith(".json")) continue;
    if (value === undefined || value.startsWith("--")) throw new Error(`${name} needs a value`);
    given.set(name, value);
    words.splice(at, 2);
    if (words.includes(name)) throw new Error(`${name} is given twice`);
  }
  const list = (name: string) => given.get(name)?.split(",").filter(Boolean);
  const peers = list("--peers") ?? [];
  const unknown = peers.filter((name) => !Object.hasOwn(PEERS, name));
  if (unknown.length > 0) {
    throw new Error(`no peer is called ${unknown.join(", ")}; there are ${Object.keys(PEERS).join(", ")}`);
  }
  const rows = given.has("--rows") ? Number(given.get("--rows")) : undefined;
  if (rows !== undefined && !(Number.isSafeInteger(rows) && rows >= 1000)) {
    throw new Error("--rows is a whole number from 1000");
  }
  const data = list("--data");
  return { peers, data: data ?? SETS, isNamed: !!data, json: given.get("--json"), svg: given.get("--svg"), rows };
}

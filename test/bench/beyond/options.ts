/** Options of `npm run bench -- beyond`. */
import { listOf, type ParsedArguments, wholeNumber } from "../options.ts";

/** What is measured, each with a server of its own. */
export const PARTS = ["commits", "standby", "found", "catch-up", "move", "search", "sizes", "nodes"] as const;
export type Part = (typeof PARTS)[number];

/** How to run. */
export interface BeyondOptions {
  parts: Part[];
  /** Seconds of each load. */
  seconds: number;
  /** Nodes that follow while one writes. */
  nodes: number;
  /** JSON file of the figures. */
  json?: string | undefined;
}

/** Its options. */
export const BEYOND_OPTIONS = ["--parts", "--seconds", "--nodes", "--json"] as const;

const SECONDS = 10;
const NODES = 10;

/** @throws Error with a sentence for the user */
export function beyondOptions({ given }: Pick<ParsedArguments, "given">): BeyondOptions {
  const parts = listOf(given, "--parts") ?? [...PARTS];
  const unknown = parts.filter((part) => !PARTS.includes(part as Part));
  if (unknown.length > 0) throw new Error(`no part is called ${unknown.join(", ")}; there are ${PARTS.join(", ")}`);
  return {
    parts: parts as Part[],
    seconds: wholeNumber(given, "--seconds", 1) ?? SECONDS,
    nodes: wholeNumber(given, "--nodes", 1) ?? NODES,
    json: given.get("--json"),
  };
}

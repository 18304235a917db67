/** Options of `npm run bench -- growth`. */
import { listOf, type ParsedArguments, wholeNumber } from "../options.ts";

/** What grows. */
export const KINDS = ["vectors", "notes", "near-copies"] as const;
export type Kind = (typeof KINDS)[number];

/** How to run. */
export interface GrowthOptions {
  kinds: Kind[];
  /** Rows of the largest collection. */
  rows: number;
  /** JSON file of the figures. */
  json?: string | undefined;
}

/** Its options. */
export const GROWTH_OPTIONS = ["--kinds", "--rows", "--json"] as const;

const LEAST = 10_000;
const ROWS = 1_000_000;

/** @throws Error with a sentence for the user */
export function growthOptions({ given }: Pick<ParsedArguments, "given">): GrowthOptions {
  const kinds = listOf(given, "--kinds") ?? [...KINDS];
  const unknown = kinds.filter((kind) => !KINDS.includes(kind as Kind));
  if (unknown.length > 0) throw new Error(`nothing called ${unknown.join(", ")} grows; there are ${KINDS.join(", ")}`);
  return { kinds: kinds as Kind[], rows: wholeNumber(given, "--rows", LEAST) ?? ROWS, json: given.get("--json") };
}

/** The sizes up to a largest one: powers of ten from ten thousand on, and that one. */
export function sizesTo(rows: number): number[] {
  const sizes: number[] = [];
  for (let size = LEAST; size < rows; size *= 10) sizes.push(size);
  return [...sizes, rows];
}

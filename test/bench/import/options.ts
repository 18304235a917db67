/** Options of `npm run bench -- import`. */
import { type ParsedArguments, wholeNumber } from "../options.ts";

/** How to run. */
export interface ImportOptions {
  notes: number;
  passages: number;
  /** JSON file of the figures. */
  json?: string | undefined;
}

/** Its options. */
export const IMPORT_OPTIONS = ["--notes", "--passages", "--json"] as const;

const NOTES = 100_000;
const PASSAGES = 20_000;
/** Fewer would be too few commits to count syncs of. */
const LEAST = 20_000;

/** @throws Error with a sentence for the user */
export function importOptions({ given }: Pick<ParsedArguments, "given">): ImportOptions {
  return {
    notes: wholeNumber(given, "--notes", LEAST) ?? NOTES,
    passages: wholeNumber(given, "--passages", LEAST) ?? PASSAGES,
    json: given.get("--json"),
  };
}

/** Options of `npm run bench -- authority`. */
import { type ParsedArguments, wholeNumber } from "../options.ts";

/** How to run. */
export interface AuthorityBenchOptions {
  /** Devices that enrol at once. */
  devices: number;
  /** How often they do, with new devices each time. */
  rounds: number;
  /** Logins of the executable, one after another. */
  logins: number;
}

/** Its options. */
export const AUTHORITY_OPTIONS = ["--devices", "--rounds", "--logins"] as const;

/** @throws Error with a sentence for the user */
export function authorityOptions({ given }: Pick<ParsedArguments, "given">): AuthorityBenchOptions {
  return {
    devices: wholeNumber(given, "--devices", 1) ?? 200,
    rounds: wholeNumber(given, "--rounds", 1) ?? 3,
    logins: wholeNumber(given, "--logins", 1) ?? 21,
  };
}

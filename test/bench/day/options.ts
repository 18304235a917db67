/** Options of `npm run bench -- day`. */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { SVC } from "../home.ts";
import { listOf, type ParsedArguments, wholeNumber } from "../options.ts";

/** How to run. */
export interface DayOptions {
  /** Executables that are compared; the last one is judged. */
  executables: Executable[];
  /** Flags of the servers that replay the day, one list a replay. */
  flags: string[][];
  /** Notes beside which one is added. */
  notes: number;
  isJson: boolean;
}

/** An executable and what the tables call it. */
export interface Executable {
  name: string;
  path: string;
}

/** Its options. */
export const DAY_OPTIONS = ["--flags", "--against", "--notes"] as const;

const FLAGS = ["none", "with-text", "with-text+project=auto"];
const NOTES = 10_000;

/**
 * `--flags` lists what servers are started with: `none`, or flags without their dashes that `+` joins.
 *
 * @throws Error with a sentence for the user
 */
export function dayOptions({ given, isJson }: Pick<ParsedArguments, "given" | "isJson">): DayOptions {
  const against = given.get("--against");
  if (against && !existsSync(against)) throw new Error(`${against} is not there: --against names an executable`);
  const other = against ? [{ name: "against", path: resolve(against) }] : [];
  return {
    executables: [...other, { name: "svc", path: SVC }],
    flags: (listOf(given, "--flags") ?? FLAGS).map(flagsOf),
    notes: wholeNumber(given, "--notes", 100) ?? NOTES,
    isJson,
  };
}

function flagsOf(name: string): string[] {
  return name === "none" ? [] : name.split("+").map((flag) => `--${flag}`);
}

/** Options of `npm run bench -- quality`. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { listOf, type ParsedArguments } from "../options.ts";
import { type EarlierSet, readEarlier } from "./earlier.ts";
import { setsIn } from "./sets.ts";

/** How to run. */
export interface QualityOptions {
  /** Folders of sets beside those of the development data. */
  sets: string[];
  /** The git directory that the set `commits` is made from. */
  repository?: string | undefined;
  /** JSON file of the figures. */
  json?: string | undefined;
  /** What an earlier run wrote to such a file, to be compared with. */
  against?: EarlierSet[] | undefined;
  /** Whether every figure is printed as a line. */
  isJson: boolean;
}

/** Its options. */
export const QUALITY_OPTIONS = ["--sets", "--repository", "--json", "--against"] as const;

/** @throws Error with a sentence for the user */
export function qualityOptions({ given, isJson }: Pick<ParsedArguments, "given" | "isJson">): QualityOptions {
  const sets = setsOf(given);
  const repository = given.get("--repository");
  const against = given.get("--against");
  return {
    sets,
    repository: repository && gitDirectory(repository),
    json: given.get("--json"),
    against: against === undefined ? undefined : readEarlier(against),
    isJson,
  };
}

/** Folders of the sets that `--sets` names. @throws Error with a sentence for the user */
export function setsOf(given: ReadonlyMap<string, string>): string[] {
  return (listOf(given, "--sets") ?? []).flatMap((dir) => {
    const found = setsIn(dir);
    if (found.length === 0) throw new Error(`${dir} is not a set and holds none: a set is a folder with a qrels.tsv`);
    return found;
  });
}

/** A git directory, or the one of a checkout. */
function gitDirectory(path: string): string {
  const found = [path, join(path, ".git")].find((dir) => existsSync(join(dir, "HEAD")));
  if (!found) throw new Error(`${path} is not a git directory`);
  return found;
}

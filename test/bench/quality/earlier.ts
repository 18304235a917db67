/** The figures that an earlier run wrote with `--json FILE`. */
import { existsSync, readFileSync } from "node:fs";
import { COMPARED, type SetQuality } from "./table.ts";

/** What is compared of a set. */
export type EarlierSet = Pick<SetQuality, "name" | "ids" | "each">;

/** @throws Error with a sentence for the user where the file is none of this benchmark */
export const readEarlier = (path: string): EarlierSet[] => readSets(path, "quality", isEarlier);

/** The same of any suite whose file has `sets`, of each of which it can say whether it is one. */
export function readSets<T>(path: string, suite: string, isSet: (set: Partial<T>) => boolean): T[] {
  if (!existsSync(path)) throw new Error(`there is no file ${path}`);
  const sets = parsed(path);
  if (!Array.isArray(sets) || !sets.every(isSet)) {
    throw new Error(`${path} has no score of each query: run bench -- ${suite} --json ${path} to write it`);
  }
  return sets;
}

function parsed(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, "utf8"))?.sets;
  } catch (error) {
    throw new Error(`${path} is not JSON: ${(error as Error).message}`);
  }
}

function isEarlier(set: Partial<EarlierSet>): boolean {
  const { name, ids, each } = set;
  return typeof name === "string" && Array.isArray(ids) && COMPARED.every((key) => each?.[key]?.length === ids.length);
}

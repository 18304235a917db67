/** The figures of trees that an earlier run wrote with `--json FILE`. */
import { readSets } from "../quality/earlier.ts";
import type { TreeQuality } from "./figures.ts";

/** What is compared of a tree. */
export type EarlierTree = Pick<TreeQuality, "name" | "ids" | "each">;

/** @throws Error with a sentence for the user where the file is none of this benchmark */
export const readEarlier = (path: string): EarlierTree[] => readSets(path, "repo", isEarlier);

function isEarlier({ name, ids, each }: Partial<EarlierTree>): boolean {
  return typeof name === "string" && Array.isArray(ids) && each?.ndcg?.length === ids.length;
}

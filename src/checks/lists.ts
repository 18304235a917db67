/** Lists, and how many entries they have. */
import { ValueError } from "../errors.ts";
import { wrongType } from "./kinds.ts";

/** How many entries a list may have. */
export interface ListBounds {
  min?: number;
  max?: number;
}

/**
 * A list, whose entries are not checked yet: one that is too long is refused before any work on them.
 * @param wanted what it should have been, with its article
 * @throws TypeError for what is not an array; ValueError for too few or too many entries
 */
export function readList(value: unknown, name: string, wanted: string, { min = 0, max }: ListBounds = {}): unknown[] {
  if (!Array.isArray(value)) throw wrongType(name, wanted, value);
  if (value.length < min) throw new ValueError(`${name} is empty: give at least ${min}`);
  if (max !== undefined && value.length > max) {
    throw new ValueError(`${name} has ${value.length} entries; the limit is ${max} in one call: split it`, "limit");
  }
  return value;
}

/** @throws ValueError unless a list, where there is one, has an entry for each row */
export function checkLength(list: readonly unknown[] | null | undefined, name: string, rows: number): void {
  if (!list || list.length === rows) return;
  const entries = list.length === 1 ? "1 entry" : `${list.length} entries`;
  const of = rows === 1 ? "1 row" : `${rows} rows`;
  throw new ValueError(`${name} has ${entries} for ${of}: give one for each row`);
}

/** What a token allows: which collections, whether they may be changed, and how much may be stored. */
import { shown } from "../../checks/kinds.ts";
import { checkName } from "../../checks/names.ts";
import { PermissionError, ValueError } from "../../errors.ts";
import type { Allowance } from "../../store/limited/view.ts";

/** Patterns of one token, at most. */
const PATTERNS_MAX = 1000;

/** The rights of a token. */
export interface Rights {
  /** Names, and beginnings of names followed by `*`; undefined: all collections. */
  readonly collections?: readonly string[] | undefined;
  readonly readOnly: boolean;
  /** How many rows may be put in all; undefined: any number. */
  readonly rowsMax?: number | undefined;
  /** How many bytes may be put in all. */
  readonly bytesMax?: number | undefined;
}

/** Checks a pattern of collections. @throws ValueError */
export function checkPattern(pattern: string): string {
  const star = pattern.indexOf("*");
  const name = star < 0 ? pattern : pattern.slice(0, -1);
  if (star >= 0 && star < pattern.length - 1)
    throw new ValueError(`${shown(pattern)} has a '*' before its end: give a name, or the beginning of names and '*'`);
  try {
    // What follows the beginning decides about its normal form.
    if (name !== "" || star < 0) checkName(name);
  } catch (error) {
    if (!(error instanceof ValueError)) throw error;
    throw new ValueError(`no collection can be meant by ${shown(pattern)}: ${error.message}`);
  }
  return pattern;
}

/** Patterns as a person writes them, with commas between them. @throws ValueError for an invalid one, and for none */
export function readPatterns(text: string): string[] {
  const patterns = text.split(",").map((pattern) => pattern.trim());
  if (patterns.includes(""))
    throw new ValueError(`${shown(text)} has an empty name: give names with commas between them`);
  if (patterns.length > PATTERNS_MAX)
    throw new ValueError(`there are ${patterns.length} names; the limit is ${PATTERNS_MAX}`);
  return [...new Set(patterns.map(checkPattern))];
}

/** Whether rights leave out any collection. */
export function isLimited({ collections }: Rights): boolean {
  return collections !== undefined && !collections.includes("*");
}

/** The part of rights that a view of a store needs. */
export function allowanceOf(rights: Rights): Omit<Allowance, "chargeCollection"> {
  const { collections = ["*"], readOnly } = rights;
  const names = new Set(collections.filter((pattern) => !pattern.endsWith("*")));
  const beginnings = collections.filter((pattern) => pattern.endsWith("*")).map((pattern) => pattern.slice(0, -1));
  return {
    allows: (name) => names.has(name) || beginnings.some((beginning) => name.startsWith(beginning)),
    refuseChanges() {
      if (readOnly) throw mayOnlyRead();
    },
  };
}

/** The error for a change by a token that may only read. */
export function mayOnlyRead(): PermissionError {
  return new PermissionError("this token may only read: ask the operator of the server for one that may write");
}

/** Rights as a line for people. */
export function rightsLine({ collections, readOnly, rowsMax, bytesMax }: Rights): string {
  const parts = [
    `${readOnly ? "reads" : "reads and writes"} ${collections?.join(", ") ?? "all collections"}`,
    ...(rowsMax === undefined ? [] : [`at most ${rowsMax} rows`]),
    ...(bytesMax === undefined ? [] : [`at most ${bytesMax} bytes`]),
  ];
  return parts.join("; ");
}

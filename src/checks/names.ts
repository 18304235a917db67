/** Which names of collections and columns are safe, and which are those of repositories. */
import { ValueError } from "../errors.ts";
import { COLUMN_BYTES_MAX, NAME_BYTES_MAX, SCOPE_BYTES_MAX } from "../limits.ts";
import { shown, wrongType } from "./kinds.ts";
import { readString } from "./strings.ts";

/** The collection of `svc_repo_search`. It keeps its name. */
export const REPO_COLLECTION = "repo_symbols";
/** The metadata column that groups the rows of a collection whose maker names none. */
export const DEFAULT_PARTITION_KEY = "scope";
/** The partition key: statistics of a query are those of one repository. No other collection has rows of repositories. */
export const REPO_KEY = "repo_id";
/** The field of metadata that names the row which replaced this one. */
export const SUPERSEDED_BY = "superseded_by";

/** Control characters, including NUL and DEL: they hide in terminals and break tools that list files. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: this pattern looks for them
const CONTROL = /[\u0000-\u001f\u007f]/;

/** Refuses a collection name that is not one safe path component on every platform. @throws ValueError */
export function checkName(name: string): string {
  const refuse = (why: string, reason?: "limit") => new ValueError(`collection name ${shown(name)} ${why}`, reason);
  if (name.length === 0) throw refuse("is empty: give it a name of 1 to 128 bytes");
  if (Buffer.byteLength(name) > NAME_BYTES_MAX)
    throw refuse(`is longer than ${NAME_BYTES_MAX} bytes of UTF-8`, "limit");
  if (!name.isWellFormed()) throw refuse("holds half of a surrogate pair, which no file name can hold");
  if (name.startsWith(".")) throw refuse("starts with a dot: choose another first character");
  if (/[/\\]/.test(name)) throw refuse("holds a path separator: a name is one path component");
  if (CONTROL.test(name)) throw refuse("holds a control character");
  // Two normalisations of one name are one file on macOS and two on Linux.
  if (name.normalize("NFC") !== name) throw refuse("is not in Unicode normal form NFC: normalise it first");
  return name;
}

/** Refuses a column's name that is empty, too long, or holds what hides in terminals. @throws ValueError */
export function checkColumn(name: string): void {
  const bytes = Buffer.byteLength(name);
  if (bytes > 0 && bytes <= COLUMN_BYTES_MAX && name.isWellFormed() && !CONTROL.test(name)) return;
  throw new ValueError(
    `column name ${shown(name)} must have 1 to ${COLUMN_BYTES_MAX} bytes of UTF-8 and no control character`,
  );
}

/**
 * The partition key, as a name or a list of one.
 * @throws ValueError for a list of another length; TypeError for anything else
 */
export function readPartitionKey(value: unknown, name: string): string {
  if (Array.isArray(value) && value.length !== 1) {
    throw new ValueError(`${name} is a list of ${value.length}; rows are grouped by one column: give one name`);
  }
  const column: unknown = Array.isArray(value) ? value[0] : value;
  if (typeof column === "string") return column;
  throw wrongType(Array.isArray(value) ? `${name}[0]` : name, "a string", column);
}

/** What stands for all collections of texts in a search, in place of a name; unless a collection has it. */
export const ALL = "*";

/** Control characters and line separators, which could make several lines of a message that has a scope. */
export const UNPRINTABLE = /[\p{Cc}\p{Zl}\p{Zp}]+/gu;

/** A scope by its name. @param called how messages call it @throws ValueError for what no scope can be; TypeError */
export function readScope(given: unknown, called: string): string {
  const scope = readString(given, called);
  const bytes = Buffer.byteLength(scope);
  if (bytes > SCOPE_BYTES_MAX)
    throw new ValueError(`${called} has ${bytes} bytes of UTF-8; the limit is ${SCOPE_BYTES_MAX}`, "limit");
  if (scope.trim() !== "" && scope.search(UNPRINTABLE) < 0) return scope;
  throw new ValueError(`${called} ${shown(scope)} is not a scope: give a name without control characters`);
}

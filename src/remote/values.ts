/** What a program gave, checked before it travels: JSON would turn much of it into something else without a word. */
import { filtersNothing, toIds } from "../checks/accepted.ts";
import { kindOf } from "../checks/kinds.ts";
import type { Id, SearchOptions, Where } from "../engine/api.ts";
import { ArgumentTypeError, OSError, ValueError } from "../errors.ts";
import { ID_BYTES_MAX, TOP_K_MAX } from "../limits.ts";

/** A list of strings. */
export function checkStrings(name: string, list: readonly string[]): void {
  checkList(name, list);
  for (let i = 0; i < list.length; i++) {
    const item: unknown = list[i];
    if (typeof item !== "string") throw new ArgumentTypeError(`${name}[${i}] must be a string, got ${kindOf(item)}`);
    if (!item.isWellFormed()) throw halfPair(`${name}[${i}]`);
  }
}

/** Ids as strings, within the limits. */
export function idList(list: readonly Id[]): readonly string[] {
  checkList("ids", list);
  const ids = toIds(list, (at) => `ids[${at}]`);
  ids.forEach(checkId);
  return ids;
}

export function checkList(name: string, list: unknown): void {
  if (!Array.isArray(list)) throw new ArgumentTypeError(`${name} must be a list, got ${kindOf(list)}`);
}

/** A string argument. */
export function checkString(name: string, value: unknown): void {
  if (typeof value !== "string") throw new ArgumentTypeError(`${name} must be a string, got ${kindOf(value)}`);
  if (!value.isWellFormed()) throw halfPair(name);
}

/** A filter as it travels; none without a key. A value that is missing asks for rows without one, as null does. */
export function whereArgument(where: Where | undefined): Record<string, unknown> | undefined {
  if (where === undefined || where === null) return undefined;
  if (typeof where !== "object" || Array.isArray(where)) {
    throw new ArgumentTypeError(`where must be an object with one key, got ${kindOf(where)}`);
  }
  if (filtersNothing(where)) return undefined;
  const entries = Object.entries(where);
  if (entries.length === 0) throw new ValueError("where has 0 keys; it is an object with one");
  const out = Object.create(null) as Record<string, unknown>;
  for (const [column, value] of entries) {
    if (typeof value === "number" && !Number.isFinite(value)) {
      throw new ValueError(`where.${column} is ${value}; JSON has no such number`);
    }
    if (typeof value === "bigint" || typeof value === "function" || typeof value === "symbol") {
      throw new ValueError(`where.${column} is ${kindOf(value)}; equality takes a string, number, true, false or null`);
    }
    out[column] = value ?? null;
  }
  return out;
}

/** How to search, as it travels. */
export function searchArguments({ topK, where, explain, withMetadata }: SearchOptions): Record<string, unknown> {
  if (topK !== undefined && topK !== null && (typeof topK !== "number" || Number.isNaN(topK))) {
    throw new ArgumentTypeError(`topK must be a number, got ${Number.isNaN(topK) ? "NaN" : kindOf(topK)}`);
  }
  return {
    // The server clamps as well; JSON has no infinity to tell it.
    top_k: topK === undefined || topK === null ? undefined : Math.max(1, Math.min(topK, TOP_K_MAX)),
    where: whereArgument(where),
    explain: explain || undefined,
    with_metadata: withMetadata || undefined,
  };
}

/** The result of a reply, if it has the form that PROTOCOL.md promises. */
export function expectResult<T>(op: string, result: unknown, has: (result: unknown) => boolean): T {
  if (has(result)) return result as T;
  throw new OSError(
    `the server answered '${op}' in another form than the protocol has; are client and server of one version?`,
  );
}

/** A name in a message, short and on one line. */
export function shown(name: string): string {
  const short = name.length > 80 ? `${name.slice(0, 77)}...` : name;
  return `'${JSON.stringify(short).slice(1, -1)}'`;
}

// ---------------------------------------------------------------------------------------------------------------------

function halfPair(name: string): ValueError {
  return new ValueError(`${name} holds half of a surrogate pair, which UTF-8 cannot hold`);
}

function checkId(id: string, at: number): void {
  if (!id.isWellFormed()) throw halfPair(`ids[${at}]`);
  if (id.length === 0) throw new ValueError(`ids[${at}] is empty: an id has 1 to ${ID_BYTES_MAX} bytes`);
  if (id.includes("\0")) throw new ValueError(`ids[${at}] holds a NUL character, which an id cannot`);
  // At most three bytes a UTF-16 unit: most ids need no count.
  if (id.length * 3 <= ID_BYTES_MAX) return;
  const bytes = Buffer.byteLength(id);
  if (bytes > ID_BYTES_MAX)
    throw new ValueError(`ids[${at}] has ${bytes} bytes of UTF-8; the limit is ${ID_BYTES_MAX}`);
}

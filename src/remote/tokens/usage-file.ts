/**
 * What was done with each named token, in a file beside that of the tokens. Servers write it, which add what they have
 * counted since they wrote it last: several servers of one memory count together.
 */
import { join } from "node:path";
import * as z from "zod/mini";
import { withLock } from "../../durable.ts";
import { damaged, readPrivate, type Stored, writePrivate } from "./private-file.ts";

const FORMAT = 1;
const REMEDY = "remove it, and what tokens may store is counted from 0 again";

/** What was done with a token, over its life. */
export interface Usage {
  /** Rows that were put, also those that replaced others. */
  rows: number;
  /** Bytes of ids, texts, metadata and vectors of these rows. */
  bytes: number;
  /** When it was used last, in milliseconds since 1970; undefined: never. */
  used?: number | undefined;
  /** A server has seen it expire: it stays expired when the clock is set back. */
  isExpired?: boolean | undefined;
}

/** Of a token that was never used. */
export const UNUSED: Readonly<Usage> = { rows: 0, bytes: 0 };

const count = z._default(z.int().check(z.nonnegative()), 0);
const USAGE = z.looseObject({
  rows: count,
  bytes: count,
  used: z.optional(z.number()),
  expired: z.optional(z.boolean()),
});

/** Where it is. */
export function usageFile(dir: string): string {
  return join(dir, ".serve-usage.json");
}

/** By id of the token. @throws PermissionError, OSError as `readPrivate` */
export function readUsage(dir: string): Map<string, Usage> {
  const path = usageFile(dir);
  return usageIn(path, readPrivate(path, FORMAT, REMEDY) ?? {});
}

/**
 * Adds to it.
 * @param counted by id, what was counted since the last time
 * @param ids of all tokens: what is stored of others is removed
 * @returns all of it
 * @throws as `readUsage`; OSError where it cannot be written
 */
export async function addUsage(
  dir: string,
  counted: ReadonlyMap<string, Usage>,
  ids: ReadonlySet<string>,
): Promise<Map<string, Usage>> {
  return withLock(join(dir, ".serve-tokens.lock"), () => {
    const path = usageFile(dir);
    const all = readPrivate(path, FORMAT, REMEDY) ?? { format: FORMAT };
    const known = usageIn(path, all);
    for (const id of known.keys()) if (!ids.has(id)) known.delete(id);
    for (const [id, more] of counted) if (ids.has(id)) known.set(id, sum(known.get(id) ?? UNUSED, more));
    const tokens = Object.fromEntries(
      [...known].map(([id, { rows, bytes, used, isExpired }]) => [id, { rows, bytes, used, expired: isExpired }]),
    );
    writePrivate(path, { ...all, tokens });
    return known;
  });
}

/** Two counts of one token together. */
export function sum(a: Readonly<Usage>, b: Readonly<Usage>): Usage {
  const used = Math.max(a.used ?? 0, b.used ?? 0);
  return {
    rows: a.rows + b.rows,
    bytes: a.bytes + b.bytes,
    used: used === 0 ? undefined : used,
    isExpired: a.isExpired || b.isExpired || undefined,
  };
}

function usageIn(path: string, { tokens = {} }: Stored): Map<string, Usage> {
  const { data } = z.record(z.string(), USAGE).safeParse(tokens);
  if (data === undefined) throw damaged(path, "it has no counts", REMEDY);
  return new Map(
    Object.entries(data).map(([id, { rows, bytes, used, expired }]) => [id, { rows, bytes, used, isExpired: expired }]),
  );
}

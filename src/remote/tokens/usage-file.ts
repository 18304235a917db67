/** What was done with each named token, in a file beside that of the tokens. The one server of a memory writes it. */
import { join } from "node:path";
import * as z from "zod/mini";
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
 * Writes it.
 * @param usage of all tokens, by id
 * @throws as `readUsage`; OSError where it cannot be written
 */
export function writeUsage(dir: string, usage: ReadonlyMap<string, Readonly<Usage>>): void {
  const path = usageFile(dir);
  const tokens = Object.fromEntries(
    [...usage].map(([id, { rows, bytes, used, isExpired }]) => [id, { rows, bytes, used, expired: isExpired }]),
  );
  writePrivate(path, { ...(readPrivate(path, FORMAT, REMEDY) ?? { format: FORMAT }), tokens });
}

function usageIn(path: string, { tokens = {} }: Stored): Map<string, Usage> {
  const { data } = z.record(z.string(), USAGE).safeParse(tokens);
  if (data === undefined) throw damaged(path, "it has no counts", REMEDY);
  return new Map(
    Object.entries(data).map(([id, { rows, bytes, used, expired }]) => [id, { rows, bytes, used, isExpired: expired }]),
  );
}

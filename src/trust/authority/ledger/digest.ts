/** How secrets are kept, as SHA-256 only, and how the rows of secrets are found. */
import type { Database } from "bun:sqlite";
import { createHash, timingSafeEqual } from "node:crypto";

/** SHA-256 as hex. Each secret has at least 128 random bits, except the user code, which is valid for minutes. */
export function digest(secret: string): string {
  return createHash("sha256").update(secret).digest("hex");
}

/**
 * The row of a secret. Its digest is compared in constant time, after the index has compared it.
 * @param sql selects the columns of the row whose `hash` is `$hash`, and `hash` too
 * @param values further parameters of `sql`
 */
export function rowOf<T>(
  db: Database,
  sql: string,
  secret: string,
  values: Readonly<Record<string, number>> = {},
): T | undefined {
  const hash = digest(secret);
  const found = db.query<{ readonly hash: string }, Record<string, string | number>>(sql).get({ ...values, hash });
  if (found === null || !timingSafeEqual(Buffer.from(found.hash, "hex"), Buffer.from(hash, "hex"))) return undefined;
  const { hash: _, ...row } = found;
  return row as T;
}

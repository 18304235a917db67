/** Scopes of rows, which take turns: a rewrite, which orders rows by scope, reads rows from everywhere. */

/** The partition key that the tools use. */
export const KEY = "scope";
const SCOPES = 50;

/** The metadata of rows from a number on. */
export function scopesOf(from: number, count: number): Record<string, string>[] {
  return Array.from({ length: count }, (_, i) => ({ [KEY]: `scope-${(from + i) % SCOPES}` }));
}

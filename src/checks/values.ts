/** The values that callers give and get, as types. */

/** A value that a filter compares with. */
export type FilterValue = string | number | boolean | null;

/**
 * Equality with one column: an object with one key, as from `Eq("scope", "work")`; without a key it filters nothing.
 */
export type Where = Readonly<Record<string, FilterValue>>;

/** A JSON object beside a row. Keys may be anything, `__proto__` included: read own keys, never merge. */
export type Metadata = Record<string, unknown>;

/** The values that callers give and get, as types. */

/** A value that a filter may ask for. */
export type FilterValue = string | number | boolean | null;

/**
 * Equality with one column: an object with one key, as `Eq("scope", "work")` makes it. One without a key filters
 * nothing.
 */
export type Where = Readonly<Record<string, FilterValue>>;

/**
 * What is stored beside a row: a JSON object. Keys may be anything, `__proto__` included: read own keys, never merge.
 */
export type Metadata = Record<string, unknown>;

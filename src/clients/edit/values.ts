/** Values of configuration files, compared and taken apart. */
import type { Plain, PlainObject } from "./edit.ts";

export function isObject(value: unknown): value is PlainObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Own value of a key; `undefined` where there is none. */
export function own(object: PlainObject, key: string): Plain {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

/** The value that a path leads to; `undefined` where it leads to none. */
export function valueAt(root: PlainObject, path: readonly string[]): Plain {
  let value: Plain = root;
  for (const key of path) {
    if (!isObject(value)) return undefined;
    value = own(value, key);
  }
  return value;
}

/**
 * Whether two values are the same, keys in any order. Parts of a YAML document may be shared, and hold themselves: a pair
 * that was compared, or is being compared, is not compared again.
 */
export function isSame(a: unknown, b: unknown, seen = new Map<object, Set<object>>()): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  const known = seen.get(a) ?? new Set();
  if (known.has(b)) return true;
  seen.set(a, known.add(b));
  if (Array.isArray(a) || Array.isArray(b)) {
    if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false;
    return a.every((value, index) => isSame(value, b[index], seen));
  }
  const keys = Object.keys(a);
  // Dates and times of TOML have no keys of their own.
  if (keys.length === 0 && "toJSON" in a && "toJSON" in b) return String(a) === String(b);
  if (keys.length !== Object.keys(b).length) return false;
  const [left, right] = [a as Record<string, unknown>, b as Record<string, unknown>];
  return keys.every((key) => Object.hasOwn(right, key) && isSame(left[key], right[key], seen));
}

/** A copy in which the value at a path is another one, and absent for `undefined`. Objects on the way are made. */
export function withValue(root: PlainObject, path: readonly string[], value: Plain): PlainObject {
  const [key, ...rest] = path;
  const copy: Record<string, Plain> = Object.create(null);
  for (const one of Object.keys(root)) copy[one] = root[one];
  if (rest.length === 0) {
    if (value === undefined) delete copy[key!];
    else copy[key!] = value;
    return copy;
  }
  const inner = own(root, key!);
  copy[key!] = withValue(isObject(inner) ? inner : {}, rest, value);
  return copy;
}

/** A copy without the objects on a path that are empty, the innermost first and at most `count` of them. */
export function withoutEmpty(root: PlainObject, path: readonly string[], count: number): PlainObject {
  if (count === 0 || path.length === 0) return root;
  const value = valueAt(root, path);
  if (!isObject(value) || Object.keys(value).length > 0) return root;
  return withoutEmpty(withValue(root, path, undefined), path.slice(0, -1), count - 1);
}

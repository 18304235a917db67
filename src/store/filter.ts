/**
 * The only filter: one column equals one value. Values travel to the native side as byte strings that are equal exactly
 * when the values are: typed, so that `1` equals `1.0` but neither `"1"` nor `true`.
 */
import type { NativeFilter } from "../../ffi/ty_reader.ts";
import { shown } from "../checks/kinds.ts";
import type { FilterValue } from "../checks/values.ts";
import type { Condition } from "../checks/where.ts";
import { ValueError } from "../errors.ts";

const encoder = new TextEncoder();
const NOTHING = new Uint8Array(0);

/**
 * A metadata value as a key: a letter for its type, then its bytes. `null` and a missing value are one key. An array or
 * object has the empty key, which never matches.
 */
export function encodeKey(value: unknown): Uint8Array {
  switch (typeof value) {
    case "undefined":
      return encoder.encode("n");
    case "boolean":
      return encoder.encode(value ? "t" : "f");
    case "string":
      return encoder.encode(`s${value}`);
    case "number": {
      const bytes = new Uint8Array(9);
      bytes[0] = 0x64; // "d"
      new DataView(bytes.buffer).setFloat64(1, value === 0 ? 0 : value, true); // -0 equals 0
      return bytes;
    }
    default:
      return value === null ? encoder.encode("n") : NOTHING;
  }
}

/** The value that `encodeKey` made a key of; undefined for the empty key. */
export function decodeKey(key: Uint8Array): FilterValue | undefined {
  switch (key[0]) {
    case 0x6e:
      return null;
    case 0x74:
      return true;
    case 0x66:
      return false;
    case 0x73:
      return new TextDecoder().decode(key.subarray(1));
    case 0x64:
      return new DataView(key.buffer, key.byteOffset).getFloat64(1, true);
    default:
      return undefined;
  }
}

/** A condition against a collection's filter columns. @throws ValueError for another column */
export function toFilter(condition: Condition | undefined, columns: readonly string[]): NativeFilter | undefined {
  if (condition === undefined) return undefined;
  const { column, value } = condition;
  const index = columns.indexOf(column);
  if (index < 0) {
    throw new ValueError(
      `column ${shown(column)} is not a filter column of this collection; it has ${columns.map(shown).join(", ")}`,
    );
  }
  return { column: index, key: encodeKey(value) };
}

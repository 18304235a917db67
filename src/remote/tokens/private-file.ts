/** Small files of a memory directory that only its owner may read and that a program may not follow elsewhere. */
import { basename } from "node:path";
import { isObject } from "../../checks/kinds.ts";
import { readCapped, refuseShared, writeDurable } from "../../durable.ts";
import { OSError, SvcError, ValueError } from "../../errors.ts";

/** A larger file was not written by svc. */
const BYTES_MAX = 4 * 1024 * 1024;

/** A JSON object with the number of its format. */
export type Stored = Record<string, unknown>;

/**
 * Reads one; undefined where there is none.
 * @param format the highest format that this version knows
 * @param remedy what to do about a damaged one, as the end of a sentence
 * @throws PermissionError for one that others can read or that another user owns; OSError for one that is a link, is
 *   damaged, or of a newer version
 */
export function readPrivate(path: string, format: number, remedy: string): Stored | undefined {
  const name = basename(path);
  let bytes: Uint8Array | undefined;
  try {
    bytes = readCapped(path, BYTES_MAX, {
      noFollow: true,
      inspect: (stat) => refuseShared(stat, path, { what: `'${name}'`, remedy }),
    });
  } catch (error) {
    // A link, a folder, or too large.
    if (error instanceof SvcError && error.type === "ValueError")
      throw new OSError(`${error.message}: ${remedy}`, "damaged");
    throw error;
  }
  if (bytes === undefined) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw damaged(path, "it is not JSON", remedy);
  }
  if (!isObject(value) || !Number.isSafeInteger(value.format)) throw damaged(path, "it has no format", remedy);
  if ((value.format as number) > format)
    throw new OSError(
      `'${name}' is of format ${value.format}, which a newer svc has written: use that version, or ${remedy}`,
      "other_version",
    );
  return value;
}

/** Writes one. @throws ValueError for more than `readPrivate` would read; OSError where it cannot be written */
export function writePrivate(path: string, value: Stored): void {
  const text = `${JSON.stringify(value, null, 2)}\n`;
  if (Buffer.byteLength(text) > BYTES_MAX)
    throw new ValueError(
      `'${basename(path)}' would have more than 4 MiB, the limit: revoke tokens, or name fewer collections`,
      "limit",
    );
  writeDurable(path, text);
}

/** The error for a file whose contents are wrong. */
export function damaged(path: string, why: string, remedy: string): OSError {
  return new OSError(`'${basename(path)}' is damaged (${why}): ${remedy}`, "damaged");
}

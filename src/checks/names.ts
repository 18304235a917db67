/** Which collection names and external ids are safe. */

import { ValueError } from "../errors.ts";
import { ID_BYTES_MAX, NAME_BYTES_MAX } from "../limits.ts";

/** Control characters, including NUL and DEL: they hide in terminals and break tools that list files. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
export const CONTROL = /[\u0000-\u001f\u007f]/;

/** Shows a name in a message without letting it break the line. */
export function shown(name: string): string {
  const short = name.length > 80 ? `${name.slice(0, 77)}...` : name;
  return `'${JSON.stringify(short).slice(1, -1)}'`;
}

/** Refuses a collection name that is not one safe path component on every platform. */
export function checkName(name: string): string {
  const refuse = (why: string) => new ValueError(`collection name ${shown(name)} ${why}`);
  if (name.length === 0) throw refuse("is empty: give it a name of 1 to 128 bytes");
  if (Buffer.byteLength(name) > NAME_BYTES_MAX) throw refuse(`is longer than ${NAME_BYTES_MAX} bytes of UTF-8`);
  if (!name.isWellFormed()) throw refuse("holds half of a surrogate pair, which no file name can hold");
  if (name.startsWith(".")) throw refuse("starts with a dot: choose another first character");
  if (/[/\\]/.test(name)) throw refuse("holds a path separator: a name is one path component");
  if (CONTROL.test(name)) throw refuse("holds a control character");
  // Two normalisations of one name are one file on macOS and two on Linux.
  if (name.normalize("NFC") !== name) throw refuse("is not in Unicode normal form NFC: normalise it first");
  return name;
}

/** Refuses an external id beyond the limits; `at` is its place in the call. */
export function checkId(id: string, at: number): void {
  const bytes = Buffer.byteLength(id);
  if (bytes === 0) throw new ValueError(`ids[${at}] is empty: an id has 1 to ${ID_BYTES_MAX} bytes`);
  if (bytes > ID_BYTES_MAX)
    throw new ValueError(`ids[${at}] has ${bytes} bytes of UTF-8; the limit is ${ID_BYTES_MAX}`);
  if (id.includes("\0")) throw new ValueError(`ids[${at}] holds a NUL character, which an id cannot`);
  if (!id.isWellFormed()) throw new ValueError(`ids[${at}] holds half of a surrogate pair, which UTF-8 cannot hold`);
}

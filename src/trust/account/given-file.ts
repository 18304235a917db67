/** A file that a flag or a variable names. */
import { shown } from "../../checks/kinds.ts";
import { readCapped } from "../../durable.ts";
import { SvcError, ValueError } from "../../errors.ts";

/**
 * Its content.
 * @param name the flag or variable, for errors
 * @throws ValueError where there is none, or what is not a file of at most `maxBytes`; OSError; each begins with `name`
 */
export function readGiven(name: string, path: string, maxBytes: number): Uint8Array {
  let bytes: Uint8Array | undefined;
  try {
    bytes = readCapped(path, maxBytes);
  } catch (error) {
    if (error instanceof SvcError) error.message = `${name}: ${error.message}`;
    throw error;
  }
  if (bytes === undefined) throw new ValueError(`${name}: there is no file ${shown(path)}`);
  return bytes;
}

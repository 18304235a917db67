/** Texts that are stored. */
import { ValueError } from "../errors.ts";
import { TEXT_BYTES_MAX } from "../limits.ts";
import type { ListBounds } from "./lists.ts";
import { readStrings } from "./strings.ts";

/** @throws TypeError for what is no list of strings; ValueError for a text that is too long or not well formed */
export function readTexts(value: unknown, name = "texts", bounds?: ListBounds): readonly string[] {
  const texts = readStrings(value, name, bounds);
  // Making a name for each of them would cost more than the check.
  for (const [i, text] of texts.entries()) if (text.length * 3 > TEXT_BYTES_MAX) checkTextSize(text, `${name}[${i}]`);
  return texts;
}

/** @throws ValueError for a text that is too long */
export function checkTextSize(text: string, name: string): void {
  // At most three bytes a UTF-16 unit: most texts need no count.
  if (text.length * 3 <= TEXT_BYTES_MAX) return;
  const bytes = Buffer.byteLength(text);
  if (bytes <= TEXT_BYTES_MAX) return;
  throw new ValueError(
    `${name} has ${bytes} bytes of UTF-8; the limit is ${TEXT_BYTES_MAX}: store it in parts`,
    "limit",
  );
}

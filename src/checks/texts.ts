/** Texts that are stored. */
import { ValueError } from "../errors.ts";
import { TEXT_BYTES_MAX } from "../limits.ts";
import type { ListBounds } from "./lists.ts";
import { readStrings } from "./strings.ts";

/** @throws TypeError for what is no list of strings; ValueError for a text that is too long or not well formed */
export function readTexts(value: unknown, name = "texts", bounds?: ListBounds): readonly string[] {
  const texts = readStrings(value, name, bounds);
  for (const [i, text] of texts.entries()) {
    // At most three bytes a UTF-16 unit: most texts need no count.
    if (text.length * 3 <= TEXT_BYTES_MAX) continue;
    const bytes = Buffer.byteLength(text);
    if (bytes <= TEXT_BYTES_MAX) continue;
    throw new ValueError(
      `${name}[${i}] has ${bytes} bytes of UTF-8; the limit is ${TEXT_BYTES_MAX}: store it in parts`,
      "limit",
    );
  }
  return texts;
}

/** Texts that are stored. */
import { ValueError } from "../errors.ts";
import { TEXT_BYTES_MAX } from "../limits.ts";
import type { ListBounds } from "./lists.ts";
import { readStrings } from "./strings.ts";

/** @throws TypeError for what is not a list of strings; ValueError for a text that is too long or not well formed */
export function readTexts(value: unknown, name = "texts", bounds?: ListBounds): readonly string[] {
  const texts = readStrings(value, name, bounds);
  // Making a name for each of them would cost more than the check.
  for (const [i, text] of texts.entries()) if (text.length * 3 > TEXT_BYTES_MAX) checkTextSize(text, `${name}[${i}]`);
  return texts;
}

/**
 * As `readTexts`, for a caller that writes texts by hand: an empty one is a mistake, as nothing finds it. Programs that
 * copy rows keep theirs.
 * @throws ValueError for an empty text as well
 */
export function readWrittenTexts(value: unknown, name: string, bounds: ListBounds): readonly string[] {
  const texts = readTexts(value, name, bounds);
  const empty = texts.indexOf("");
  if (empty === -1) return texts;
  throw new ValueError(`${name}[${empty}] is empty: give it some words, or leave it out`);
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

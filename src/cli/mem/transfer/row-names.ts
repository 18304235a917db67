/** Names of the files of rows: the first words of the text, for a person, and a hash of the id, which makes them differ. */
import { DEFAULT_PARTITION } from "../../../store/schema.ts";

const WORDS = /[\p{L}\p{N}\p{M}]+/gu;
/** Characters of a name, at most four bytes each: file systems allow 255 bytes. */
const NAME_CHARACTERS = 40;
/** UTF-16 units of a text that are looked at. */
const BEGINNING_UNITS = 400;
const HASH_DIGITS = 8;

/**
 * The path of a row's file below the folder. Letters are lower case, as some file systems do not tell them apart from upper
 * case, and the hash of another id is another one.
 * @param partition the value of its partition key; rows of the default one are not in a folder of their own
 * @param isTaken whether a path is that of another file
 */
export function pathOf(
  { id, text }: { readonly id: string; readonly text: string },
  partition: unknown,
  isTaken: (path: string) => boolean,
): string {
  const folder = partition === undefined || partition === DEFAULT_PARTITION ? "" : wordsOf(String(partition));
  const hash = new Bun.CryptoHasher("sha256").update(id).digest("hex");
  const words = wordsOf(text);
  for (let digits = HASH_DIGITS; ; digits *= 2) {
    const name = [words, hash.slice(0, digits)].filter((part) => part !== "").join("-");
    const path = `${folder === "" ? "" : `${folder}/`}${name}.md`;
    if (!isTaken(path) || digits >= hash.length) return path;
  }
}

function wordsOf(text: string): string {
  // NFC: macOS and Linux would have two names for one word.
  const words = text.slice(0, BEGINNING_UNITS).normalize("NFC").toLowerCase().match(WORDS) ?? [];
  let name = "";
  for (const word of words) {
    const longer = name === "" ? word : `${name}-${word}`;
    if ([...longer].length > NAME_CHARACTERS) return name === "" ? [...word].slice(0, NAME_CHARACTERS).join("") : name;
    name = longer;
  }
  return name;
}

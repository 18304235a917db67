/** Rows as lines of a brief. They are written by others: nothing of a row can pass for a line of the brief's own. */

/** Characters that show nothing or change how others are shown; joiners stay, without which some scripts cannot be read. */
// biome-ignore lint/suspicious/noMisleadingCharacterClass: each is replaced on its own
const UNSEEN = /[\s\p{Cc}\p{Cs}\p{Co}\p{Zl}\p{Zp}\u{fff9}-\u{fffb}\u{e0100}-\u{e01ef}]|(?![\u200c\u200d])\p{Cf}/gu;
/** A name or an id that needs no quotes. */
const PLAIN = /^[\w.:@/+=-]+$/;
/** Bytes of a name or an id. Its beginning finds the row: `svc mem show`. */
const NAME_BYTES = 128;

/** A text on one line, as its beginning of at most so many bytes of UTF-8, to a word's edge where there is one near. */
export function beginning(text: string, bytes: number): { text: string; isCut: boolean } {
  const line = text.replace(UNSEEN, " ").replace(/ +/g, " ").trim();
  if (Buffer.byteLength(line) <= bytes) return { text: line, isCut: false };
  const { read } = new TextEncoder().encodeInto(line, new Uint8Array(bytes));
  const edge = line.lastIndexOf(" ", read);
  return { text: line.slice(0, edge > read / 2 ? edge : read), isCut: true };
}

/** A text in double quotes, in which another one is escaped. */
export function quoted(text: string, isCut = false): string {
  return `"${text.replace(/["\\]/g, "\\$&")}${isCut ? "…" : ""}"`;
}

/** A name or an id: as it is where it is plain, else in quotes. */
export function named(name: string): string {
  const { text, isCut } = beginning(name, NAME_BYTES);
  return !isCut && PLAIN.test(name) ? name : quoted(text, isCut);
}

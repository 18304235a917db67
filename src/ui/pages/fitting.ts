/** How much of a list a page has. A page is at most 60 KB with its style and script, whatever the memory holds. */

/** Bytes of the list of a page, as HTML. */
const LIST_BYTES_MAX = 32_000;

/** The first parts that fit; one in any case. They are made only as far as there is room. */
export function fitting<T extends string | readonly string[]>(parts: Iterable<T>, bytesMax = LIST_BYTES_MAX): T[] {
  const shown: T[] = [];
  let bytes = 0;
  for (const part of parts) {
    bytes += Buffer.byteLength(typeof part === "string" ? part : part.join(""));
    if (shown.length > 0 && bytes > bytesMax) break;
    shown.push(part);
  }
  return shown;
}

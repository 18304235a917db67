/** The texts in files and on stdin. */
import { ValueError } from "../../errors.ts";
import { readChunks, sourceName } from "../../formats/input/bytes.ts";
import { TEXT_BYTES_MAX } from "../../limits.ts";

/** Bytes of one source that holds a text a line; more belongs into `svc mem import`, which streams. */
const LINES_BYTES_MAX = 16 * TEXT_BYTES_MAX;

/**
 * The texts of a file or of stdin (`-`): the whole of it, or with `split` each of its lines that is not blank.
 * @param hint added to the error when this source is empty; pass it only if there is no other source
 * @throws OSError if it cannot be read; ValueError if it is empty, too long or no text; CancelledError
 */
export async function readSource(source: string, split: boolean, signal: AbortSignal, hint = ""): Promise<string[]> {
  const chunks: Uint8Array[] = [];
  const bytesMax = split ? LINES_BYTES_MAX : TEXT_BYTES_MAX;
  let bytes = 0;
  for await (const chunk of readChunks(source, signal)) {
    bytes += chunk.length;
    if (bytes > bytesMax) throw new ValueError(`${sourceName(source)} holds more than ${bytesMax} bytes`);
    chunks.push(chunk);
  }
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(chunks));
  } catch {
    throw new ValueError(`${sourceName(source)} is not UTF-8 text`);
  }
  const lines = split ? text.split(/\r?\n/).filter((line) => line.trim() !== "") : undefined;
  // The line break that every shell tool puts at the end is not part of what was meant.
  const texts = lines ?? [text.replace(/\r?\n$/, "")];
  // Another source may have the lines that this one lacks.
  const isEmpty = lines === undefined ? texts[0] === "" : hint !== "" && texts.length === 0;
  if (isEmpty) throw new ValueError(`${sourceName(source)} is empty${hint}`);
  return texts;
}

/** The texts in files and on stdin. */
import { ValueError } from "../errors.ts";
import { readChunks, sourceName } from "../formats/bytes.ts";
import { TEXT_BYTES_MAX } from "../limits.ts";

/** Bytes of one source that holds a text a line; more belongs into `svc mem import`, which streams. */
const LINES_BYTES_MAX = 16 * TEXT_BYTES_MAX;

/**
 * The texts of a file or of stdin (`-`): the whole of it, or with `split` each of its lines that is not blank.
 * @throws OSError if it cannot be read; ValueError if it is empty, too long or no text; CancelledError
 */
export async function readSource(source: string, split: boolean, signal: AbortSignal): Promise<string[]> {
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
  if (split) return text.split(/\r?\n/).filter((line) => line.trim() !== "");
  // The line break that every shell tool puts at the end is not part of what was meant.
  const whole = text.replace(/\r?\n$/, "");
  if (whole === "") throw new ValueError(`${sourceName(source)} is empty`);
  return [whole];
}

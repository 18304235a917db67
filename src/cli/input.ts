/** Files and stdin: their bytes as they come, and the texts in them. */
import { CancelledError, OSError, ValueError } from "../errors.ts";
import { TEXT_BYTES_MAX } from "../limits.ts";

/** Bytes of one source that holds a text a line; more belongs into `svc mem import`, which streams. */
const LINES_BYTES_MAX = 16 * TEXT_BYTES_MAX;

/** The chunks of a file or of stdin (`-`); an interruption ends even a wait for someone who types nothing. */
export async function* readChunks(source: string, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  let reader: ReturnType<ReturnType<typeof Bun.stdin.stream>["getReader"]> | undefined;
  // One promise a read: a race against one promise for all of them would hold every chunk until the end.
  let read = Promise.withResolvers<Uint8Array | undefined>();
  const stop = () => read.reject(new CancelledError("interrupted"));
  signal.addEventListener("abort", stop, { once: true });
  try {
    reader = (source === "-" ? Bun.stdin : Bun.file(source)).stream().getReader();
    for (;;) {
      read = Promise.withResolvers();
      if (signal.aborted) stop();
      else reader.read().then(({ value }) => read.resolve(value as Uint8Array | undefined), read.reject);
      const chunk = await read.promise;
      if (chunk === undefined) return;
      yield chunk;
    }
  } catch (error) {
    if (error instanceof CancelledError) throw error;
    const code = (error as NodeJS.ErrnoException).code ?? "unknown error";
    throw new OSError(`cannot read ${sourceName(source)}: ${code}`);
  } finally {
    signal.removeEventListener("abort", stop);
    reader?.cancel().catch(() => {});
  }
}

/** A source's name in a message. */
export function sourceName(source: string): string {
  return source === "-" ? "stdin" : `'${source}'`;
}

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

/** The bytes of a file or of stdin, as they come: unpacked where they are gzip, and their beginning known beforehand. */
import { fstatSync, statSync } from "node:fs";
import type { Transform } from "node:stream";
import { Breather } from "../../breather.ts";
import { CancelledError, OSError, SvcError, ValueError } from "../../errors.ts";

/** So many bytes tell a format. */
const HEAD_BYTES = 64 * 1024;
const GZIP = [0x1f, 0x8b, 0x08];

/** The bytes of one file, or of stdin. */
export interface ByteSource {
  /** For messages: the path in quotes, or stdin. */
  readonly name: string;
  /** As stored, packed or not; undefined of what has no size, such as a pipe. */
  readonly bytes: number | undefined;
  /** The first bytes, unpacked; at most 64 KiB. */
  readonly head: Uint8Array;
  /** How many bytes, as stored, were read so far. */
  position(): number;
  /**
   * All bytes from the first one, unpacked; once. What is held of them at a time does not grow with the source.
   * @throws OSError where they cannot be read; ValueError for gzip that is broken; CancelledError
   */
  chunks(): AsyncIterable<Uint8Array>;
}

/** Opens a file or stdin (`-`) and reads its beginning. @throws as `ByteSource.chunks` */
export async function openBytes(source: string, signal: AbortSignal): Promise<ByteSource> {
  let position = 0;
  async function* counted() {
    for await (const chunk of readChunks(source, signal)) {
      position += chunk.length;
      yield chunk;
    }
  }
  const stored = await peeked(counted(), GZIP.length);
  const isPacked = GZIP.every((byte, i) => stored.head[i] === byte);
  const whole = isPacked ? unpacked(stored.chunks, sourceName(source)) : stored.chunks;
  return byteSource(whole, { name: sourceName(source), bytes: sizeOf(source), position: () => position, signal });
}

/** Bytes that come from elsewhere, with their beginning read. @throws what reading them throws */
export async function byteSource(
  whole: AsyncGenerator<Uint8Array>,
  { signal, ...of }: Pick<ByteSource, "name" | "bytes" | "position"> & { signal: AbortSignal },
): Promise<ByteSource> {
  const { head, chunks } = await peeked(whole, HEAD_BYTES);
  return { ...of, head: head.subarray(0, HEAD_BYTES), chunks: () => breathing(chunks, signal) };
}

/** The chunks, with turns of the event loop between them: a file that is in memory is read without any. */
async function* breathing(chunks: AsyncIterable<Uint8Array>, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const breather = new Breather(signal, "interrupted");
  for await (const chunk of chunks) {
    if (breather.due) await breather.pause();
    yield chunk;
  }
}

/** The first `bytes` of what comes, or more, and all of it. */
async function peeked(chunks: AsyncGenerator<Uint8Array>, bytes: number) {
  const first: Uint8Array[] = [];
  let length = 0;
  while (length < bytes) {
    const { value } = await chunks.next();
    if (value === undefined) break;
    first.push(value);
    length += value.length;
  }
  const head = first.length === 1 ? first[0]! : Buffer.concat(first, length);
  async function* all(): AsyncGenerator<Uint8Array> {
    // Not kept: a format may hold on to the source for hours.
    yield* first.splice(0);
    yield* chunks;
  }
  return { head, chunks: all() };
}

async function* unpacked(chunks: AsyncIterable<Uint8Array>, name: string): AsyncGenerator<Uint8Array> {
  const { createGunzip } = await import("node:zlib");
  yield* through(chunks, createGunzip({ chunkSize: 64 * 1024 }), `${name} is gzip that`);
}

/**
 * What a decompressor makes of these bytes.
 * @param what the beginning of the error for bytes that it refuses, as in "'a.gz' is gzip that"
 */
export async function* through(
  chunks: AsyncIterable<Uint8Array>,
  decompressor: Transform,
  what: string,
): AsyncGenerator<Uint8Array> {
  const { pipeline, Readable } = await import("node:stream");
  // The iteration below throws what fails here.
  pipeline(Readable.from(chunks), decompressor, () => {});
  try {
    yield* decompressor;
  } catch (error) {
    if (error instanceof SvcError) throw error;
    throw new ValueError(`${what} is broken or cut short: ${(error as Error).message}`);
  }
}

function sizeOf(source: string): number | undefined {
  try {
    const stat = source === "-" ? fstatSync(0) : statSync(source);
    return stat.isFile() ? stat.size : undefined;
  } catch {
    return undefined;
  }
}

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
    throw new OSError(`cannot read ${sourceName(source)}: ${code === "ENOENT" ? "there is no such file" : code}`);
  } finally {
    signal.removeEventListener("abort", stop);
    reader?.cancel().catch(() => {});
  }
}

/** A source's name in a message. */
export function sourceName(source: string): string {
  return source === "-" ? "stdin" : `'${source}'`;
}

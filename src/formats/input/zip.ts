/**
 * Zip archives (APPNOTE 6.3.10) as account exports are packed: stored or deflated entries, also beyond 4 GiB. What an
 * archive says of itself is checked against its size, and each entry against its length and checksum.
 */
import { closeSync, constants, readSync } from "node:fs";
import { OSError, SvcError, ValueError } from "../../errors.ts";
import { openRegular } from "../../regular-file.ts";
import { type ByteSource, byteSource, sourceName, through } from "./bytes.ts";

const [END, LOCATOR, END_64, ENTRY, LOCAL] = [0x06054b50, 0x07064b50, 0x06064b50, 0x02014b50, 0x04034b50];
/** The record at the end, and the longest comment after it. */
const END_BYTES_MAX = 22 + 0xffff;
const DIRECTORY_BYTES_MAX = 64 * 1024 * 1024;
const CHUNK_BYTES = 64 * 1024;
const [STORED, DEFLATED] = [0, 8];
const UNPACK = "unpack it, and import the file or the folder that you need";

/** A file in an archive. */
export interface ZipEntry {
  /** Its path, with slashes. */
  readonly path: string;
  /** Its length, packed and not. */
  readonly packed: number;
  readonly bytes: number;
  readonly crc: number;
  readonly method: number;
  readonly isEncrypted: boolean;
  /** Where its header is. */
  readonly offset: number;
}

/** Whether a file begins as an archive does. */
export function isZip(head: Uint8Array): boolean {
  return head[0] === 0x50 && head[1] === 0x4b && ((head[2] === 3 && head[3] === 4) || (head[2] === 5 && head[3] === 6));
}

/** An open archive. */
export class Zip implements Disposable {
  private constructor(
    private readonly fd: number,
    private readonly size: number,
    readonly name: string,
  ) {}

  /** @throws OSError where the file cannot be read */
  static open(path: string): Zip {
    try {
      const { fd, stat } = openRegular(path, constants.O_RDONLY);
      return new Zip(fd, stat.size, sourceName(path));
    } catch (error) {
      if (error instanceof SvcError) throw error;
      throw new OSError(`cannot read ${sourceName(path)}: ${(error as NodeJS.ErrnoException).code ?? "unknown error"}`);
    }
  }

  /** Its files, without folders. @throws ValueError for an archive that is damaged or cut short */
  entries(): ZipEntry[] {
    const { at, bytes } = this.directory();
    if (bytes > DIRECTORY_BYTES_MAX) throw this.damaged(`its directory has ${bytes} bytes`);
    const directory = this.read(at, bytes);
    const found: ZipEntry[] = [];
    for (let offset = 0; offset + 46 <= directory.length && directory.readUInt32LE(offset) === ENTRY; ) {
      const [names, extras, comments] = [28, 30, 32].map((place) => directory.readUInt16LE(offset + place)) as [
        ...[number, number, number],
      ];
      const end = offset + 46 + names + extras;
      if (end > directory.length) throw this.damaged("its directory is cut short");
      const path = directory.subarray(offset + 46, offset + 46 + names).toString();
      const extra = directory.subarray(offset + 46 + names, end);
      if (!path.endsWith("/")) found.push(this.entry(directory.subarray(offset, offset + 46), path, extra));
      offset = end + comments;
    }
    return found;
  }

  /** The bytes of a file, unpacked as they are read. @throws ValueError for one that cannot be */
  async source(entry: ZipEntry, signal: AbortSignal): Promise<ByteSource> {
    const name = `${this.name}, ${entry.path}`;
    if (entry.isEncrypted) throw new ValueError(`${name} is encrypted: ${UNPACK}`);
    if (entry.method !== STORED && entry.method !== DEFLATED) {
      throw new ValueError(`${name} is packed in a way that is not supported (${entry.method}): ${UNPACK}`);
    }
    const header = this.read(entry.offset, 30);
    if (header.readUInt32LE(0) !== LOCAL) throw this.damaged(`${entry.path} has no header`);
    const start = entry.offset + 30 + header.readUInt16LE(26) + header.readUInt16LE(28);
    if (start + entry.packed > this.size) throw this.damaged(`${entry.path} is cut short`);
    let position = 0;
    const zip = this;
    async function* packed(): AsyncGenerator<Uint8Array> {
      while (position < entry.packed) {
        const chunk = zip.read(start + position, Math.min(CHUNK_BYTES, entry.packed - position));
        position += chunk.length;
        yield chunk;
      }
    }
    async function* unpacked(): AsyncGenerator<Uint8Array> {
      const { createInflateRaw } = await import("node:zlib");
      const whole =
        entry.method === STORED ? packed() : through(packed(), createInflateRaw({ chunkSize: CHUNK_BYTES }), name);
      let [length, crc] = [0, 0];
      for await (const chunk of whole) {
        length += chunk.length;
        if (length > entry.bytes) break;
        crc = Bun.hash.crc32(chunk, crc);
        yield chunk;
      }
      if (length !== entry.bytes || crc >>> 0 !== entry.crc) throw zip.damaged(`${entry.path} has other bytes`);
    }
    return byteSource(unpacked(), { name, bytes: entry.packed, position: () => position, signal });
  }

  [Symbol.dispose](): void {
    closeSync(this.fd);
  }

  /** Where the list of entries is. */
  private directory(): { at: number; bytes: number } {
    const tailBytes = Math.min(this.size, END_BYTES_MAX);
    const tail = this.read(this.size - tailBytes, tailBytes);
    for (let at = tail.length - 22; at >= 0; at--) {
      if (tail.readUInt32LE(at) !== END || at + 22 + tail.readUInt16LE(at + 20) !== tail.length) continue;
      const found = { at: tail.readUInt32LE(at + 16), bytes: tail.readUInt32LE(at + 12) };
      const end = this.size - tailBytes + at;
      const isLarge = found.at === 0xffffffff || found.bytes === 0xffffffff || tail.readUInt16LE(at + 10) === 0xffff;
      const whole = isLarge && end >= 20 ? (this.directory64(end - 20) ?? found) : found;
      if (whole.at + whole.bytes > end) throw this.damaged("its directory is not where it says");
      return whole;
    }
    throw this.damaged("it has no directory at its end");
  }

  private directory64(locatorAt: number): { at: number; bytes: number } | undefined {
    const locator = this.read(locatorAt, 20);
    if (locator.readUInt32LE(0) !== LOCATOR) return undefined;
    const record = this.read(Number(locator.readBigUInt64LE(8)), 56);
    if (record.readUInt32LE(0) !== END_64) throw this.damaged("its directory is not where it says");
    return { at: Number(record.readBigUInt64LE(48)), bytes: Number(record.readBigUInt64LE(40)) };
  }

  private entry(header: Buffer, path: string, extra: Buffer): ZipEntry {
    let [packed, bytes, offset] = [20, 24, 42].map((place) => header.readUInt32LE(place)) as [number, number, number];
    for (let at = 0; at + 4 <= extra.length; at += 4 + extra.readUInt16LE(at + 2)) {
      if (extra.readUInt16LE(at) !== 1) continue;
      // Those that do not fit into 32 bits, in this order.
      let next = at + 4;
      const end = Math.min(extra.length, next + extra.readUInt16LE(at + 2));
      const large = (value: number) => {
        if (value !== 0xffffffff || next + 8 > end) return value;
        next += 8;
        return Number(extra.readBigUInt64LE(next - 8));
      };
      bytes = large(bytes);
      packed = large(packed);
      offset = large(offset);
      break;
    }
    const isEncrypted = (header.readUInt16LE(8) & 1) === 1;
    const [method, crc] = [header.readUInt16LE(10), header.readUInt32LE(16)];
    return { path, packed, bytes, crc, method, isEncrypted, offset };
  }

  private read(at: number, bytes: number): Buffer {
    if (at < 0 || at + bytes > this.size) throw this.damaged("it is cut short");
    const buffer = Buffer.alloc(bytes);
    try {
      for (let done = 0; done < bytes; ) {
        const count = readSync(this.fd, buffer, done, bytes - done, at + done);
        if (count === 0) throw this.damaged("it is cut short");
        done += count;
      }
    } catch (error) {
      if (error instanceof SvcError) throw error;
      throw new OSError(`cannot read ${this.name}: ${(error as NodeJS.ErrnoException).code ?? "unknown error"}`);
    }
    return buffer;
  }

  private damaged(what: string): ValueError {
    return new ValueError(`${this.name} is a zip archive that is damaged: ${what}; get it again`);
  }
}

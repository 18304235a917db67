/** Zip archives for tests: deflated or stored, with the records for sizes beyond 4 GiB or without. */
import { deflateRawSync } from "node:zlib";

/** A file of an archive. */
export interface ZipFile {
  readonly path: string;
  readonly content: string | Uint8Array;
  readonly isStored?: boolean;
  readonly flags?: number;
  readonly method?: number;
}

/** The bytes of an archive. @param is64 whether sizes and places stand in the records for large archives */
export function zipOf(files: readonly ZipFile[], is64 = false, comment = ""): Buffer {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const { path, content, isStored = false, flags = 0, method = isStored ? 0 : 8 } of files) {
    const bytes = Buffer.from(content as string);
    const packed = isStored ? bytes : deflateRawSync(bytes);
    const name = Buffer.from(path);
    const sizes = [Bun.hash.crc32(bytes), packed.length, bytes.length];
    const local = Buffer.alloc(30);
    local.writeUInt32LE(0x04034b50, 0);
    local.writeUInt16LE(flags, 6);
    local.writeUInt16LE(method, 8);
    for (const [i, size] of sizes.entries()) local.writeUInt32LE(size, 14 + 4 * i);
    local.writeUInt16LE(name.length, 26);
    const extra = Buffer.alloc(is64 ? 28 : 0);
    if (is64) {
      extra.writeUInt16LE(1, 0);
      extra.writeUInt16LE(24, 2);
      for (const [i, size] of [bytes.length, packed.length, offset].entries())
        extra.writeBigUInt64LE(BigInt(size), 4 + 8 * i);
    }
    const entry = Buffer.alloc(46);
    entry.writeUInt32LE(0x02014b50, 0);
    entry.writeUInt16LE(flags, 8);
    entry.writeUInt16LE(method, 10);
    entry.writeUInt32LE(sizes[0]!, 16);
    entry.writeUInt32LE(is64 ? 0xffffffff : packed.length, 20);
    entry.writeUInt32LE(is64 ? 0xffffffff : bytes.length, 24);
    entry.writeUInt16LE(name.length, 28);
    entry.writeUInt16LE(extra.length, 30);
    entry.writeUInt32LE(is64 ? 0xffffffff : offset, 42);
    parts.push(local, name, packed);
    directory.push(entry, name, extra);
    offset += 30 + name.length + packed.length;
  }
  const list = Buffer.concat(directory);
  const end64 = Buffer.alloc(is64 ? 76 : 0);
  if (is64) {
    end64.writeUInt32LE(0x06064b50, 0);
    end64.writeBigUInt64LE(BigInt(list.length), 40);
    end64.writeBigUInt64LE(BigInt(offset), 48);
    end64.writeUInt32LE(0x07064b50, 56);
    end64.writeBigUInt64LE(BigInt(offset + list.length), 64);
  }
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(is64 ? 0xffff : files.length, 10);
  end.writeUInt32LE(is64 ? 0xffffffff : list.length, 12);
  end.writeUInt32LE(is64 ? 0xffffffff : offset, 16);
  end.writeUInt16LE(Buffer.byteLength(comment), 20);
  return Buffer.concat([...parts, list, end64, end, Buffer.from(comment)]);
}

/** CRC-32C (RFC 3720), as manifests have it, of bytes that this node has fetched or will send. */
import { closeSync, openSync, readSync } from "node:fs";

const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0x82f63b78 : 0);
  return crc;
});

/** The checksum of bytes that follow others, where `before` is that of the others; 0: there are none. */
export function crc32c(bytes: Uint8Array, before: number): number {
  let crc = ~before;
  for (let i = 0; i < bytes.length; i++) crc = TABLE[(crc ^ bytes[i]!) & 255]! ^ (crc >>> 8);
  return ~crc >>> 0;
}

/** The checksum of a file up to `to`, where `before` is that of its bytes up to `from`. */
export function crcOfFile(path: string, from: number, to: number, before: number): number {
  let crc = before;
  const fd = openSync(path, "r");
  try {
    const bytes = new Uint8Array(1 << 16);
    for (let at = from; at < to; ) {
      const n = readSync(fd, bytes, 0, Math.min(bytes.length, to - at), at);
      if (n === 0) break;
      crc = crc32c(bytes.subarray(0, n), crc);
      at += n;
    }
  } finally {
    closeSync(fd);
  }
  return crc;
}

/** CRC-32C (Castagnoli), and the one bit whose change explains a wrong checksum. */

const POLYNOMIAL = 0x82f63b78;

/** A changed bit is not searched in longer runs: the longer a run is, the likelier another damage looks like that. */
const MEND_BYTES_MAX = 128 * 1024;

/** Eight tables of 256, one after the other: of a byte with so many zero bytes after it. */
const TABLES = new Int32Array(8 * 256);
for (let i = 0; i < 256; i++) {
  let c = i;
  for (let bit = 0; bit < 8; bit++) c = c & 1 ? (c >>> 1) ^ POLYNOMIAL : c >>> 1;
  TABLES[i] = c;
}
for (let i = 256; i < TABLES.length; i++) {
  const before = TABLES[i - 256]!;
  TABLES[i] = (before >>> 8) ^ TABLES[before & 255]!;
}

/** The checksum of bytes. */
export function crc32c(bytes: Uint8Array): number {
  let x = ~0;
  let at = 0;
  for (const end = bytes.length - 7; at < end; at += 8) {
    x ^= bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
    x =
      TABLES[1792 + (x & 255)]! ^
      TABLES[1536 + ((x >>> 8) & 255)]! ^
      TABLES[1280 + ((x >>> 16) & 255)]! ^
      TABLES[1024 + (x >>> 24)]! ^
      TABLES[768 + bytes[at + 4]!]! ^
      TABLES[512 + bytes[at + 5]!]! ^
      TABLES[256 + bytes[at + 6]!]! ^
      TABLES[bytes[at + 7]!]!;
  }
  for (; at < bytes.length; at++) x = (x >>> 8) ^ TABLES[(x ^ bytes[at]!) & 255]!;
  return ~x >>> 0;
}

/**
 * Changes the one bit of `bytes` that makes their checksum right, where there is one. The checksum is linear: a changed
 * bit changes it by what depends on its place only, which differs for every place. Other damage of 64 KiB looks like a
 * changed bit once in 8,000 times, which is why a caller says what it mended.
 *
 * @returns the byte that was changed, undefined where no single bit explains it
 */
export function mendBit(bytes: Uint8Array, right: number): number | undefined {
  if (bytes.length > MEND_BYTES_MAX) return undefined;
  const wrong = (crc32c(bytes) ^ right) >>> 0;
  // What the last byte's highest bit changes; each step is one bit further to the front.
  let change = POLYNOMIAL;
  for (let at = bytes.length - 1; at >= 0; at--) {
    for (let bit = 7; bit >= 0; bit--) {
      if (change >>> 0 === wrong) {
        bytes[at]! ^= 1 << bit;
        return at;
      }
      change = change & 1 ? (change >>> 1) ^ POLYNOMIAL : change >>> 1;
    }
  }
  return undefined;
}

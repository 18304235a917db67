/** A manifest that was edited by hand, with a checksum and padding that fit. */

const TABLE = Uint32Array.from({ length: 256 }, (_, n) => {
  for (let bit = 0; bit < 8; bit++) n = n & 1 ? (n >>> 1) ^ 0x82f63b78 : n >>> 1;
  return n;
});

/** CRC-32C. */
export function crc32c(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = TABLE[(crc ^ byte) & 255]! ^ (crc >>> 8);
  return (crc ^ 0xffffffff) >>> 0;
}

/** The text up to its last key, sealed as FORMAT.md says. */
export function sealed(manifest: string): string {
  const body = manifest.slice(0, manifest.lastIndexOf('"crc32c": '));
  const generation = Number(/"generation": (\d+)/.exec(body)![1]);
  const text = `${body}"crc32c": ${crc32c(Buffer.from(body))}\n}\n`;
  const bytes = Buffer.byteLength(text);
  return text + " ".repeat((((generation - bytes) % 64) + 64) % 64);
}

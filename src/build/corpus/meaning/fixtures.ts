/**
 * Makes the fixtures of test/native/encode.test.ts: what the package makes of the texts in texts.ts.
 *
 *   bun src/build/corpus/meaning/fixtures.ts FOLDER     where the package is installed (README.md)
 *
 * A text has 136 bytes: how many pieces it has (u32), the CRC-32 of their ids (u32), and its encoding on the directions
 * of projection.bin as codes. As the kernel does, a long text is encoded in two windows of 128 pieces.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openPackage } from "./package.ts";
import { fixtureTexts } from "./texts.ts";

const ROOT = join(import.meta.dir, "../../../..");
const WIDTH = 512;
const DIM = 128;
const WINDOW = 128;
const WINDOW_LEAST = 16;
const RECORD = 8 + DIM;

const projection = new Int8Array(readFileSync(join(import.meta.dir, "../../meaning/projection.bin")));
const encoder = await openPackage(process.argv[2]!);
const texts = fixtureTexts();
const out = new DataView(new ArrayBuffer(texts.length * RECORD));
for (const [i, text] of texts.entries()) {
  const ids = encoder.ids(text).slice(0, 2 * WINDOW);
  const windows = [ids.slice(0, WINDOW), ids.slice(WINDOW)].filter((w, at) => w.length >= (at ? WINDOW_LEAST : 1));
  const sum = new Float64Array(WIDTH);
  for (const window of windows) {
    const [encoding] = await encoder.encode([window]);
    for (let k = 0; k < WIDTH; k++) sum[k]! += window.length * encoding![k]!;
  }
  out.setUint32(i * RECORD, ids.length, true);
  out.setUint32(i * RECORD + 4, Bun.hash.crc32(new Uint8Array(Uint16Array.from(ids).buffer)), true);
  const projected = Array.from({ length: DIM }, (_, row) => {
    const direction = projection.subarray(row * WIDTH, (row + 1) * WIDTH);
    const length = Math.hypot(...direction);
    return direction.reduce((total, code, k) => total + code * sum[k]!, 0) / length;
  });
  const most = Math.max(...projected.map(Math.abs));
  projected.forEach((value, row) => {
    out.setInt8(i * RECORD + 8 + row, Math.round((value / most) * 127));
  });
}
writeFileSync(join(ROOT, "test/native/encode_fixtures.bin"), new Uint8Array(out.buffer));
console.log(`${texts.length} texts`);

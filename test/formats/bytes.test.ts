/** The bytes of files: their beginning, their number, gzip. */
import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { findFormat, openRows } from "../../src/formats/formats.ts";
import { openBytes } from "../../src/formats/input/bytes.ts";

const { signal } = new AbortController();

/** A file of these bytes, for as long as the test. */
async function withFile(name: string, bytes: Uint8Array, work: (path: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "svc-formats-"));
  try {
    await Bun.write(join(folder, name), bytes);
    await work(join(folder, name));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function allOf(path: string): Promise<string> {
  const input = await openBytes(path, signal);
  const chunks: Uint8Array[] = [];
  for await (const chunk of input.chunks()) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

const LONG = Array.from({ length: 30_000 }, (_, i) => `line ${i}\n`).join("");

test("the head is the beginning, and the chunks are everything", async () => {
  for (const text of ["", "a", LONG]) {
    await withFile("x.jsonl", Buffer.from(text), async (path) => {
      const input = await openBytes(path, signal);
      expect(Buffer.from(input.head).toString()).toBe(text.slice(0, 64 * 1024));
      expect(input.bytes).toBe(text.length);
      expect(await allOf(path)).toBe(text);
    });
  }
});

test("gzip is known by its first bytes, of one member or several; the position counts what is stored", async () => {
  const packed = Buffer.concat([gzipSync(LONG), gzipSync("the end")]);
  await withFile("x.jsonl", packed, async (path) => {
    const input = await openBytes(path, signal);
    expect(Buffer.from(input.head).toString()).toBe(LONG.slice(0, 64 * 1024));
    expect(input.bytes).toBe(packed.length);
    let bytes = 0;
    for await (const chunk of input.chunks()) bytes += chunk.length;
    expect([bytes, input.position()]).toEqual([LONG.length + 7, packed.length]);
  });
});

test("gzip that is cut short or broken is refused with the file's name", async () => {
  const packed = gzipSync(LONG);
  const broken = Buffer.from(packed);
  broken[packed.length >> 1]! ^= 0xff;
  for (const bytes of [packed.subarray(0, packed.length - 20), broken]) {
    await withFile("x.jsonl.gz", bytes, async (path) => {
      await expect(allOf(path)).rejects.toThrow(/x\.jsonl\.gz' is gzip that is broken or cut short/);
    });
  }
});

test("a file that is not there, and a format that there is not", async () => {
  await expect(openBytes("/nowhere/x", signal)).rejects.toThrow("cannot read '/nowhere/x': there is no such file");
  expect(() => findFormat("parquet")).toThrow("there is no format 'parquet', only mem0, chroma, ");
});

test("what no format matches is refused", async () => {
  await withFile("x.bin", Buffer.from([0x7f, 0x45, 0x4c, 0x46]), async (path) => {
    await expect(openRows(path, undefined, { signal })).rejects.toThrow(
      /x\.bin' is in none of the known formats: name it with --from/,
    );
  });
});

/** A collection with a file of another version of the format is refused, with both versions, and left as it is. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { OSError } from "../../src/errors.ts";
import { localStore } from "../api/fixture.ts";
import { changeFile, fileWith } from "../collection-files.ts";
import { contents, scratchDir } from "../fixture.ts";
import { random, unitVectors } from "../random.ts";

const DIM = 8;
const ROWS = 300;

/** CRC-32C, bit by bit. */
function crc32c(bytes: Uint8Array): number {
  let crc = ~0;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0x82f63b78 : 0);
  }
  return ~crc >>> 0;
}

test.each(["base", "delta", "ivf", "lexical"])("another version of the %s slab", async (kind) => {
  const memory = scratchDir();
  const made = await localStore(memory);
  const notes = await made.createCollection("notes", { dim: DIM, lexical: true });
  const ids = Array.from({ length: ROWS }, (_, i) => `note ${i}`);
  await notes.add(unitVectors(ROWS, DIM, random(1)), { ids });
  await notes.buildLexical();
  await notes.buildIvf({ minRows: 100 });
  await notes.add(unitVectors(1, DIM, random(2)), { ids: ["late"] });
  await notes.save();
  await made.close();

  const dir = join(memory, "notes");
  const path = fileWith(dir, `${kind}-`);
  const ours = readFileSync(path).readUInt32LE(8);
  changeFile(path, (slab) => {
    slab.writeUInt32LE(ours - 2, 8);
    slab.writeUInt32LE(crc32c(slab.subarray(0, 60)), 60);
  });
  const before = contents(dir);

  const again = await localStore(memory);
  const handle = again.handle("notes");
  const query = unitVectors(1, DIM, random(3));
  const calls: (() => Promise<unknown>)[] = [
    () => again.openCollection("notes"),
    () => again.createCollection("notes", { dim: DIM, lexical: true }),
    () => handle.search(query),
    () => handle.searchLexical("note"),
    () => handle.get(["late"]),
    () => handle.add(query, { ids: ["more"] }),
    () => handle.delete(["late"]),
    () => handle.compact(),
    () => handle.buildLexical(),
  ];
  for (const call of calls) {
    const error = await call().catch((thrown: unknown) => thrown as Error);
    expect(error).toBeInstanceOf(OSError);
    expect((error as Error).message).toBe(
      `collection 'notes': ${basename(path)} is of format version ${ours - 2}, and this program's is ${ours}: ` +
        "export the collection with the release that wrote it, and import it with this one; version 0.0.0-test wrote it",
    );
  }
  await again.close();
  expect(contents(dir)).toEqual(before);
});

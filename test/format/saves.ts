/** What a collection remembers of its saves, in the form in which reader.py prints it. */
import { deepEqual } from "node:assert/strict";
import type { Collection } from "../../src/store/collection.ts";

/** A save, with what it changed. */
export interface Remembered {
  save: number;
  time: number | null;
  origin: string;
  changes: { id: string; kind: string; before: Record<string, unknown> | null }[];
}

/** The bytes of a vector in hexadecimal. */
export function hexOf({ buffer, byteOffset, byteLength }: Float32Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString("hex");
}

/** All saves, the oldest first. */
export function rememberedBy(collection: Collection): Remembered[] {
  const detail = { metadata: true, text: true, vector: true, times: true };
  const saves = collection.saves().reverse();
  return saves.map(({ save, time, first, added, replaced, deleted, origin }) => {
    const found = collection.changes({ from: first, to: first + added + replaced + deleted }, detail);
    const count = (wanted: string) => found.filter(({ kind }) => kind === wanted).length;
    deepEqual([count("added"), count("replaced"), count("deleted")], [added, replaced, deleted]);
    deepEqual(new Set(found.map((change) => change.save)), new Set([save]));
    const changes = found.map(({ id, kind, before: row }) => {
      if (row === undefined) return { id, kind, before: null };
      const { metadata = null, text = null, vector, times } = row;
      return { id, kind, before: { id: row.id, metadata, text, vector: hexOf(vector!), ...times } };
    });
    return { save, time, origin, changes };
  });
}

/**
 * The rows of a collection as far as they can be read, whatever is damaged: those of the base, then what the intact
 * blocks of its deltas did to them. A block that is damaged is passed over, which is consistent row by row: operations
 * name rows by numbers that are never used again, and block headers say where the numbers of their rows begin. What it
 * put is lost, and what it deleted or replaced is there as it was before.
 */
import { join } from "node:path";
import { RegularFile } from "../../regular-file.ts";
import { crc32c, mendBit } from "../crc32c.ts";
import { readManifestFile, sealOf } from "../folder-state.ts";
import { type Manifest, parseSaved, type SavedManifest } from "../schema.ts";
import { BaseRows, type ReadRow } from "./base.ts";
import { blocksOf, rowOfPut } from "./delta.ts";
import { Slab } from "./slab.ts";

/** Where a live row is. */
interface Place {
  /** When it was first put, as a row number: the order of rows. */
  birth: number;
  /** The number of its last put. */
  number: number;
  /** Its position in the base, or its operation. */
  at: number | Uint8Array;
  times: ReadRow["times"];
}

/** What can be read of a collection. */
export interface Salvage {
  manifest: Manifest;
  /** Rows that were live, as far as that is known. */
  count: number;
  /** Parts of files that say nothing: blocks of deltas, a whole base. */
  lostBlocks: { file: string; offset: number; bytes: number }[];
  /** Bits that were restored, by what their checksums say. */
  mended: number;
  rows(): Generator<ReadRow>;
  close(): void;
}

/** Opens what can be read. Undefined where `collection.json` cannot: it says what the bytes of the rows mean. */
export function openSalvage(folder: string): Salvage | undefined {
  const mended = new Set<string>();
  const saved = readManifest(folder, mended);
  if (!saved) return undefined;
  const { manifest, files } = saved;
  const { dim, dtype } = manifest;
  const columns = manifest.filterColumns.length;
  const lostBlocks: Salvage["lostBlocks"] = [];
  const base = files.find((file) => file.name.startsWith("base-"));
  const slab = base && Slab.open(join(folder, base.name));
  const rows = slab && new BaseRows(slab, dim, dtype, columns);
  if (base && !slab) lostBlocks.push({ file: base.name, offset: 0, bytes: base.bytes });

  const places = new Map<number, Place>();
  for (let at = 0, unknown = -1; rows && at < rows.count; at++) {
    // No operation is known to be about a row whose number is damaged; such rows come first.
    const number = rows.numberOf(at) ?? unknown--;
    places.set(number, { birth: number, number, at, times: undefined });
  }
  for (const { name, bytes } of files.filter((file) => file.name.startsWith("delta-"))) {
    const file = RegularFile.open(join(folder, name));
    if (!file) {
      lostBlocks.push({ file: name, offset: 0, bytes });
      continue;
    }
    const bits = new Set<number>();
    for (const { offset, bytes: length, operations } of blocksOf(file, bytes, bits)) {
      if (!operations) lostBlocks.push({ file: name, offset, bytes: length });
      for (const { isPut, row, replaced, updated, bytes: operation } of operations ?? []) {
        const victim = places.get(isPut ? (replaced ?? Number.NaN) : row);
        if (victim) places.delete(victim.number);
        if (!isPut) continue;
        const before = victim && timesOf(victim, rows);
        const times = { created: Math.min(before?.created ?? updated, updated), updated };
        places.set(row, { birth: victim?.birth ?? row, number: row, at: operation, times });
      }
    }
    for (const bit of bits) mended.add(`${name} ${bit}`);
    file.close();
  }
  const read = (place: Place): ReadRow => {
    if (typeof place.at === "number") return rows!.read(place.at);
    return { ...rowOfPut(place.at, dim, dtype, columns), times: place.times };
  };
  // What a damaged block replaced is there twice: of an id the last put counts.
  if (lostBlocks.length > 0) dropOlder(places, (place) => read(place).id);
  const inOrder = [...places.values()].sort((a, b) => a.birth - b.birth);
  return {
    manifest,
    count: inOrder.length,
    lostBlocks,
    get mended() {
      return mended.size + (slab?.mended.size ?? 0);
    },
    *rows() {
      for (const place of inOrder) yield read(place);
    },
    close: () => slab?.close(),
  };
}

function timesOf(place: Place, base: BaseRows | undefined): ReadRow["times"] {
  return typeof place.at === "number" ? base?.times(place.at) : place.times;
}

function dropOlder(places: Map<number, Place>, idOf: (place: Place) => string | undefined): void {
  const last = new Map<string, number>();
  for (const place of [...places.values()]) {
    const id = idOf(place);
    if (id === undefined) continue;
    const other = last.get(id);
    if (other !== undefined) places.delete(Math.min(other, place.number));
    last.set(id, Math.max(other ?? place.number, place.number));
  }
}

/** The manifest, also where its checksum does not fit: a changed bit is restored, an edited one is taken as it is. */
function readManifest(folder: string, mended: Set<string>): SavedManifest | undefined {
  try {
    const bytes = readManifestFile(folder);
    const { covered, crc } = sealOf(bytes);
    if (covered.length > 0 && crc32c(covered) !== crc && mendBit(covered, crc) !== undefined) {
      mended.add("collection.json");
    }
    const { manifest, files } = parseSaved(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    const isOurs = ({ name, bytes: size }: SavedManifest["files"][number]) =>
      /^[a-z0-9._-]+$/.test(name) && Number.isSafeInteger(size);
    return { manifest, files: files.filter(isOurs) };
  } catch {
    return undefined;
  }
}

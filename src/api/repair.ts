/**
 * Repairs damaged collections. What is derived is made again in place, by an ordinary rewrite of the base. Where rows
 * are damaged, what can be read is saved in a new collection, in one transaction, and the damaged one is not touched:
 * its bytes may still be of use.
 */

import { join } from "node:path";
import { shown } from "../checks/kinds.ts";
import { OSError, ValueError } from "../errors.ts";
import { repoIdOfNote } from "../repo/fingerprints/note.ts";
import { openSalvage, type Salvage } from "../store/salvage.ts";
import type { Store } from "../store/store.ts";
import type { Embedders } from "../texts/embedders.ts";
import type { CheckedCollection } from "./check.ts";
import { checkCollection } from "./check.ts";
import type { Watch } from "./options.ts";
import { ROWS_TOGETHER, SalvageWriter } from "./salvage.ts";

/** What was done to a collection. */
export interface RepairedCollection {
  name: string;
  /**
   * `none`: it is sound. `rebuilt`: what was damaged is derived, and was made again. `fetched`: it is a copy of a
   * database's, and was fetched again. `salvaged`: the rows that can be read are in the collection `to`. `impossible`:
   * see `note`.
   */
  action: "none" | "rebuilt" | "fetched" | "salvaged" | "impossible";
  /** The new collection and its rows. */
  to?: string;
  rows?: number;
  /**
   * Rows of which something was lost, and what; `id` is null where that was lost, and with it the row. 1,000 at most.
   */
  lost: { id: string | null; parts: string[] }[];
  lost_rows: number;
  /** Bits that were restored, as their checksums say. */
  restored_bits: number;
  /** Runs of saved changes, or whole files, that say nothing: whose rows and deletions are unknown. */
  lost_blocks: { file: string; offset: number; bytes: number }[];
  /** What to know or do, in a sentence or two. */
  note: string;
}

/** How to repair. */
export interface RepairOptions extends Watch {
  /** Name of the collection for salvaged rows (NAME-repaired, or that with a number after it). */
  to?: string | undefined;
}

/** Repairs a collection that was checked. @throws ValueError for a name of `to` that is taken; OSError */
export async function repair(
  store: Store,
  embedders: Embedders,
  checked: CheckedCollection,
  options: RepairOptions,
): Promise<RepairedCollection> {
  const { name } = checked;
  const result: RepairedCollection = {
    name,
    action: "none",
    lost: [],
    lost_rows: 0,
    restored_bits: 0,
    lost_blocks: [],
    note: "it is sound",
  };
  const isCopy = store.coordinator?.covers(name) ?? false;
  if (checked.sound) return checked.leftover === undefined ? result : { ...result, note: checked.leftover };
  const otherVersion = checked.older ?? checked.newer;
  if (otherVersion !== undefined) return { ...result, action: "impossible", note: otherVersion };
  if (checked.damages.length > 0 && checked.damages.every(({ part }) => part === "fingerprints")) {
    return { ...result, note: "the next call about the repository makes its fingerprints again" };
  }
  if (isCopy) return fetchAgain(store, result, options);
  if (await rebuild(store, checked, options)) {
    const hadIvf = checked.damages.some(({ part }) => part === "ivf");
    const again = hadIvf ? `; 'svc mem build-ivf ${name}' builds its approximate index again` : "";
    const hadHistory = checked.damages.some(({ part }) => part === "history");
    const gone = hadHistory ? "; what of its history could not be read is gone" : "";
    const note = `the damaged parts were made again, and no row was lost${again}${gone}`;
    return { ...result, action: "rebuilt", note };
  }
  return salvage(store, embedders, result, options);
}

/** The database has the rows: what is damaged is this machine's copy. */
async function fetchAgain(store: Store, result: RepairedCollection, watch: Watch): Promise<RepairedCollection> {
  const { name } = result;
  await store.coordinator!.refetch(name, store.env, watch.signal);
  store.forget(store.held(name));
  const after = await checkCollection(store, name, { signal: watch.signal });
  if (after.sound) return { ...result, action: "fetched", note: "the copy was fetched again from the database" };
  const note =
    "the copy was fetched again, and is damaged in the database as well: restore the database from a backup, or " +
    `'svc mem copy ${name} --from DATABASE --path DIR' and repair it there`;
  return { ...result, action: "impossible", note };
}

/** A rewrite of the base makes all that is derived again, and refuses to copy what is not as it was written. */
async function rebuild(store: Store, checked: CheckedCollection, watch: Watch): Promise<boolean> {
  const { name, damages } = checked;
  if (damages.some(({ part }) => part === "base" || part === "delta" || part === "manifest")) return false;
  try {
    const collection = store.reopen(name);
    if (collection === undefined) return false;
    await collection.compact(watch, true);
    const after = await checkCollection(store, name, { signal: watch.signal });
    return after.sound;
  } catch (error) {
    if (error instanceof OSError && error.reason === "damaged") return false;
    throw error;
  }
}

async function salvage(
  store: Store,
  embedders: Embedders,
  result: RepairedCollection,
  options: RepairOptions,
): Promise<RepairedCollection> {
  const { name } = result;
  const found = openSalvage(store.env, join(store.dir, name));
  if (found === undefined) {
    const note =
      "collection.json cannot be read, and without it svc cannot read the rows: copy that file from a backup of this " +
      "collection into the folder, even from an older backup, and repair again";
    return { ...result, action: "impossible", note };
  }
  try {
    const { manifest } = found;
    const notes = Object.keys(manifest.notes);
    if (notes.some((note) => repoIdOfNote(note) !== undefined) && hasOnlyTerms(found)) {
      const note = `it has nothing but indexed files: move its folder away, and 'svc mem index --collection ${name}' indexes them again`;
      return { ...result, action: "impossible", note };
    }
    const to = freeName(store, name, options.to);
    const embedder = manifest.embedderProfile
      ? await embedders.attached(name, manifest.embedderProfile).catch(() => undefined)
      : undefined;
    const schema = {
      ...manifest,
      metric: manifest.embedderProfile ? undefined : manifest.metric,
      partitionBy: manifest.keyName,
    };
    const rows = await store.createWith(to, schema, async (fresh) => {
      await new SalvageWriter(found, fresh, embedder, result, options).write();
      return fresh.count();
    });
    return {
      ...result,
      action: "salvaged",
      to,
      rows,
      restored_bits: found.restoredBits,
      lost_blocks: found.lostBlocks,
      note:
        `collection ${shown(name)} is unchanged; to use ${shown(to)} in its place, give ${shown(name)} another name, then ` +
        `run 'svc mem rename ${to} ${name}'; when you no longer need the damaged collection, remove it with 'svc mem drop'`,
    };
  } finally {
    found.close();
  }
}

/** Whether the rows are those of files, whose terms are in the word index only: `index_repo` makes them again. */
function hasOnlyTerms(found: Salvage): boolean {
  let seen = 0;
  for (const row of found.rows()) {
    if (!row.hasTerms && row.text !== null && row.text !== undefined) return false;
    if (++seen === ROWS_TOGETHER) break;
  }
  return true;
}

function freeName(store: Store, name: string, to: string | undefined): string {
  const isFree = (other: string) => store.find(other) === undefined;
  if (to !== undefined) {
    if (isFree(to)) return to;
    throw new ValueError(`collection ${shown(to)} exists already: give --to another name`);
  }
  for (let i = 1; ; i++) {
    const other = `${name}-repaired${i === 1 ? "" : `-${i}`}`;
    if (isFree(other)) return other;
  }
}

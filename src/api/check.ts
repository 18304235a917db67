/**
 * A complete check of collections, of those too that cannot be opened: every byte is read, all damage is named with the
 * rows it concerns, what it means and what a repair does about it.
 */
import { lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { Damage } from "../../ffi/records.ts";
import { errorLine, OSError, type SvcError, TimeoutError, ValueError } from "../errors.ts";
import { isLogSound, logsOf } from "../repo/fingerprints/log-copy.ts";
import { absent, isGone, leftoverOf, stateOf } from "../store/folder-state.ts";
import { refusedVersion } from "../store/format-version.ts";
import type { Unreadable } from "../store/overview.ts";
import { openSalvage, type Salvage } from "../store/salvage.ts";
import type { Store } from "../store/store.ts";
import { type NamedOptions, watchOf } from "./named.ts";
import type { Watch } from "./options.ts";

/** Ids that are named of one damaged place. */
const IDS_SHOWN = 10;

/** What a damaged place belongs to: the parts of the runtime, and the fingerprints of a repository. */
export type Part = Damage["part"] | "fingerprints";

/** A damaged place. */
export interface CheckedDamage {
  part: Part;
  /** In the collection's folder; offset and bytes in that file, section as in FORMAT.md (0: of no section). */
  file: string;
  section: number;
  offset: number;
  bytes: number;
  /** How many rows of the base it concerns; 0: of none, or not known of which. */
  rows: number;
  /** Ids of the first of these rows, as far as they can be read. */
  ids: string[];
  /** What is wrong with the bytes; what that means; what `--repair` does. */
  what: string;
  meaning: string;
  repair: string;
}

/** A collection that was checked, or a folder that an interrupted first save left, which is sound: it holds no row. */
export interface CheckedCollection extends Omit<Unreadable, "damaged"> {
  name: string;
  sound: boolean;
  /** The manifest's generation; 0 if it cannot be read. */
  generation: number;
  /** That were read. */
  bytes: number;
  /** Damaged places; `damages` has 256 of them at most. */
  found: number;
  damages: CheckedDamage[];
  /** Files that no manifest names, of killed processes: harmless, the next compaction removes them. */
  leftovers: { file: string; bytes: number }[];
  /** Why it cannot be opened or checked, where it is not of another version. */
  error?: string;
}

/** What to check; all collections are also those that have lost their manifest, and leftovers of first saves. */
export type CheckOptions = NamedOptions;

/** Checks collections one after the other. @throws ValueError for a name that is not there */
export async function check(store: Store, options: CheckOptions): Promise<CheckedCollection[]> {
  const listed = store.listed();
  const names = [...new Set(options.names ?? listed)];
  for (const name of names) if (!listed.includes(name)) throw absent(store.dir, name);
  const results: CheckedCollection[] = [];
  for (const name of names) {
    try {
      results.push(await checkCollection(store, name, watchOf(options, name)));
    } catch (error) {
      // Another process has dropped it, or made it again and not saved it yet: the others are checked all the same.
      if (options.names !== undefined || !isGone(error)) throw error;
    }
  }
  return results;
}

/** Checks one collection. @throws ValueError where it is gone, or was never saved */
export async function checkCollection(store: Store, name: string, watch: Watch): Promise<CheckedCollection> {
  const folder = join(store.dir, name);
  const result: CheckedCollection = {
    name,
    sound: false,
    generation: 0,
    bytes: 0,
    found: 0,
    damages: [],
    leftovers: [],
  };
  try {
    if (stateOf(folder) === "leftover") {
      return { ...result, sound: true, leftovers: leftoversOf(folder), leftover: leftoverOf(name) };
    }
    const { damages, found, bytes, generation } = await store.checkFiles(name, watch);
    const salvage = openSalvage(store.env, folder);
    const logs = logDamages(folder, salvage?.saved.manifest.notes ?? {});
    Object.assign(result, { bytes, generation, found: found + logs.length });
    result.damages = [...withIds(salvage, damages), ...logs];
    // Without a manifest nothing is known to be left over.
    const files = salvage?.saved.files.map((file) => file.name);
    result.leftovers = files ? leftoversOf(folder, files) : [];
    // What bytes alone do not show: counts that disagree, operations that do not fit.
    if (found === 0) store.reopen(name)?.count();
    result.sound = result.found === 0;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") throw absent(store.dir, name);
    if (watch.signal?.aborted || isGone(error) || !isOfOne(error)) throw error;
    const other = error.reason === "other_version" ? refusedVersion(folder) : {};
    Object.assign(result, other);
    if (other.older === undefined && other.newer === undefined) result.error = errorLine(error);
  }
  // Files that are missing because another process has just dropped them.
  if (!result.sound && stateOf(folder) === "other") throw absent(store.dir, name);
  return result;
}

/** Whether an error is about one collection, and no reason to leave the others unchecked. */
function isOfOne(error: unknown): error is SvcError {
  return error instanceof OSError || error instanceof ValueError || error instanceof TimeoutError;
}

/** The damages with the first ids of their rows, and what to do about them. */
function withIds(salvage: Salvage | undefined, damages: Damage[]): CheckedDamage[] {
  try {
    return damages.map(({ part, file, section, offset, bytes, first, rows, what }) => {
      const ids: string[] = [];
      for (let at = first; salvage && at < first + Math.min(rows, IDS_SHOWN); at++) {
        const id = salvage.idOf(at);
        if (id !== undefined) ids.push(id);
      }
      return { part, file, section, offset, bytes, rows, ids, what, ...EXPLAINED[part] };
    });
  } finally {
    salvage?.close();
  }
}

function logDamages(folder: string, notes: Readonly<Record<string, unknown>>): CheckedDamage[] {
  return logsOf(notes)
    .filter((log) => !isLogSound(folder, log))
    .map(({ file, bytes }) => ({
      part: "fingerprints",
      file,
      section: 0,
      offset: 0,
      bytes,
      rows: 0,
      ids: [],
      what: "it is missing or does not match its checksum",
      ...EXPLAINED.fingerprints,
    }));
}

const OURS = /^(?:(?:base|ivf|lexical|delta|meaning|history)-[0-9a-f]{16}\.slab|.*\.tmp-\d+(?:-\d+)?)$/;

/** Files of a folder that a process has left, but those of `files`. */
function leftoversOf(folder: string, files: readonly string[] = []): CheckedCollection["leftovers"] {
  const isNamed = new Set(files);
  return readdirSync(folder)
    .filter((file) => OURS.test(file) && !isNamed.has(file))
    .sort()
    .map((file) => ({ file, bytes: lstatSync(join(folder, file), { throwIfNoEntry: false })?.size ?? 0 }));
}

const REBUILT = "it is rebuilt; no row is lost";

/** What damage of a part means, and what a repair does about it. */
const EXPLAINED: Record<Part, { meaning: string; repair: string }> = {
  base: {
    meaning: "the collection cannot be opened",
    repair: "the rows that can be read are saved in a new collection",
  },
  codes: {
    meaning: "these rows are scored by their stored vectors, or are not found by meaning",
    repair: "they are made again from the stored vectors; if they are the only vectors, the texts are embedded again",
  },
  vectors: {
    meaning: "these rows may not be found by meaning",
    repair: "their texts are embedded again; rows without a text lose their vector",
  },
  texts: {
    meaning: "these texts cannot be read",
    repair: "all rows are saved in a new collection, these without their text",
  },
  metadata: {
    meaning: "the metadata of these rows cannot be read",
    repair: "all rows are saved in a new collection, these without their metadata",
  },
  filter: { meaning: "filters or weights are computed more slowly", repair: REBUILT },
  ivf: { meaning: "searches read all rows", repair: REBUILT },
  words: { meaning: "searches rank by meaning alone", repair: `${REBUILT}, where rows have texts` },
  delta: {
    meaning: "the collection cannot be opened: changes since the last compaction are damaged",
    repair: "the rows that the undamaged changes left are saved in a new collection",
  },
  id_map: { meaning: "other programs read wrong ids from it; svc does not use it", repair: REBUILT },
  manifest: {
    meaning: "the collection cannot be opened",
    repair: "the rows that can be read are saved in a new collection",
  },
  meaning: {
    meaning: "these rows are found by their words only, until svc has read their texts again",
    repair: `${REBUILT}, without the vectors that cannot be read; svc makes these again from the texts`,
  },
  history: {
    meaning: "what saves before the last compaction have changed cannot be seen or undone; no live row is affected",
    repair: "what of the history can be read is kept",
  },
  fingerprints: {
    meaning: "the repository's files are read again by the next call about it",
    repair: "nothing: the next call about the repository makes it again",
  },
};

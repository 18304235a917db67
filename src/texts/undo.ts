/**
 * Puts back what the last save that deleted or replaced rows took away. The vectors are the stored ones, to the bit,
 * and need no embedder.
 */
import { shown } from "../checks/kinds.ts";
import { ValueError } from "../errors.ts";
import type { Collection, Row, Transaction } from "../store/collection.ts";
import { Put } from "../store/writer.ts";
import { putRead } from "./dated.ts";

/** Rows that are put back at once. */
const ROWS_TOGETHER = 1000;
/** Ids that an error names. */
const NAMED_MOST = 3;
/** The note with a digest of the superseded rows that are no more to be undone. */
const NOTE = "undo";

/** What an undo does, or would do. All lists are in the order of insertion. */
export interface Undone {
  /** When the save that is undone was made, in milliseconds since 1970. */
  saved: number;
  /** Ids that it deleted, and that are back. */
  restored: string[];
  /** Ids whose rows it replaced, and that are as they were. */
  reverted: string[];
  /** Ids that it deleted, and that were added again by a later save: only with `force` are they as they were. */
  changed: string[];
  /**
   * Other ids that were added with it or later, whose rows stay. They are recognised by their times: rows that were
   * imported with older ones, or added and saved together with a deletion, may be missing.
   */
  left: string[];
}

export interface UndoOptions {
  /** Also replace rows of ids that were added again since (false). */
  force?: boolean | undefined;
  signal?: AbortSignal | undefined;
}

/** The part of a plan that says which rows come back. */
export type Planned = Omit<Undone, "left">;

/** With `planned`, what `planUndo` returned, an undo that would put back other rows by now is refused. */
interface PlannedOptions extends UndoOptions {
  planned?: Planned | undefined;
}

/** What `undo` would do; nothing is written. @throws ValueError where there is nothing to undo */
export function planUndo(collection: Collection): Undone {
  return planOf(collection, supersededOf(collection)).undone;
}

/**
 * Puts the rows back that the last destructive save took away: id, text, metadata, vector and `created` as they were,
 * `updated` now. Rows that this save added stay. A deleted row comes back after the others in the order of insertion.
 * One change: other writers come before or after it, and a kill leaves all of it or nothing.
 * @throws ValueError where there is nothing to undo, it was undone already, rows are those of a repository's files, or,
 *   without `force`, an id was added again since, or it is not what was planned; nothing is written
 */
export function undo(collection: Collection, { force = false, planned, signal }: PlannedOptions = {}): Promise<Undone> {
  return collection.change(async (t) => {
    const superseded = supersededOf(collection);
    const { undone, replaced } = planOf(collection, superseded);
    const { changed } = undone;
    if (planned !== undefined && !isPlanned(undone, planned)) {
      throw new ValueError(
        `collection ${shown(collection.name)} was changed after its rows were listed, so nothing was put back: run ` +
          "'svc mem undo' again to list what it would put back now",
      );
    }
    if (changed.length > 0 && !force) {
      throw new ValueError(
        `${some(changed)} of collection ${shown(collection.name)} cannot be undone: ` +
          `${changed.length === 1 ? "this id was" : "these ids were"} deleted and then added again; with force (--force) an undo ` +
          "replaces the new rows",
      );
    }
    // A replacement would have the new row's created.
    await t.delete(changed);
    await putBack(t, collection, superseded.rows, replaced, signal);
    t.note(NOTE, { rows: digest(replaced.length > 0 ? replaced : superseded.rows) });
    return undone;
  }, signal);
}

function isPlanned(undone: Undone, planned: Planned): boolean {
  const key = ({ saved, restored, reverted, changed }: Planned) => JSON.stringify([saved, restored, reverted, changed]);
  return key(undone) === key(planned);
}

type Superseded = NonNullable<ReturnType<Collection["superseded"]>>;

function supersededOf(collection: Collection): Superseded {
  const found = collection.superseded({ metadata: true, text: true, times: true });
  const name = shown(collection.name);
  if (!found) {
    throw new ValueError(
      `there is nothing to undo in collection ${name}: no save has deleted or replaced rows since it was made or last ` +
        "compacted; earlier rows are in backups only",
    );
  }
  const note = collection.note(NOTE) as { rows?: unknown } | undefined;
  if (note?.rows === digest(found.rows)) {
    throw new ValueError(
      `the last save that deleted or replaced rows of collection ${name} was undone already: ` +
        "you cannot undo an undo, add the rows again",
    );
  }
  if (found.rows.some(isOfFile)) {
    throw new ValueError(
      `collection ${name} holds the index of a repository, whose rows follow its files: index it again instead`,
    );
  }
  return found;
}

/** @returns also the live rows that an undo takes away */
function planOf(collection: Collection, { rows, time }: Superseded): { undone: Undone; replaced: Row[] } {
  const undone: Undone = { saved: time, restored: [], reverted: [], changed: [], left: [] };
  const live = collection.get(
    rows.map(({ id }) => id),
    { times: true },
  );
  rows.forEach(({ id, birth }, i) => {
    const { found, birth: of } = live[i]!;
    // A replacement has its victim's birth, and stands right before it once they are compacted.
    (found ? (of <= birth ? undone.reverted : undone.changed) : undone.restored).push(id);
  });
  const changed = new Set(undone.changed);
  undone.left = leftOf(collection, rows, live, time).filter((id) => !changed.has(id));
  return { undone, replaced: live.filter(({ found }) => found) };
}

/**
 * Live ids that the destructive save or a later one added, in the order of insertion, which is the order of saves. The
 * first of them is found by its time: it was put after that save, or together with a row that replaced another one.
 * Rows that were imported with older times are among them where another such row comes before.
 */
function leftOf(collection: Collection, rows: readonly Row[], live: readonly Row[], time: number): string[] {
  const last = rows.at(-1)!.birth;
  const times = new Set<number>();
  let since = time;
  rows.forEach(({ times: old }, i) => {
    const updated = live[i]!.times?.updated ?? 0;
    // An import may give a row the time that it had.
    if (updated <= old!.updated) return;
    times.add(updated);
    since = Math.min(since, updated);
  });
  const candidates = collection.ids({ since });
  for (let from = 0; from < candidates.length; from += ROWS_TOGETHER) {
    const first = collection.get(candidates.slice(from, from + ROWS_TOGETHER), { times: true }).find((row) => {
      const { updated } = row.times!;
      return row.birth > last && (updated >= time || times.has(updated));
    });
    if (first) return [first.id, ...collection.ids({ after: first.id })];
  }
  return [];
}

async function putBack(
  t: Transaction,
  { schema: { dim } }: Collection,
  rows: readonly Row[],
  replaced: readonly Row[],
  signal: AbortSignal | undefined,
): Promise<void> {
  // No row that was there has this time: what later saves take away differs from what this one does.
  const taken = new Set([...rows, ...replaced].map(({ times }) => times!.updated));
  let now = Date.now();
  while (taken.has(now)) now++;
  for (let from = 0; from < rows.length; from += ROWS_TOGETHER) {
    signal?.throwIfAborted();
    const part = rows.slice(from, from + ROWS_TOGETHER);
    await putRead(t, Put.UPSERT, part, dim, { updated: now, undo: true }, { signal });
  }
}

/** Rows that were superseded together, whatever their order: which ones, of which put. 16 hex digits. */
function digest(rows: readonly Row[]): string {
  const names = rows.map(({ id, times }) => `${times!.updated} ${id}\0`).sort();
  return new Bun.CryptoHasher("sha256").update(names.join("")).digest("hex").slice(0, 16);
}

/** A row of a repository has no text of its own, and terms that went with it. */
function isOfFile({ text, metadata }: Row): boolean {
  return text === undefined && typeof metadata?.repo_id === "string" && typeof metadata.path === "string";
}

function some(ids: readonly string[]): string {
  const named = ids.slice(0, NAMED_MOST).map(shown).join(", ");
  return ids.length === 1 ? `id ${named}` : `${ids.length} ids (${named}${ids.length > NAMED_MOST ? ", …" : ""})`;
}

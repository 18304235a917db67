/**
 * Takes back what saves have changed: one save, all saves since a time, or what they did to one row. The rows come from
 * the history, their vectors to the bit, and need no embedder. An undo is a save: it can be undone as well.
 */
import { isDeepStrictEqual } from "node:util";
import { shown } from "../../checks/kinds.ts";
import { ValueError } from "../../errors.ts";
import type { Change, Collection, Detail, Row, Transaction } from "../../store/collection.ts";
import { Put } from "../../store/writer.ts";
import { putRead } from "../dated.ts";
import { allUndos, changesIn, rowDigest, type Save, type Undo, undosInEffect } from "./history.ts";
import { type Choice, choicesOf, nothingFound, savesInWords, type UndoTarget } from "./undo-choice.ts";

/** Ids that an error names. */
const NAMED_MAX = 3;

/** What an undo does, or would do. Lists of ids are in the order of the changes. */
export interface Undone {
  /** The saves that it undoes: the numbers of the first and the last one, and when the first was made. */
  first: number;
  last: number;
  saved: number;
  /** Ids that were deleted, and that are back. */
  restored: string[];
  /** Ids that were replaced, and that are as they were before. */
  reverted: string[];
  /** Ids that were added, and that are deleted. */
  removed: string[];
  /** Ids that a later save changed: they stay as they are, unless `force` is given. */
  changed: string[];
  /** Ids whose earlier row is damaged in the history: they stay as they are. */
  lost: string[];
}

export type { UndoTarget } from "./undo-choice.ts";

export interface UndoOptions {
  /** Also take back rows that later saves changed (false). */
  force?: boolean | undefined;
  signal?: AbortSignal | undefined;
}

/** If `planned`, a result of `planUndo`, is given, the undo is refused unless it would still do exactly that. */
interface PlannedOptions extends UndoOptions {
  planned?: Undone | undefined;
}

/** What the undo does, and the earliest change of each row. */
interface Plan {
  undone: Undone;
  /** The indices of the changes: from the first to the one after the last. */
  from: number;
  to: number;
  /** Of each id its earliest change among them. */
  earliest: ReadonlyMap<string, Earliest>;
}

interface Earliest extends Pick<Change, "index" | "kind"> {
  /** Changes of the id among those that are undone. */
  changes: number;
  /** The row before it is damaged. */
  isLost: boolean;
}

/** What `undo` would do; nothing is written. @throws ValueError where there is nothing to undo */
export function planUndo(collection: Collection, target: UndoTarget = {}): Undone {
  return planOf(collection, target).undone;
}

/**
 * Undoes saves. Rows that come back have id, text, metadata, vector and `created` as they were, and `updated` now; a
 * deleted one comes after the others in the order of insertion. One change: other writers come before or after it, and
 * a kill leaves all of it or nothing.
 * @throws ValueError where there is nothing to undo, it is undone already, the history does not reach so far, it is not
 *   what was planned, or, without `force`, later saves changed all of the rows; nothing is written
 */
export function undo(
  collection: Collection,
  target: UndoTarget = {},
  { force = false, planned, signal }: PlannedOptions = {},
): Promise<Undone> {
  return collection.change(async (t) => {
    const plan = planOf(collection, target);
    const { undone, earliest } = plan;
    if (planned !== undefined && !isDeepStrictEqual(undone, planned)) {
      throw new ValueError(
        `collection ${shown(collection.name)} was changed after the plan was listed, so nothing was undone: run ` +
          "'svc mem undo' again to list what it would do now",
      );
    }
    const { first, last, restored, reverted, removed, changed } = undone;
    const forced = force ? changed : [];
    const [added, back] = partition([...restored, ...reverted, ...forced], (id) => earliest.get(id)!.kind === "added");
    if (back.length + added.length + removed.length === 0) throw refused(collection, undone);
    t.addOrigin({ undoes: [[first, last]], row: target.id === undefined ? undefined : rowDigest(target.id) });
    await t.delete([...removed, ...added]);
    await putBack(t, collection, plan, new Set(back), signal);
    return undone;
  }, signal);
}

function planOf(collection: Collection, target: UndoTarget): Plan {
  let empty: Undone | undefined;
  for (const choice of choicesOf(collection, target)) {
    const plan = planFor(collection, target, choice);
    if (plan.undone.restored.length + plan.undone.reverted.length + plan.undone.removed.length > 0) return plan;
    if (plan.undone.changed.length + plan.undone.lost.length > 0) return plan;
    empty ??= plan.undone;
  }
  if (empty === undefined) throw nothingFound(collection, target);
  const of = target.id === undefined ? "" : ` for id ${shown(target.id)}`;
  throw new ValueError(
    `there is nothing to undo${of} in ${savesInWords(empty)} of collection ${shown(collection.name)}: all rows are as they were before`,
  );
}

function planFor(collection: Collection, target: UndoTarget, { saves, later }: Choice): Plan {
  const [last, first] = [saves[0]!, saves.at(-1)!];
  const [from, to] = [first.from, last.to];
  const earliest = earliestChanges(collection, { from, to, id: target.id });
  const changedLater = idsOf(collection, to, later);
  for (const id of target.since === undefined ? idsFurtherBack(collection, last) : []) {
    if (target.save === undefined) earliest.delete(id);
    else changedLater.add(id);
  }
  const undone: Undone = {
    first: first.save,
    last: last.save,
    saved: first.time,
    restored: [],
    reverted: [],
    removed: [],
    changed: [],
    lost: [],
  };
  const ids = [...earliest.keys()];
  const live = collection.get(ids, {});
  const doubtful = ids.filter((id, i) => live[i]!.found && (changedLater.has(id) || earliest.get(id)!.changes > 1));
  const asBefore = idsAsBefore(collection, { from, to, earliest }, new Set(doubtful));
  ids.forEach((id, i) => {
    const change = earliest.get(id)!;
    const { found } = live[i]!;
    const isLater = changedLater.has(id);
    if ((change.kind === "added" && !found) || asBefore.has(id)) return;
    if (change.isLost) undone.lost.push(id);
    else if (isLater) undone.changed.push(id);
    else if (change.kind === "added") undone.removed.push(id);
    else (found ? undone.reverted : undone.restored).push(id);
  });
  return { undone, from, to, earliest };
}

function earliestChanges(
  collection: Collection,
  which: { from: number; to: number; id?: string | undefined },
): Map<string, Earliest> {
  const earliest = new Map<string, Earliest>();
  for (const page of changesIn(collection, which)) {
    for (const { id, index, kind, before } of page) {
      const known = earliest.get(id);
      if (known) known.changes++;
      else earliest.set(id, { index, kind, changes: 1, isLost: kind !== "added" && before === undefined });
    }
  }
  return earliest;
}

/** The ids whose rows later undos of this save or of an earlier one changed: they are further back already. */
function idsFurtherBack(collection: Collection, { save: last, to }: Save): Set<string> {
  const undos = allUndos(collection);
  const isFurther = ({ save, ranges }: Undo) => save > last && ranges.some(([low]) => low <= last);
  const rows = new Set(undos.map(({ row }) => row));
  const savesByRow = new Map<string | undefined, Set<number>>();
  const savesFor = (row: string | undefined) => {
    const known =
      savesByRow.get(row) ??
      new Set(
        undosInEffect(undos, row)
          .filter(isFurther)
          .map(({ save }) => save),
      );
    savesByRow.set(row, known);
    return known;
  };
  const ids = new Set<string>();
  for (const { id, save } of changesBy(collection, to, undos.filter(isFurther))) {
    const row = rowDigest(id);
    if (savesFor(rows.has(row) ? row : undefined).has(save)) ids.add(id);
  }
  return ids;
}

/** The ids that these saves changed; their changes have indices from `from` on. */
function idsOf(collection: Collection, from: number, saves: readonly { save: number }[]): Set<string> {
  return new Set([...changesBy(collection, from, saves)].map(({ id }) => id));
}

/** The changes of these saves; they have indices from `from` on. */
function* changesBy(
  collection: Collection,
  from: number,
  saves: readonly { save: number }[],
): Generator<Change, undefined> {
  if (saves.length === 0) return undefined;
  const numbers = new Set(saves.map(({ save }) => save));
  for (const page of changesIn(collection, { from, to: Number.MAX_SAFE_INTEGER })) {
    yield* page.filter(({ save }) => numbers.has(save));
  }
  return undefined;
}

/** Of these live ids, those whose rows equal the rows before the changes, apart from `updated`. */
function idsAsBefore(collection: Collection, plan: Omit<Plan, "undone">, ids: ReadonlySet<string>): Set<string> {
  const found = new Set<string>();
  const detail = { metadata: true, text: true, times: true, vector: true };
  for (const rows of earliestRows(collection, plan, ids, detail)) {
    const live = collection.get(
      rows.map(({ id }) => id),
      detail,
    );
    rows.forEach(({ id, before }, i) => {
      if (isSameRow(before, live[i]!)) found.add(id);
    });
  }
  return found;
}

function isSameRow(a: Row, b: Row): boolean {
  if (a.text !== b.text || a.times!.created !== b.times!.created) return false;
  const bytes = ({ vector }: Row) => new Uint8Array(vector!.buffer, vector!.byteOffset, vector!.byteLength);
  return isDeepStrictEqual(a.metadata, b.metadata) && Buffer.compare(bytes(a), bytes(b)) === 0;
}

/** The rows before the earliest changes of these ids, in pages; without those that were added or are damaged. */
function* earliestRows(
  collection: Collection,
  { from, to, earliest }: Omit<Plan, "undone">,
  ids: ReadonlySet<string>,
  detail: Detail,
): Generator<(Change & { before: Row })[], undefined> {
  if (ids.size === 0) return undefined;
  const isWanted = (change: Change): change is Change & { before: Row } =>
    change.before !== undefined && ids.has(change.id) && earliest.get(change.id)!.index === change.index;
  for (const page of changesIn(collection, { from, to }, detail)) {
    const wanted = page.filter(isWanted);
    if (wanted.length > 0) yield wanted;
  }
  return undefined;
}

/** Puts back the rows before the earliest changes of these ids. */
async function putBack(
  t: Transaction,
  collection: Collection,
  plan: Plan,
  ids: ReadonlySet<string>,
  signal: AbortSignal | undefined,
): Promise<void> {
  const updated = Date.now();
  for (const wanted of earliestRows(collection, plan, ids, { metadata: true, text: true, times: true })) {
    signal?.throwIfAborted();
    const rows = wanted.map(({ before }) => before);
    const live = collection.get(
      rows.map(({ id }) => id),
      { times: true },
    );
    // A replacement would have the live row's created.
    const others = live.filter(({ times }, i) => times !== undefined && times.created !== rows[i]!.times!.created);
    await t.delete(others.map(({ id }) => id));
    const of = new Map(wanted.map(({ id, index }) => [id, index]));
    await putRead(t, Put.UPSERT, rows, collection.schema.dim, { updated, of }, { signal });
  }
}

function refused(collection: Collection, undone: Undone): ValueError {
  const { first, last, changed, lost } = undone;
  const why = [
    ...(changed.length > 0 ? [`${some(changed)} changed by later saves: --force takes such changes back as well`] : []),
    ...(lost.length > 0 ? [`${some(lost)} damaged in the history`] : []),
  ];
  const were = first === last ? "was" : "were";
  return new ValueError(
    `${savesInWords(undone)} of collection ${shown(collection.name)} ${were} not undone: ${why.join("; ")}`,
  );
}

function some(ids: readonly string[]): string {
  const named = ids.slice(0, NAMED_MAX).map(shown).join(", ");
  return ids.length === 1
    ? `id ${named} was`
    : `${ids.length} ids (${named}${ids.length > NAMED_MAX ? ", …" : ""}) were`;
}

function partition<T>(list: readonly T[], is: (item: T) => boolean): [T[], T[]] {
  return [list.filter(is), list.filter((item) => !is(item))];
}

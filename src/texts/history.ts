/**
 * The history of a collection: its saves, and which of them are undone. An undo is a save like any other, whose origin
 * names the saves that it undoes.
 */
import { createHash } from "node:crypto";
import { isObject } from "../checks/kinds.ts";
import { ValueError } from "../errors.ts";
import { type Origin, readOrigin } from "../origin.ts";
import type { Change, Collection, Detail, Row, SaveRecord, Transaction } from "../store/collection.ts";

/** Saves that are read at once. */
const SAVES_TOGETHER = 500;
/** Changes that are read, and rows that are put back, at once. */
const CHANGES_TOGETHER = 1000;
/** The note of the manifest that FORMAT.md describes. */
const NOTE = "history";
/** What counts where it says nothing. */
const DEFAULT: HistoryRule = { days: 30, percent: 25 };
const DAYS_MAX = 36_500;
const PERCENT_MAX = 1000;

/** How much history a collection keeps. */
export interface HistoryRule {
  /** 0: none. */
  days: number;
  /** Of the bytes of its base and indexes, at least 8 MiB. */
  percent: number;
}

/** A save that changed rows. */
export interface Save {
  /** Its number. */
  save: number;
  /** Milliseconds since 1970, by the clock of the process that saved. */
  time: number;
  origin: Origin;
  /** Ids that it added, replaced and deleted. */
  added: number;
  replaced: number;
  deleted: number;
  /** The save that undid it; undefined where none did, or that one was undone itself. */
  undoneBy: number | undefined;
  /** The indices of its changes, from the first to the one after the last. */
  from: number;
  to: number;
}

/** Whether a save undoes others. */
export function isUndo({ origin }: { origin: Origin }): boolean {
  return origin.undoes !== undefined;
}

/**
 * The saves of the history, the latest first. They are read as far as the caller goes.
 * @param row only undos of all rows, and of this row, count
 */
export function* savesOf(collection: Collection, row?: string): Generator<Save, undefined> {
  const digest = row === undefined ? undefined : rowDigest(row);
  const undos = undosOf(collection, (other) => other === digest);
  for (let before: number | undefined; ; ) {
    const saves = collection.saves({ before, limit: SAVES_TOGETHER });
    for (const record of saves) yield toSave(record, undos);
    if (saves.length < SAVES_TOGETHER) return undefined;
    before = saves.at(-1)!.save;
  }
}

/** An undo that is in effect, and the saves that it undoes. */
interface Undo {
  by: number;
  ranges: readonly (readonly [number, number])[];
}

/** @param counts whether an undo counts that is of one row, by the digest of its id */
function undosOf(collection: Collection, counts: (row: string) => boolean): Undo[] {
  const undos: Undo[] = [];
  // The latest first: whether an undo is undone itself is known when it is reached.
  for (const { save, origin: json } of collection.saves({ undos: true })) {
    const { undoes, row } = readOrigin(json);
    const isCounted = row === undefined || counts(row);
    if (undoes && isCounted && undoneBy(save, undos) === undefined) undos.push({ by: save, ranges: undoes });
  }
  return undos;
}

/** The rows, by the digests of their ids, of which an undo of one row has undone a save from the first to the last. */
export function rowsUndoneIn(collection: Collection, first: number, last: number): Set<string> {
  const undos = collection.saves({ undos: true }).map(({ save, origin }) => ({ save, ...readOrigin(origin) }));
  const rows = new Set(undos.flatMap(({ row }) => (row === undefined ? [] : [row])));
  const isUndone = (row: string) =>
    undosOf(collection, (other) => other === row).some(({ by, ranges }) => {
      const isOfRow = undos.some((undo) => undo.save === by && undo.row === row);
      return isOfRow && ranges.some(([low, high]) => low <= last && first <= high);
    });
  return new Set([...rows].filter(isUndone));
}

function undoneBy(save: number, undos: readonly Undo[]): number | undefined {
  return undos.find(({ ranges }) => ranges.some(([low, high]) => low <= save && save <= high))?.by;
}

function toSave({ first, origin, ...record }: SaveRecord, undos: readonly Undo[]): Save {
  const { added, replaced, deleted } = record;
  const to = first + added + replaced + deleted;
  return { ...record, origin: readOrigin(origin), undoneBy: undoneBy(record.save, undos), from: first, to };
}

/** Pages through changes, without the rows before them unless `detail` says so. */
export function* changesIn(
  collection: Collection,
  which: { from: number; to: number; id?: string | undefined },
  detail: Detail = {},
): Generator<Change[], undefined> {
  for (let { from } = which; from < which.to; ) {
    const page = collection.changes({ ...which, from, limit: CHANGES_TOGETHER }, detail);
    yield page;
    if (page.length < CHANGES_TOGETHER) return undefined;
    from = page.at(-1)!.index + 1;
  }
}

/** The numbers of the saves that changed this id. */
export function savesWith(collection: Collection, id: string): number[] {
  return [...changesIn(collection, { from: 0, to: Number.MAX_SAFE_INTEGER, id })].flat().map(({ save }) => save);
}

/** What tells an id apart in the origin of an undo, which a purge of the row does not reach. */
export function rowDigest(id: string): string {
  return createHash("sha256").update(id).digest("hex").slice(0, 16);
}

/** A row as it was after a save. */
export interface Version {
  save: Save;
  kind: Change["kind"];
  /** Undefined where the save deleted it, or it is damaged. */
  row: Row | undefined;
}

/** The versions of a row, the latest first; none where the history has no change of it. */
export function versionsOf(collection: Collection, id: string): Version[] {
  const detail = { metadata: true, text: true, times: true };
  const changes = collection.changes({ from: 0, to: Number.MAX_SAFE_INTEGER, id, origins: true }, detail);
  if (changes.length === 0) return [];
  const digest = rowDigest(id);
  const undos = undosOf(collection, (row) => row === digest);
  const [live] = collection.get([id], detail);
  const after = [...changes.slice(1).map(({ before }) => before), live!.found ? live : undefined];
  return changes.map(({ by, kind }, i) => ({ save: toSave(by, undos), kind, row: after[i] })).reverse();
}

/** How much history a collection keeps. */
export function historyRuleOf(collection: Collection): HistoryRule {
  const note = collection.note(NOTE);
  if (!isObject(note)) return DEFAULT;
  const { days, percent } = note as Partial<HistoryRule>;
  return { days: days ?? DEFAULT.days, percent: percent ?? DEFAULT.percent };
}

/** Sets it, within a change. @throws ValueError for a value that is out of range */
export function setHistoryRule(t: Transaction, { days, percent }: HistoryRule): void {
  check("days", days, DAYS_MAX);
  check("percent", percent, PERCENT_MAX);
  t.note(NOTE, { days, percent });
}

function check(unit: string, value: number, most: number): void {
  if (Number.isInteger(value) && value >= 0 && value <= most) return;
  throw new ValueError(`${value} ${unit} of history cannot be kept: give a whole number from 0 to ${most}`);
}

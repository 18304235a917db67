/**
 * The history of a collection: its saves, and which of them are undone. An undo is a save like any other, whose origin
 * names the saves that it undoes.
 */
import { createHash } from "node:crypto";
import { isObject } from "../../checks/kinds.ts";
import { ValueError } from "../../errors.ts";
import { type Origin, readOrigin } from "../../origin.ts";
import type { Change, Collection, Detail, Row, SaveRecord, Transaction } from "../../store/collection.ts";

/** Saves that are read at once. */
const SAVES_TOGETHER = 500;
/** Changes that are read at once; fewer with their rows, each of which may have a text of 16 MiB. */
const CHANGES_TOGETHER = 1000;
const ROWS_TOGETHER = 250;
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
  const undos = undosOf(collection, row);
  for (let before: number | undefined; ; ) {
    const saves = collection.saves({ before, limit: SAVES_TOGETHER });
    for (const record of saves) yield toSave(record, undos);
    if (saves.length < SAVES_TOGETHER) return undefined;
    before = saves.at(-1)!.save;
  }
}

/** A save that undoes others. */
export interface Undo {
  save: number;
  /** The saves that it undoes. */
  ranges: readonly (readonly [number, number])[];
  /** The digest of the id of the only row that it undoes. */
  row: string | undefined;
}

/** The undos, the latest first, also those that are undone themselves. */
export function allUndos(collection: Collection): Undo[] {
  return collection.saves({ undos: true }).flatMap(({ save, origin }) => {
    const { undoes: ranges, row } = readOrigin(origin);
    return ranges ? [{ save, ranges, row }] : [];
  });
}

/**
 * Of all undos, the latest first, those that are not undone themselves.
 * @param row the digest of a row's id: undos of this row count as well, and may undo an undo of all rows for this row
 */
export function undosInEffect(undos: readonly Undo[], row: string | undefined): Undo[] {
  const found: Undo[] = [];
  for (const undo of undos) {
    if (undo.row !== undefined && undo.row !== row) continue;
    // Only later undos can undo it, and those are known by now.
    if (undoneBy(undo.save, found) === undefined) found.push(undo);
  }
  return found;
}

/** Those in effect for all rows or, with an id, for that row. */
function undosOf(collection: Collection, id: string | undefined): Undo[] {
  return undosInEffect(allUndos(collection), id === undefined ? undefined : rowDigest(id));
}

function undoneBy(save: number, undos: readonly Undo[]): number | undefined {
  return undos.find(({ ranges }) => ranges.some(([low, high]) => low <= save && save <= high))?.save;
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
  const limit = detail.text ? ROWS_TOGETHER : CHANGES_TOGETHER;
  for (let { from } = which; from < which.to; ) {
    const page = collection.changes({ ...which, from, limit }, detail);
    yield page;
    if (page.length < limit) return undefined;
    from = page.at(-1)!.index + 1;
  }
}

/** The numbers of the saves that changed this id. */
export function savesWith(collection: Collection, id: string): number[] {
  return [...changesIn(collection, { from: 0, to: Number.MAX_SAFE_INTEGER, id })].flat().map(({ save }) => save);
}

/** An id as a digest. The origin of an undo has it, because a purge does not remove origins. */
export function rowDigest(id: string): string {
  return createHash("sha256").update(id).digest("hex").slice(0, 16);
}

/** A row as it was after a save. */
export interface Version {
  save: Save;
  /** "before": the row before that save, the first one that the history has of it. */
  kind: Change["kind"] | "before";
  /** Undefined where the save deleted it, or it is damaged. */
  row: Row | undefined;
}

/** The versions of a row, the latest first; none where the history has no change of it. */
export function versionsOf(collection: Collection, id: string): Version[] {
  const detail = { metadata: true, text: true, times: true };
  const changes = collection.changes({ from: 0, to: Number.MAX_SAFE_INTEGER, id, origins: true }, detail);
  if (changes.length === 0) return [];
  const undos = undosOf(collection, id);
  const [live] = collection.get([id], detail);
  const after = [...changes.slice(1).map(({ before }) => before), live!.found ? live : undefined];
  const versions: Version[] = changes.map(({ by, kind }, i) => ({ save: toSave(by, undos), kind, row: after[i] }));
  const [first] = changes;
  const before: Version = { save: toSave(first!.by, undos), kind: "before", row: first!.before };
  return [...versions.reverse(), ...(first!.before ? [before] : [])];
}

/** How much history a collection keeps. */
export function historyRuleOf(collection: Collection): HistoryRule {
  const note = collection.note(NOTE);
  if (!isObject(note)) return DEFAULT;
  const { days, percent } = note as Record<string, unknown>;
  const read = (value: unknown, other: number) => (typeof value === "number" ? value : other);
  return { days: read(days, DEFAULT.days), percent: read(percent, DEFAULT.percent) };
}

/** @throws ValueError for a value that is out of range */
export function checkHistoryRule({ days, percent }: HistoryRule): void {
  check("days", days, DAYS_MAX);
  check("percent", percent, PERCENT_MAX);
}

/** Sets it, within a change. @throws ValueError for a value that is out of range */
export function setHistoryRule(t: Transaction, rule: HistoryRule): void {
  checkHistoryRule(rule);
  t.note(NOTE, { days: rule.days, percent: rule.percent });
}

function check(unit: string, value: number, most: number): void {
  if (Number.isInteger(value) && value >= 0 && value <= most) return;
  throw new ValueError(`${value} ${unit} of history cannot be kept: give a whole number from 0 to ${most}`);
}

/** What saves since a time have done to the rows of a collection. */
import type { Change, Collection, Row } from "../../store/collection.ts";
import { DETAIL, newestRows, rankOf, type Scopes, TEXT_BYTES_READ } from "./rows.ts";

/** Rows that are looked at; more are counted as so many. */
const ROWS_MAX = 1000;
/** Changes of the history that are looked at, the latest ones. */
const CHANGES_MAX = 4096;
/** Saves that are read at once. */
const SAVES_TOGETHER = 500;

/** A row that was added or replaced, as it is; or deleted, as it was before the first change. */
export interface ChangedRow {
  kind: Change["kind"];
  row: Row;
}

/** How many rows; `more`: at least. */
export interface ChangeCounts extends Record<Change["kind"], number> {
  more?: true;
}

/** The rows, the latest change first, and how many there are of each kind. */
export interface Changes {
  counts: ChangeCounts;
  rows: ChangedRow[];
}

/**
 * The net changes: a row that was added and then deleted is in none of them.
 * @param most rows
 */
export function changesSince(collection: Collection, since: number, scopes: Scopes, most: number): Changes {
  const { byId, isAll } = lastChanges(collection, since);
  const put = newestRows(collection, scopes, ROWS_MAX, { since });
  const known = new Set(put.map(({ id }) => id));
  // Imports save rows with times of their own.
  const others = [...byId].flatMap(([id, { kind }]) => (kind === "deleted" || known.has(id) ? [] : [id]));
  const dated = others.length === 0 ? [] : collection.get(others.slice(0, ROWS_MAX), DETAIL, TEXT_BYTES_READ);
  const live = [...put, ...dated.filter((row) => row.found && rankOf(row, scopes) >= 0)].map((row) => {
    // Without a history the times say it.
    const kind = byId.get(row.id)?.kind ?? (row.times!.created >= since ? "added" : "replaced");
    return { kind, row };
  });
  const deleted = [...byId.values()].flatMap(({ kind, change }): ChangedRow[] => {
    const row = kind === "deleted" ? change.before : undefined;
    return row !== undefined && rankOf(row, scopes) >= 0 ? [{ kind: "deleted", row }] : [];
  });
  const rows: ChangedRow[] = [...live, ...deleted];
  const counts: ChangeCounts = { added: 0, replaced: 0, deleted: 0 };
  for (const { kind } of rows) counts[kind]++;
  if (!isAll || put.length >= ROWS_MAX || others.length > ROWS_MAX) counts.more = true;
  return { counts, rows: rows.slice(0, most) };
}

/** The net change of each id since a time, the latest first. @returns whether these are all */
function lastChanges(collection: Collection, since: number) {
  const range = changesFrom(collection, since);
  const byId = new Map<string, { kind: Change["kind"]; change: Change }>();
  if (range === undefined) return { byId, isAll: true };
  const from = Math.max(range.from, range.to - CHANGES_MAX);
  const wasLive = new Map<string, Change>();
  for (const change of collection.changes({ from, to: range.to }, DETAIL, TEXT_BYTES_READ)) {
    const first = wasLive.get(change.id) ?? change;
    wasLive.set(change.id, first);
    // The latest change of an id puts it at the end.
    byId.delete(change.id);
    const kind = net(first.kind, change.kind);
    if (kind !== undefined) byId.set(change.id, { kind, change: first });
  }
  return { byId: new Map([...byId].reverse()), isAll: from === range.from };
}

/** What the first and the last of an id's changes come to; undefined: nothing. */
function net(first: Change["kind"], last: Change["kind"]): Change["kind"] | undefined {
  if (first === "added") return last === "deleted" ? undefined : "added";
  return last === "deleted" ? "deleted" : "replaced";
}

/** The indices of the changes of the saves since a time; undefined where there are none. */
function changesFrom(collection: Collection, since: number): { from: number; to: number } | undefined {
  let [from, to]: [number | undefined, number] = [undefined, 0];
  for (let before: number | undefined; ; ) {
    const saves = collection.saves({ before, limit: SAVES_TOGETHER });
    for (const save of saves) {
      if (save.time < since) return from === undefined ? undefined : { from, to };
      if (from === undefined) to = save.first + save.added + save.replaced + save.deleted;
      from = save.first;
    }
    if (saves.length < SAVES_TOGETHER) return from === undefined ? undefined : { from, to };
    before = saves.at(-1)!.save;
  }
}

/** What `svc mem history` shows of a collection. No tool reads it: queries see live rows only. */
import { shown } from "../checks/kinds.ts";
import { ValueError } from "../errors.ts";
import type { Collection } from "../store/collection.ts";
import { changesIn, type Save, savesOf, type Version, versionsOf } from "../texts/history/history.ts";
import type * as payload from "./payloads.ts";
import { fullIds } from "./typed/prefixes.ts";

/** What `history` takes. Without `save` and `id`: the latest saves. */
export interface HistoryArguments {
  collection: string;
  /** The changes of this save. */
  save?: number | undefined;
  /** The versions of this row. */
  id?: string | undefined;
  /** Only saves of this client, and versions that it saved. */
  client?: string | undefined;
  /** Saves, changes or versions at most. */
  limit: number;
}

/** @throws ValueError for a save that is not in the history */
export function historyOf(collection: Collection, a: HistoryArguments): payload.HistoryPayload {
  const { save, id, client, limit } = a;
  const head = { collection: collection.name };
  if (save !== undefined) return { ...head, ...changesOf(collection, save, id, limit) };
  if (id !== undefined) return { ...head, ...versionsIn(collection, id, client, limit) };
  const saves: Save[] = [];
  for (const one of savesOf(collection)) {
    if (client !== undefined && one.origin.client !== client) continue;
    if (saves.length === limit) return { ...head, saves: saves.map(toSave), more: true };
    saves.push(one);
  }
  return { ...head, saves: saves.map(toSave) };
}

/** A person may type the beginning of an id; that of a deleted row has to be whole. */
function versionsIn(
  collection: Collection,
  typed: string,
  client: string | undefined,
  limit: number,
): Pick<payload.HistoryPayload, "id" | "versions" | "more"> {
  const found = versionsOf(collection, typed);
  const id = found.length > 0 ? typed : fullIds(collection, [typed])[0]!;
  const all = id === typed ? found : versionsOf(collection, id);
  // Nothing tells who saved the version before the first save.
  const isOf = ({ save, kind }: Version) => kind !== "before" && save.origin.client === client;
  const versions = client === undefined ? all : all.filter(isOf);
  return { id, versions: versions.slice(0, limit).map(toVersion), ...more(versions.length > limit) };
}

/** How many saves the history has: none where it cannot be read. */
export function savesIn(collection: Collection): number {
  try {
    return collection.saves().length;
  } catch {
    return 0;
  }
}

/** How many changes of these ids the history has: none where it cannot be read. */
export function changesOfIds(collection: Collection, ids: readonly string[]): number {
  const wanted = new Set(ids);
  try {
    let count = 0;
    for (const page of changesIn(collection, { from: 0, to: Number.MAX_SAFE_INTEGER })) {
      count += page.filter(({ id }) => wanted.has(id)).length;
    }
    return count;
  } catch {
    return 0;
  }
}

function changesOf(
  collection: Collection,
  number: number,
  id: string | undefined,
  limit: number,
): Pick<payload.HistoryPayload, "save" | "changes" | "more"> {
  for (const save of savesOf(collection)) {
    if (save.save !== number) continue;
    const found = collection.changes({ from: save.from, to: save.to, limit: limit + 1, id }, {});
    const changes = found.slice(0, limit).map((change) => ({ id: change.id, kind: change.kind }));
    return { save: toSave(save), changes, ...more(found.length > limit) };
  }
  const oldest = collection.saves().at(-1);
  const reach = oldest ? `it reaches back to save ${oldest.save}` : "it is empty";
  throw new ValueError(`the history of collection ${shown(collection.name)} has no save ${number}: ${reach}`);
}

function more(is: boolean): { more?: true } {
  return is ? { more: true } : {};
}

function toSave({ save, time, origin, added, replaced, deleted, undoneBy }: Save): payload.SavePayload {
  const undone = undoneBy === undefined ? {} : { undone_by: undoneBy };
  return { save, time, origin, added, replaced, deleted, ...undone };
}

function toVersion({ save, kind, row }: Version): payload.VersionPayload {
  if (row === undefined) return { save: toSave(save), kind };
  const { text, metadata, times } = row;
  return { save: toSave(save), kind, row: { text, metadata, ...times! } as payload.VersionPayload["row"] };
}

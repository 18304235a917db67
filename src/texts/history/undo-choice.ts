/** Which saves an undo is of, and what is said where there are none. */
import { firstAndMore, listed, shown } from "../../checks/kinds.ts";
import { REPO_KEY } from "../../checks/names.ts";
import { nearest } from "../../checks/nearest.ts";
import { ValueError } from "../../errors.ts";
import { TERMINAL } from "../../origin.ts";
import type { Collection } from "../../store/collection.ts";
import { historyRuleOf, isUndo, type Save, savesOf, savesWith } from "./history.ts";

/** Clients that a message names. */
const CLIENTS_NAMED = 5;

/** Which saves to undo. Without `save` and `since`: the latest that is neither an undo nor undone. */
export interface UndoTarget {
  /** The save of this number. Of an undo's number: what it took back is there again. */
  save?: number | undefined;
  /** All saves from this time on, in milliseconds since 1970. */
  since?: number | undefined;
  /** Only what they did to this row. */
  id?: string | undefined;
  /** The latest save of this client; not beside `save` and `since`. */
  client?: string | undefined;
}

/** Saves to undo, the latest first. */
export interface Choice {
  saves: Save[];
  /** Later saves that count as changes of others: those that are neither undone nor undos. */
  later: Save[];
}

/** One choice where the target says which saves; else the latest, and those before it in case that it has no effect. */
export function choicesOf(collection: Collection, target: UndoTarget): Iterable<Choice> {
  if (target.since !== undefined) return since(collection, target.since);
  return target.save === undefined ? latest(collection, target) : numbered(collection, target.save, target.id);
}

function since(collection: Collection, time: number): Choice[] {
  const saves = [...savesOf(collection)];
  // After a clock that was set back the first save since then may have an earlier time than one before it.
  const first = saves.findLastIndex((save) => save.time >= time);
  const oldest = saves.at(-1);
  if (oldest !== undefined && oldest.save > 1 && time < oldest.time) {
    throw new ValueError(
      `the history of collection ${shown(collection.name)} does not reach back to ${isoOf(time)}: it begins with save ` +
        `${oldest.save} of ${isoOf(oldest.time)}; since that time undoes all that it has`,
    );
  }
  return first < 0 ? [] : [{ saves: saves.slice(0, first + 1), later: [] }];
}

/** @throws ValueError where it is undone already, or did not change the id */
function numbered(collection: Collection, save: number, id: string | undefined): Choice[] {
  const later: Save[] = [];
  for (const found of savesOf(collection, id)) {
    if (found.save !== save) {
      if (isInEffect(found)) later.push(found);
      continue;
    }
    if (id !== undefined && !savesWith(collection, id).includes(save)) {
      throw new ValueError(`save ${save} did not change id ${shown(id)}`);
    }
    if (found.undoneBy !== undefined) {
      throw new ValueError(
        `save ${save} of collection ${shown(collection.name)} was undone by save ${found.undoneBy}: undo that save to ` +
          "bring its changes back",
      );
    }
    return [{ saves: [found], later }];
  }
  return [];
}

/** A command that saved several times, as an import of many rows does, is undone as a whole. */
function* latest(collection: Collection, { id, client }: UndoTarget): Generator<Choice, undefined> {
  const touched = id === undefined ? undefined : new Set(savesWith(collection, id));
  const later: Save[] = [];
  let saves: Save[] = [];
  for (const found of savesOf(collection, id)) {
    if (touched && !touched.has(found.save)) continue;
    if (saves.length > 0 && !(isInEffect(found) && isOfCommand(found, saves[0]!))) {
      yield { saves, later };
      saves = [];
    }
    if (isInEffect(found)) (client === undefined || found.origin.client === client ? saves : later).push(found);
  }
  if (saves.length > 0) yield { saves, later };
  return undefined;
}

function isInEffect(save: Save): boolean {
  return !isUndo(save) && save.undoneBy === undefined;
}

function isOfCommand({ origin: a }: Save, { origin: b }: Save): boolean {
  return a.client === TERMINAL && b.client === TERMINAL && a.session !== undefined && a.session === b.session;
}

export function nothingFound(collection: Collection, { save, since, id, client }: UndoTarget): ValueError {
  const name = shown(collection.name);
  const { days } = historyRuleOf(collection);
  if (collection.schema.keyName === REPO_KEY) {
    return new ValueError(
      `collection ${name} holds the index of a repository, whose rows follow its files: index it again instead`,
    );
  }
  if (days === 0) {
    return new ValueError(
      `collection ${name} keeps no history, so there is nothing to undo: 'svc mem alter ${collection.name} --history-days 30' ` +
        "shows what is still there, and keeps it",
    );
  }
  const oldest = collection.saves().at(-1);
  if (oldest === undefined)
    return new ValueError(`there is nothing to undo in collection ${name}: its history is empty`);
  const reach = `its history reaches back to save ${oldest.save} of ${isoOf(oldest.time)}`;
  if (save !== undefined)
    return new ValueError(`collection ${name} has no save ${save} to undo, or it changed no rows: ${reach}`);
  if (since !== undefined) {
    return new ValueError(`no save of collection ${name} since ${isoOf(since)} changed rows: ${reach}`);
  }
  if (client !== undefined) {
    const why = nothingOfClient(collection, client, id);
    return new ValueError(`there is nothing to undo in collection ${name}: ${reach}, and ${why}`);
  }
  if (id === undefined) {
    return new ValueError(`there is nothing to undo in collection ${name}: ${reach}, and every save is undone already`);
  }
  const isThere = collection.changes({ from: 0, to: Number.MAX_SAFE_INTEGER, id, limit: 1 }, {}).length > 0;
  const why = isThere ? "and every change of this id is undone already" : "and no save changed this id";
  return new ValueError(`there is nothing to undo for id ${shown(id)} in collection ${name}: ${reach}, ${why}`);
}

/** Why a client has nothing to undo. If it saved nothing, its name may be misspelt: those that did are named. */
function nothingOfClient(collection: Collection, client: string, id: string | undefined): string {
  const clients = clientsOf(collection, id);
  const ofId = id === undefined ? "" : ` that changed id ${shown(id)}`;
  if (clients.includes(client)) return `every save of client ${shown(client)}${ofId} is undone already`;
  const meant = nearest(client, clients);
  const others = meant === undefined ? clients : [meant, ...clients.filter((other) => other !== meant)];
  const named = firstAndMore(others, CLIENTS_NAMED, shown);
  const but = named.length === 0 ? "" : `, but saves of ${listed(named, "and")}`;
  return `it has no save of client ${shown(client)}${ofId} to undo${but}`;
}

/** The clients that saved something other than an undo, the latest first. */
function clientsOf(collection: Collection, id: string | undefined): string[] {
  const touched = id === undefined ? undefined : new Set(savesWith(collection, id));
  const clients = new Set<string>();
  for (const found of savesOf(collection, id)) {
    const { client } = found.origin;
    if (client !== undefined && !isUndo(found) && touched?.has(found.save) !== false) clients.add(client);
  }
  return [...clients];
}

/** The saves of an undo in words. */
export function savesInWords({ first, last }: { first: number; last: number }): string {
  return first === last ? `save ${last}` : `saves ${first} to ${last}`;
}

function isoOf(time: number): string {
  return new Date(time).toISOString();
}

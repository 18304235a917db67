/** The pinned rows of a collection: their ids in a note of its manifest, so that no update of a row unpins it. */
import { shown } from "../../checks/kinds.ts";
import { REPO_KEY } from "../../checks/names.ts";
import { ValueError } from "../../errors.ts";
import type { Collection } from "../../store/collection.ts";

/** The note of the manifest. */
const NOTE = "pins";
/** Pinned rows of a collection. */
export const PINS_MAX = 20;

export interface PinArguments {
  collection: string;
  /** Absent: nothing changes. */
  id?: string | undefined;
  /** Whether the row is unpinned. */
  remove?: boolean | undefined;
}

/** The pinned rows, in the order in which they were pinned. */
export interface PinPayload {
  collection: string;
  pinned: string[];
}

/** The pinned ids; those of deleted rows too. What is not as `pin` writes it counts as nothing. */
export function pinsOf(collection: Collection): string[] {
  const note = collection.note(NOTE);
  return Array.isArray(note) ? note.filter((id) => typeof id === "string" && id !== "").slice(0, PINS_MAX) : [];
}

/**
 * Pins a row, unpins it, or only lists. A change drops the pins of deleted rows.
 * @throws ValueError for an id that is not live, one to remove that is not pinned, a pin too many, and a repository
 */
export async function pin(
  collection: Collection,
  { id, remove = false }: PinArguments,
  signal: AbortSignal | undefined,
): Promise<PinPayload> {
  const name = shown(collection.name);
  if (collection.schema.keyName === REPO_KEY) {
    throw new ValueError(`collection ${name} holds the index of a repository, whose rows cannot be pinned`);
  }
  if (id === undefined) return { collection: collection.name, pinned: live(collection, pinsOf(collection)) };
  let pinned: string[] = [];
  await collection.change(async (t) => {
    const before = pinsOf(collection);
    const others = live(collection, before).filter((other) => other !== id);
    if (remove) {
      if (!before.includes(id)) throw new ValueError(`row ${shown(id)} of collection ${name} is not pinned`);
      pinned = others;
    } else {
      if (live(collection, [id]).length === 0) {
        throw new ValueError(`collection ${name} has no row ${shown(id)}`, "no_row");
      }
      if (others.length >= PINS_MAX) {
        const remedy = "unpin one with svc mem pin NAME ID --remove";
        throw new ValueError(
          `collection ${name} has ${others.length} pinned rows, which is the limit: ${remedy}`,
          "limit",
        );
      }
      // A row that is pinned already keeps its place.
      pinned = before.includes(id) ? live(collection, before) : [...others, id];
    }
    if (pinned.join("\0") !== before.join("\0")) t.note(NOTE, pinned.length === 0 ? undefined : pinned);
  }, signal);
  return { collection: collection.name, pinned };
}

/** Drops the pins of these ids. */
export async function unpin(collection: Collection, ids: readonly string[], signal: AbortSignal | undefined) {
  const gone = new Set(ids);
  if (!pinsOf(collection).some((id) => gone.has(id))) return;
  await collection.change(async (t) => {
    const left = pinsOf(collection).filter((id) => !gone.has(id));
    t.note(NOTE, left.length === 0 ? undefined : left);
  }, signal);
}

function live(collection: Collection, ids: readonly string[]): string[] {
  return ids.length === 0 ? [] : collection.get(ids, {}).flatMap(({ id, found }) => (found ? [id] : []));
}

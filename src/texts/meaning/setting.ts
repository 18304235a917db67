/** Which collections have vectors of meaning. */
import { shown } from "../../checks/kinds.ts";
import { REPO_KEY } from "../../checks/names.ts";
import { ValueError } from "../../errors.ts";
import type { Collection, Transaction } from "../../store/collection.ts";
import type { Schema } from "../../store/schema.ts";

/** The note in the manifest of a collection whose meaning a person turned off. Without the note meaning is on. */
const NOTE = "meaning";
const OFF = "off";

/** Whether collections of this schema can have vectors of meaning: those of the default embedder, except repositories. */
export function canHaveMeaning({ keyName, embedderProfile }: Schema): boolean {
  const { provider, model_id } = (embedderProfile ?? {}) as { provider?: unknown; model_id?: unknown };
  return keyName !== REPO_KEY && provider === "svc" && model_id === "multigram";
}

/** Whether meaning is on for a collection; within a change, as the change has set it. */
export function isMeaningOn(collection: Collection): boolean {
  return canHaveMeaning(collection.schema) && collection.note(NOTE) !== OFF;
}

/**
 * Turns meaning on or off, and saves; off removes the vectors.
 * @throws ValueError for a collection that cannot have them
 */
export async function setMeaning(collection: Collection, isOn: boolean, signal?: AbortSignal): Promise<void> {
  if (isOn) requireCanHaveMeaning(collection);
  await collection.change(async (t: Transaction) => {
    t.note(NOTE, isOn ? undefined : OFF);
    if (!isOn) t.dropMeaning();
  }, signal);
}

/** @throws ValueError for a collection that cannot have vectors of meaning */
export function requireCanHaveMeaning({ name, schema }: Collection): void {
  if (canHaveMeaning(schema)) return;
  const why = schema.keyName === REPO_KEY ? "it is the index of repositories" : "it has another embedder, or none";
  throw new ValueError(`collection ${shown(name)} cannot be searched by meaning: ${why}`);
}

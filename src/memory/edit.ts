/** A row that a person edits by hand: read, and saved as one change unless another writer was faster. */
import { shown } from "../checks/kinds.ts";
import { REPO_KEY } from "../checks/names.ts";
import type { Metadata } from "../checks/values.ts";
import { ValueError } from "../errors.ts";
import type { SecretGuard } from "../secrets/policy.ts";
import type { Collection } from "../store/collection.ts";
import { checkSpace, type Embedder } from "../texts/embedder.ts";
import { embeddingOf, putUpdate } from "../texts/put.ts";
import type { CallContext } from "./requests.ts";

/** What a person edits of a row. */
export interface RowContent {
  text: string;
  /** Absent where the row has none. */
  metadata?: Metadata | undefined;
}

/** A row before and after the edit. */
export interface EditArguments {
  collection: string;
  id: string;
  before: RowContent;
  after: RowContent;
}

export interface EditPayload {
  collection: string;
  id: string;
  /** Whether the row was saved. */
  edited: boolean;
  /** How many credentials were replaced, where some were. */
  masked?: number;
}

/**
 * A row as it can be edited.
 * @throws ValueError for one that does not exist, has no text, or is of a repository or of another embedder
 */
export function editableRow(collection: Collection, embedder: Embedder, id: string): RowContent {
  const name = shown(collection.name);
  if (collection.schema.keyName === REPO_KEY) {
    throw new ValueError(`collection ${name} holds the index of a repository: edit its files, and the index follows`);
  }
  // Before the person has typed anything: nothing could be saved.
  checkSpace(collection.name, collection.schema.embedderProfile, embedder);
  const [row] = collection.get([id], { metadata: true, text: true });
  if (!row?.found) throw new ValueError(`collection ${name} has no row ${shown(id)}`, "no_row");
  const { text, metadata } = row;
  if (text === undefined) throw new ValueError(`row ${shown(id)} of collection ${name} has no text to edit`);
  return { text, ...(metadata && { metadata }) };
}

/**
 * Saves text and metadata as one update. The row is compared inside the change, under the writer's lock, so that no
 * save of another process between reading and saving is overwritten.
 * @throws ValueError for a row that was changed or deleted since it was read, or with `refuse` for a credential; nothing
 *   is saved
 */
export async function editRow(
  collection: Collection,
  embedder: Embedder,
  secrets: SecretGuard | undefined,
  a: EditArguments,
  { signal }: CallContext,
): Promise<EditPayload> {
  const { after, masked } = await guarded(secrets, a);
  const embedding = await embeddingOf(embedder, [after.text], signal, collection);
  await collection.change(async (t) => {
    const [row] = collection.get([a.id], { metadata: true, text: true });
    const which = `row ${shown(a.id)} of collection ${shown(collection.name)}`;
    if (!row?.found) throw new ValueError(`${which} was deleted while you edited it: nothing was saved`, "no_row");
    if (!isSame({ text: row.text ?? "", metadata: row.metadata }, a.before)) {
      throw new ValueError(`${which} was changed by another process while you edited it: nothing was saved`);
    }
    const rows = { ids: [a.id], texts: [after.text], metadata: [after.metadata] };
    await putUpdate(t, collection, rows, embedding, { signal });
  }, signal);
  return { collection: a.collection, id: a.id, edited: true, ...(masked > 0 && { masked }) };
}

/** Whether two contents are the same, with the members of metadata in the same order. */
export function isSame(a: RowContent, b: RowContent): boolean {
  return a.text === b.text && JSON.stringify(a.metadata) === JSON.stringify(b.metadata);
}

async function guarded(policy: SecretGuard | undefined, { id, after }: EditArguments) {
  if (policy === undefined) return { after, masked: 0 };
  const { guardRow } = await import("../secrets/policy.ts");
  const { text = "", metadata, masked } = guardRow(policy, { id, text: after.text, metadata: after.metadata });
  return { after: { text, metadata: metadata ?? undefined }, masked };
}

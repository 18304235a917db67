/**
 * Rows that a new one replaces. They stay as they are, apart from `superseded_by` in their metadata, and searches rank
 * them last (tiers.ts). A row that gets a new text is current again.
 */
import { shown } from "../checks/kinds.ts";
import { REPO_KEY, SUPERSEDED_BY } from "../checks/names.ts";
import type { Metadata } from "../checks/values.ts";
import { ValueError } from "../errors.ts";
import type { Collection, Row, Transaction } from "../store/collection.ts";
import { Put, type Watch } from "../store/writer.ts";
import { putRead } from "./dated.ts";
import { isSuperseded } from "./tiers.ts";

/** Ids that an error names. */
const NAMED_MAX = 3;

/**
 * The rows that a call replaces, each once. To be called inside its change, before it puts anything.
 * @param ids those of the call's own rows
 * @throws ValueError for ids that are not live or of the call itself, and in the index of a repository
 */
export function rowsToSupersede(
  collection: Collection,
  supersedes: readonly string[] | undefined,
  ids: readonly string[],
): Row[] {
  if (supersedes === undefined || supersedes.length === 0) return [];
  const name = shown(collection.name);
  if (collection.schema.keyName === REPO_KEY) {
    throw new ValueError(`collection ${name} holds the index of a repository, whose rows follow its files`);
  }
  const distinct = [...new Set(supersedes)];
  const isOwn = new Set(ids);
  const own = distinct.filter((id) => isOwn.has(id));
  if (own.length > 0) throw new ValueError(`supersedes has ${some(own)} of the call itself: name older rows`);
  const rows = collection.get(distinct, { metadata: true, text: true, times: true });
  const unknown = rows.filter(({ found }) => !found).map(({ id }) => id);
  if (unknown.length === 0) return rows;
  throw new ValueError(`supersedes has ${some(unknown)} not in collection ${name}; nothing was written`, "no_row");
}

/**
 * Marks rows as replaced by another one. Text, vectors and times stay to the bit.
 * @param by the id of the row that replaces them
 * @throws ValueError where that is one of them
 */
export async function supersede(
  t: Transaction,
  { schema }: Collection,
  rows: readonly Row[],
  by: string,
  watch: Watch,
): Promise<void> {
  if (rows.length === 0) return;
  if (rows.some(({ id }) => id === by)) {
    throw new ValueError(`supersedes has id ${shown(by)}, the row that has this text already: nothing was written`);
  }
  const marked = rows.map((row) => ({ ...row, metadata: { ...row.metadata, [SUPERSEDED_BY]: by } }));
  await putRead(t, Put.UPDATE, marked, schema.dim, { keepsVectors: true }, watch);
}

/** What rows keep of their metadata when they get these texts: all but the mark, unless the text is the same. */
export function currentMetadata(
  collection: Collection,
  rows: readonly Row[],
  texts: readonly string[],
): (Metadata | undefined)[] {
  const marked = rows.filter(({ metadata }) => isSuperseded(metadata)).map(({ id }) => id);
  if (marked.length === 0) return rows.map(({ metadata }) => metadata);
  const before = new Map(collection.get(marked, { text: true }).map(({ id, text }) => [id, text]));
  return rows.map(({ id, metadata }, i) => {
    if (!before.has(id) || before.get(id) === texts[i]) return metadata;
    const { [SUPERSEDED_BY]: _, ...rest } = metadata!;
    return Object.keys(rest).length === 0 ? undefined : rest;
  });
}

function some(ids: readonly string[]): string {
  const named = ids.slice(0, NAMED_MAX).map(shown).join(", ");
  return ids.length === 1 ? `id ${named},` : `${ids.length} ids, among them ${named},`;
}

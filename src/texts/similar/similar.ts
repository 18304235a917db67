/** Which stored rows nearly have the texts of a call: a caller may want to update them instead of adding more rows. */
import { REPO_KEY } from "../../checks/names.ts";
import type { FilterValue, Metadata } from "../../checks/values.ts";
import type { Condition } from "../../checks/where.ts";
import type { Collection, Row } from "../../store/collection.ts";
import { checkSpace, type Embedder } from "../embedder.ts";
import { partitioned, type TextRows } from "../put.ts";
import { isSuperseded } from "../tiers.ts";
import { isNearCopy, mayBeNear } from "./near-copy.ts";

/** A text of a call, and the stored row that it is a near copy of. */
export interface NearCopy {
  /** Which of the call's texts, from 0. */
  index: number;
  /** The row's id, and its text. */
  of: string;
  text: string;
}

/** A longer call is an import. */
export const SIMILAR_TEXTS_MAX = 8;
/** A longer text is not compared: UTF-16 units. */
const COMPARED_UNITS = 4 * 1024;
/** Rows that are found for each text, in addition to those that the call replaces: some may be left out. */
const FOUND_MAX = 8;
/** Rows that are compared. Of 60 near copies all were the first or the second. */
const COMPARED_MAX = 4;
/**
 * A row with a lower cosine has too few of the text's words, or is much longer. Near copies have at least 0.109. The
 * score of a pair does not depend on the collection.
 */
const SCORE_LEAST = 0.08;

/**
 * The nearest row of each text that is a near copy of one, of the same partition. Rows that the call replaces, rows that
 * others supersede (`superseded_by` in their metadata) and turns of conversations (`session`) are left out, and so are
 * texts with such metadata.
 * @param keepsMetadata a row without metadata keeps what is stored, as in an update
 * @returns empty for long calls, and for an embedder outside the kernel, whose vectors may cost money
 * @throws what a search throws
 */
export async function similarRows(
  collection: Collection,
  embedder: Embedder,
  { texts, ids, metadata, scope, supersedes = [] }: TextRows & { supersedes?: readonly string[] | undefined },
  keepsMetadata: boolean,
): Promise<NearCopy[]> {
  const { schema } = collection;
  if (texts.length > SIMILAR_TEXTS_MAX || embedder.kernelModel === undefined || schema.keyName === REPO_KEY) return [];
  checkSpace(collection.name, schema.embedderProfile, embedder);
  const stored = keepsMetadata ? collection.get(ids, { metadata: true }) : undefined;
  const replaced = new Set([...ids, ...supersedes]);
  const found: NearCopy[] = [];
  for (const [index, text] of texts.entries()) {
    const own = metadata?.[index] ?? stored?.[index]?.metadata;
    if (text === "" || text.length > COMPARED_UNITS || !isNote(own)) continue;
    const value = partitioned(own ?? {}, schema.keyName, scope)?.[schema.keyName] as FilterValue;
    const where = { column: schema.keyName, value };
    const row = await nearest(collection, embedder, text, where, replaced);
    if (row !== undefined) found.push({ index, of: row.id, text: row.text! });
  }
  return found;
}

async function nearest(
  collection: Collection,
  { kernelModel }: Embedder,
  text: string,
  where: Condition,
  replaced: ReadonlySet<string>,
): Promise<Row | undefined> {
  const question = { by: "vector", model: kernelModel, text } as const;
  const { rows } = await collection.ask(question, { topK: FOUND_MAX + replaced.size, where, metadata: true });
  const near = rows
    .filter(({ id, score, metadata }) => score >= SCORE_LEAST && !replaced.has(id) && isNote(metadata))
    .slice(0, COMPARED_MAX);
  if (near.length === 0) return undefined;
  const candidates = collection
    .get(near.map(({ id }) => id))
    .filter((row) => row.text && row.text.length <= COMPARED_UNITS);
  const sharesOf = (question: string, others: readonly string[]) =>
    collection.passages(question, undefined, others).map(({ questionShare }) => questionShare);
  const shares = sharesOf(
    text,
    candidates.map((row) => row.text!),
  );
  let best: Row | undefined;
  let bestShare = 0;
  for (const [i, row] of candidates.entries()) {
    const firstShare = shares[i]!;
    if (!mayBeNear(firstShare) || row.text === text) continue;
    const secondShare = sharesOf(row.text!, [text])[0]!;
    const share = firstShare + secondShare;
    if (share > bestShare && isNearCopy(text, row.text!, { firstShare, secondShare })) [best, bestShare] = [row, share];
  }
  return best;
}

/** Whether a row with this metadata is one that is kept up to date. */
function isNote(metadata: Metadata | null | undefined): boolean {
  return !isSuperseded(metadata) && metadata?.session == null;
}

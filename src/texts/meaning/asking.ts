/** How much of a collection can be found by meaning, and what the answer to a query says of that. */
import type { Collection, SearchAnswer } from "../../store/collection.ts";
import type { SentenceEncoder } from "./encoder.ts";
import { hasMeaning } from "./setting.ts";

/** Less than this share of the texts with vectors is worth a sentence. */
export const FILLED_LEAST = 0.9;
/** Nor are fewer texts without one: saving them, or some seconds in the background, does the rest. */
const MISSING_LEAST = 100;

/** Whether a query is ranked by meaning as well. A collection without vectors does not have the model read. */
export async function ranksByMeaning(collection: Collection, encoder: SentenceEncoder | undefined): Promise<boolean> {
  if (encoder === undefined || encoder.isOff || !hasMeaning(collection)) return false;
  return encoder.isReady || (collection.stats().meaning_bytes > 0 && (await encoder.load()));
}

/**
 * The share of the texts that have vectors of meaning, and whether the collection's vectors cannot be read.
 * @returns undefined for a collection without meaning, and where this process has no encoder
 */
export async function filledShare(
  collection: Collection,
  encoder: SentenceEncoder,
): Promise<{ share: number; missing: number; isLost: boolean } | undefined> {
  if (encoder.isOff || !hasMeaning(collection) || !(await encoder.load())) return undefined;
  // After the model was loaded: vectors count where they are of this one.
  const { text_rows, meaning_rows, meaning_lost } = collection.stats();
  const share = text_rows === 0 ? 1 : meaning_rows / text_rows;
  return { share, missing: text_rows - meaning_rows, isLost: meaning_lost > 0 };
}

/**
 * That this process cannot use the vectors of a collection, once for each; or, where rows lack a word of the query,
 * that many texts have no vectors yet.
 */
export async function meaningNotice(
  collection: Collection,
  encoder: SentenceEncoder | undefined,
  { words, known }: Pick<SearchAnswer, "words" | "known">,
): Promise<string | undefined> {
  if (encoder === undefined || known >= words) return undefined;
  const filled = await filledShare(collection, encoder);
  const { name } = collection;
  if (filled === undefined) return encoder.isOff || !hasMeaning(collection) ? undefined : encoder.noticeFor(name);
  if (filled.share >= FILLED_LEAST || filled.missing < MISSING_LEAST) return undefined;
  const percent = Math.floor(100 * filled.share);
  return `${percent} % of the texts of '${name}' can be found by meaning so far: 'svc mem build-meaning ${name}' does the rest at once`;
}

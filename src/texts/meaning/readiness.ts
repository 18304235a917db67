/** What share of a collection can be found by meaning, and the notice about it in an answer. */
import type { Collection, SearchAnswer } from "../../store/collection.ts";
import type { SentenceEncoder } from "./encoder.ts";
import { isMeaningOn } from "./setting.ts";

/** From this share of texts with vectors on, an answer has no notice. */
export const SHARE_WITHOUT_NOTICE = 0.9;
/** With fewer texts without vectors than this an answer has no notice: they get them in the background within seconds. */
const MISSING_LEAST = 100;

/** Whether a query is ranked by meaning as well. The model is not loaded for a collection that has no vectors. */
export async function ranksByMeaning(collection: Collection, encoder: SentenceEncoder | undefined): Promise<boolean> {
  if (encoder === undefined || encoder.isOff || !isMeaningOn(collection)) return false;
  return encoder.isReady || (collection.stats().meaning_bytes > 0 && (await encoder.load()));
}

/**
 * The share of the texts that have vectors of meaning, from 0 to 1, the number that have none, and whether the file of
 * vectors is lost.
 * @returns undefined for a collection whose meaning is off, and if this process has no encoder
 */
export async function filledShare(
  collection: Collection,
  encoder: SentenceEncoder,
): Promise<{ share: number; missing: number; isLost: boolean } | undefined> {
  if (encoder.isOff || !isMeaningOn(collection) || !(await encoder.load())) return undefined;
  // After the model was loaded, because only vectors of this model count.
  const { text_rows, meaning_rows, meaning_lost } = collection.stats();
  const share = text_rows === 0 ? 1 : meaning_rows / text_rows;
  return { share, missing: text_rows - meaning_rows, isLost: meaning_lost > 0 };
}

/**
 * The notice of an answer about meaning, if the rows lack a word of the query: why this process cannot rank by meaning
 * (once for each collection), or that many texts have no vectors yet.
 */
export async function meaningNotice(
  collection: Collection,
  encoder: SentenceEncoder | undefined,
  { words, known }: Pick<SearchAnswer, "words" | "known">,
): Promise<string | undefined> {
  if (encoder === undefined || known >= words) return undefined;
  const filled = await filledShare(collection, encoder);
  const { name } = collection;
  if (filled === undefined) return encoder.isOff || !isMeaningOn(collection) ? undefined : encoder.noticeFor(name);
  if (filled.share >= SHARE_WITHOUT_NOTICE || filled.missing < MISSING_LEAST) return undefined;
  const percent = Math.floor(100 * filled.share);
  return `${percent} % of the texts of '${name}' can be found by meaning so far: 'svc mem build-meaning ${name}' makes the missing vectors now`;
}

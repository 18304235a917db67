/**
 * Rows with their texts, some at a time: all of an answer's texts together may take gigabytes, of which a frame holds
 * 256 MiB, and other clients are answered in between.
 */

import type { LocalCollection } from "../../api/local-collection.ts";
import { Breather } from "../../breather.ts";
import { FRAME_BYTES_MAX } from "../../limits.ts";
import { RawJson } from "./replies/raw-json.ts";
import { tooLarge } from "./replies/reply.ts";
import type { ArgumentsOf } from "./requests/schemas.ts";

/** Rows whose texts are read together. A text may have 16 MiB. */
const BATCH_ROWS = 16;

/** What `get` answers. @throws ValueError for more than `bytesMax` bytes */
export async function getRows(
  collection: LocalCollection,
  a: ArgumentsOf<"get">,
  bytesMax = FRAME_BYTES_MAX,
): Promise<RawJson> {
  const options = { withText: a.with_text, withMetadata: a.with_metadata, withTimes: true };
  const read = async function* () {
    for (let at = 0; at < a.ids.length; at += BATCH_ROWS) {
      yield await collection.get(a.ids.slice(at, at + BATCH_ROWS), options);
    }
  };
  return new RawJson(await listOf(read(), bytesMax));
}

/** What `search_hits` answers. @throws ValueError for more than `bytesMax` bytes */
export async function searchHits(
  collection: LocalCollection,
  a: ArgumentsOf<"search_hits">,
  bytesMax = FRAME_BYTES_MAX,
): Promise<RawJson> {
  const parts = { withText: a.with_text, withMetadata: a.with_metadata, textBytes: a.text_bytes };
  const { batches, notice } = await collection.hitBatches(a.text, { topK: a.top_k, where: a.where, ...parts });
  const noticed = notice === undefined ? "" : `,"notice":${JSON.stringify(notice)}`;
  return new RawJson(`{"hits":${await listOf(batches, bytesMax)}${noticed}}`);
}

/** The JSON of one list of all. @throws ValueError once it has more than `bytesMax` bytes, before more is read */
async function listOf(batches: Iterable<object[]> | AsyncIterable<object[]>, bytesMax: number): Promise<string> {
  const breather = new Breather(undefined, "");
  const pieces: string[] = [];
  let units = 0;
  for await (const batch of batches) {
    for (const row of batch) {
      const piece = JSON.stringify(row);
      units += piece.length; // each is at least a byte
      if (units > bytesMax) throw tooLarge();
      pieces.push(piece);
    }
    if (breather.due) await breather.pause();
  }
  return `[${pieces.join(",")}]`;
}

/** One collection for a person: what its folder says of it, and what is in it. */
import { checkName, REPO_KEY } from "../checks/names.ts";
import type { FilterValue } from "../checks/values.ts";
import type { Collection } from "../store/collection.ts";
import type { StoreView } from "../store/limited/view.ts";
import { type CollectionOverview, whyUnreadable } from "../store/overview.ts";
import type { SentenceEncoder } from "../texts/meaning/encoder.ts";
import { collectionStats } from "../texts/stats.ts";

/** Partitions that are named. */
const PARTITIONS_MAX = 10;

/** What a collection is; of one that cannot be read, what its folder says. */
export interface DetailPayload extends Partial<CollectionOverview> {
  name: string;
  /** The largest partitions, by their value in the column `partition_by`; null where rows have none. */
  partitions?: { key: FilterValue | null; rows: number }[];
  /** How many partitions there are. */
  partition_count?: number;
  dim?: number;
  /** The model that made its vectors. */
  embedder?: string;
  /** Whether it is searched by meaning, and how many of its texts are ready for that. */
  meaning?: string;
  text_rows?: number;
  meaning_rows?: number;
}

/** @throws ValueError for a collection that does not exist */
export async function detailOf(
  store: StoreView,
  open: (name: string) => Collection,
  encoder: SentenceEncoder | undefined,
  name: string,
): Promise<DetailPayload> {
  const [overview] = store.overview([checkName(name)]);
  if (overview !== undefined && whyUnreadable(overview) !== undefined) return overview;
  const collection = open(name);
  const stats = await collectionStats(collection, encoder);
  const partitions = collection.partitions().filter(({ rows }) => rows > 0);
  const largest = partitions.sort((a, b) => b.rows - a.rows).slice(0, PARTITIONS_MAX);
  const { dim, meaning, text_rows, meaning_rows } = stats as Partial<DetailPayload>;
  const model = (stats.embedder_profile as { model_id?: string } | null)?.model_id;
  return {
    name,
    ...overview,
    rows: stats.external_ids,
    dim,
    ...(model !== undefined && { embedder: model }),
    // Partitions of repositories have ids that say nothing: 'svc mem repos' names them.
    ...(stats.key_name !== REPO_KEY && {
      partitions: largest.map(({ key, rows }) => ({ key: key ?? null, rows })),
    }),
    partition_count: partitions.length,
    ...(meaning !== undefined && { meaning, text_rows, meaning_rows }),
  };
}

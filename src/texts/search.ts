/** A question in words to a collection of texts. */

import type { Condition } from "../checks/where.ts";
import type { Collection, Detail, Row, SearchAnswer } from "../store/collection.ts";
import { checkSpace, type Embedder } from "./embedder.ts";
import { candidateDepth, fuse } from "./fusion.ts";

/** What one term of the query added to a hit's BM25 score. */
export interface TermContribution {
  term: string;
  score: number;
}

/** The answer to a text: rows best first, and what each ranking said. */
export interface TextAnswer {
  rows: Row[];
  dense: SearchAnswer;
  /** The ranking by words, where it was fused in. */
  lexical: Row[] | undefined;
}

/** The dense ranking, fused with the lexical one where its index is built. A fused row's score is the fusion's. */
export async function searchTexts(
  collection: Collection,
  embedder: Embedder,
  args: { query: string; topK: number; where?: Condition | undefined; targetRecall?: number | undefined },
  detail: Detail,
  signal?: AbortSignal,
): Promise<TextAnswer> {
  checkSpace(collection.name, collection.schema.embedderProfile, embedder);
  const query = await embedder.embedQueries([args.query], signal);
  const { where, targetRecall } = args;
  const weighted = embedder.weightedQueries;
  if (!collection.schema.lexical || collection.stats().lexical_built === 0) {
    const dense = await collection.search(query, { topK: args.topK, where, targetRecall, weighted, ...detail });
    return { rows: dense.rows, dense, lexical: undefined };
  }
  const topK = candidateDepth(args.topK);
  const [dense, lexical] = await Promise.all([
    collection.search(query, { topK, where, targetRecall, weighted }),
    collection.searchLexical(args.query, { topK, where }),
  ]);
  const fused = fuse(dense.rows, lexical, 2 * topK);
  const rows: Row[] = [];
  for (let at = 0; rows.length < args.topK && at < fused.length; ) {
    const hits = fused.slice(at, at + args.topK - rows.length);
    at += hits.length;
    const ids = hits.map((hit) => hit.id);
    // A row deleted by another process between the ranking and this look makes room for the next.
    const found = collection.get(ids, detail).map((row, i) => ({ ...row, score: hits[i]!.score }));
    rows.push(...found.filter((row) => row.found));
  }
  return { rows, dense, lexical };
}

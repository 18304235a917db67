/** The process of a peer. */
import { hnswlib } from "./peers/hnswlib.ts";
import { lancedb } from "./peers/lancedb.ts";
import { sqliteVec } from "./peers/sqlite-vec.ts";
import { usearch, usearchBf16 } from "./peers/usearch.ts";
import { zvec } from "./peers/zvec.ts";
import { serve } from "./serve.ts";

await serve({ usearch, "usearch-bf16": usearchBf16, hnswlib, lancedb, "sqlite-vec": sqliteVec, zvec });

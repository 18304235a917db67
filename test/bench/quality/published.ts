/** Published nDCG@10 on the development sets, from the README beside the sets. */

/** The columns. What was not measured is left out. */
export interface Published {
  /** BM25 with English analysis. */
  english: number;
  /** BM25 with identifiers split. */
  identifiers: number;
  fts5: number;
  /** Plain hashing, 1,024 dimensions. */
  hashing: number;
  /** A stateless hashed embedder of 1,024 dimensions. */
  at1024?: number | undefined;
  /** The same of 2,048, at 4 bits. */
  at2048?: number | undefined;
  /** The same of 4,096, whitened. */
  at4096?: number | undefined;
  /** `at4096` and BM25, z-scores, one half each. */
  fused?: number | undefined;
}

/** By the set's name; `commits` is of honojs/hono. */
export const PUBLISHED: Readonly<Record<string, Published>> = {
  cranfield: row(0.511, 0.511, 0.487, 0.402, 0.469, 0.486, 0.518, 0.523),
  vaswani: row(0.432, 0.432, 0.362, 0.22, 0.317, 0.389, 0.381, 0.44),
  scifact: row(0.683, 0.697, 0.669, 0.532, 0.61, 0.651, 0.677, 0.695),
  locomo: row(0.416, 0.415, 0.376, 0.31, 0.418, 0.457, 0.493, 0.483),
  commits: row(0.457, 0.643, 0.529, 0.474, 0.563, 0.616, 0.647, 0.678),
  "xquad-en": row(0.965, 0.965, 0.961, 0.911, 0.942, 0.958, 0.965, 0.971),
  "xquad-de": row(0.927, 0.916, 0.915, 0.888, 0.81, 0.852, 0.922, 0.929),
  "xquad-zh": row(0.951, 0.952, 0.114, 0.56, 0.912, 0.933, 0.941, 0.95),
  "codenn-python": row(0.131, 0.223, 0.175, 0.131),
};

/** The better of the two BM25 columns. */
export const betterBm25 = ({ english, identifiers }: Published) => Math.max(english, identifiers);

function row(
  english: number,
  identifiers: number,
  fts5: number,
  hashing: number,
  at1024?: number,
  at2048?: number,
  at4096?: number,
  fused?: number,
): Published {
  return { english, identifiers, fts5, hashing, at1024, at2048, at4096, fused };
}

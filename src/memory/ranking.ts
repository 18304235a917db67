/** Parameters of ranking, and where they come from. */

/**
 * BM25's defaults: term saturation and length normalisation. Mean nDCG@10 of the lexical ranking over eight development sets (`npm run bench --
 * quality`): 0.9/0.4 .640, 0.9/0.6 .642, 1.2/0.6 .643, 1.2/0.75 .641, 1.5/0.75 .640. A plateau; long abstracts would like more of both,
 * conversations less.
 */
export const BM25 = { k1: 1.2, b: 0.6 } as const;

/**
 * How much the dense ranking counts in a fused one; the lexical has the rest. Mean of the fused ranking over the same sets, with the BM25 above:
 * 0.3 .651, 0.4 .650, 0.5 .648. A thousandth tells nothing on the sets it was chosen on; 0.4 keeps more of what the dense ranking is
 * better at, conversations.
 */
export const DENSE_WEIGHT = 0.4;

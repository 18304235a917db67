/** Parameters of ranking, and their measurements. */

/**
 * BM25's defaults: term saturation and length normalisation. Mean nDCG@10 of the lexical ranking over eight development
 * sets and over 21 others: 1/0.6 .709 and .633, 1.2/0.5 .710 and .633, 1.2/0.6 .708 and .634, 1.2/0.7 .707 and .634,
 * 1.5/0.6 .707 and .634. A plateau; higher values suit long abstracts, lower ones conversations. The runtime ranks by
 * the same until an index is built with others: TY_LEXICAL_K1 and TY_LEXICAL_B in ffi/ty_runtime/ty_runtime.h.
 */
export const BM25 = { k1: 1.2, b: 0.6 } as const;

/**
 * Weight of the dense ranking in a fused one; the lexical has the rest. Mean of the fused ranking over the same sets,
 * with this BM25: 0.3 .715 and .642, 0.4 .715 and .644, 0.5 .714 and .644. From 0.35 on a set of short abstracts
 * (vaswani) falls behind its lexical ranking by more than .005, at 0.5 the code snippets do too.
 */
export const DENSE_WEIGHT = 0.3;

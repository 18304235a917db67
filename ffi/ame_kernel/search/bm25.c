/* The inner loop of BM25 (Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009, eq. 3.15), rounded to
 * whole numbers: their sums do not depend on the order of addition, so that the sum is the final score.
 *
 * Every operation is one of IEEE 754 and none is fused, so the parts are equal on every CPU, vectorised or not. The
 * gather is a loop of its own, so that every compiler vectorises the other. */
#include "search/steps.h"

/* Postings at a time: `length` stays in the L1 cache between the two loops. */
#define BATCH 128u

void kernel_bm25_parts(const ame_bm25 *q, const uint32_t *docs, const uint32_t *tfs, const uint32_t *lengths, size_t n,
                       uint32_t *parts) {
  int32_t length[BATCH];
  const float weight = q->weight, fixed = q->fixed, slope = q->slope;
  for (size_t first = 0; first < n; first += BATCH) {
    size_t count = n - first < BATCH ? n - first : BATCH;
    const uint32_t *restrict tf_of = tfs + first;
    uint32_t *restrict to = parts + first;
    /* Fewer than 2^31 of both: signed conversion is one instruction on every CPU, unsigned is not. */
    for (size_t i = 0; i < count; i++) length[i] = (int32_t)(lengths[docs[first + i]] & 0x7fffffffu);
    for (size_t i = 0; i < count; i++) {
      float tf = (float)(int32_t)tf_of[i];
      float norm = fixed + slope * (float)length[i];
      float part = (weight * tf) / (tf + norm);
      int32_t whole = (int32_t)(part + 0.5f);
      to[i] = (uint32_t)(whole > 1 ? whole : 1);
    }
  }
}

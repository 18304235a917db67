/* The inner loop of BM25 (Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009, eq. 3.15). The length part
 * of the denominator is computed once a document by the caller, so that a posting costs one division. */
#include "kernel.h"

void kernel_bm25_accumulate(const ame_posting *postings, size_t n, float idf, float k1, const float *norms,
                            float *acc) {
  float weight = idf * (k1 + 1.0f);
  for (size_t i = 0; i < n; i++) {
    float tf = (float)postings[i].tf;
    uint32_t doc = postings[i].doc;
    float part = weight * tf;
    acc[doc] += part / (tf + norms[doc]);
  }
}

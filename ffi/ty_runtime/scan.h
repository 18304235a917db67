/* The screening scan: the best rows by inner product over some runs of rows, exact to the last bit of the kernel's f32 score, while
 * nearly all rows are looked at through their int8 codes only.
 */
#ifndef TY_SCAN_H
#define TY_SCAN_H

#include "filter.h"

/* A run of rows of one segment. */
typedef struct ty_range {
  const ty_segment *segment;
  uint64_t first, count;
} ty_range;

typedef struct ty_scored {
  ty_ref ref;
  uint64_t row;
  float score;
} ty_scored;

/* The top_k allowed rows of the ranges (which do not overlap), best first, ties by smaller row number. *out holds *count rows and is the
 * caller's to free(), also when it is empty or the call failed. Adds to the counters in `counts`. */
ty_status ty_scan_top(const ame_kernel *k, uint32_t dim, const float *query, uint64_t top_k, const ty_filter *filter,
                      const ty_range *ranges, uint64_t range_count, ty_scored **out, uint64_t *count, ty_scan *counts, ty_error *err);

/* The score that orders an answer: the kernel's f32 inner product; where that overflows, the exact one cut to the range of a float. */
float ty_scan_score(const ame_kernel *k, const float *query, const float *row, uint32_t dim);

/* ty_search for a caller that has entered the question already. */
ty_status ty_search_entered(ty_collection *c, ty_search_args *args, ty_error *err);

#endif

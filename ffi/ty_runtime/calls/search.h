/* What the calls that search do for each other. */
#ifndef TY_SEARCH_H
#define TY_SEARCH_H

#include "scan/scanner.h"

/* ty_search for a caller that has entered the question already. */
ty_status ty_search_entered(ty_collection *c, ty_search_args *args, ty_error *err);
/* Its middle: top_k of `args` and a prepared query in, rows as from ty_scanner_answer out; fills the counters of
 * `args`. May run on several threads at a time. */
ty_status ty_search_hits(const ty_collection *c, ty_search_args *args, const float *query, const ty_filter *filter,
                         double target, ty_scored **hits, uint64_t *count, ty_error *err);
/* A score as it is told: rounding may take a cosine beyond 1 by a few units of its last place. */
static inline double ty_shown_score(const ty_collection *c, float score) {
  if (c->metric != TY_COSINE) return (double)score;
  return score > 1 ? 1 : score < -1 ? -1 : (double)score;
}

/* ty_search_lexical for a caller that has entered the question already. */
ty_status ty_search_lexical_entered(ty_collection *c, ty_lexical_search_args *args, ty_error *err);

#endif

/* calls: what ty_runtime.h declares, a file for each kind of call. The top: uses all folders.
 *
 *   calls.h   packing answers; searches for callers that have entered the question
 *   handed.h  what callers hand over, and the checks of it
 *   fuse.h    one ranking out of two
 *   cost.h    what a question is going to read, said before it is answered
 */
#ifndef TY_CALLS_H
#define TY_CALLS_H

#include "scan/scanner.h"

/* Appends one record (ty_record and its parts) to an answer; counts bytes even where the buffer is full. */
typedef struct ty_answer {
  uint8_t *out;
  uint64_t capacity, bytes, count;
} ty_answer;
void ty_answer_row(ty_answer *a, const ty_collection *c, ty_ref ref, double score, uint64_t what, ty_slice extra);
/* TY_OK, or TY_BUFFER where bytes > capacity. */
ty_status ty_answer_end(const ty_answer *a, ty_error *err);

/* search.c, a ranking by vector: `hits` as from ty_scanner_answer, and what was read for it. */
typedef struct ty_found {
  ty_scored *hits; /* the caller's to free, also on failure */
  uint64_t count;
  uint64_t screened, scored, probed;
} ty_found;
/* The best rows for a prepared query. May run on several threads at a time. */
ty_status ty_search_hits(const ty_collection *c, uint64_t top_k, const float *query, const ty_filter *filter,
                         double target, ty_found *out, ty_error *err);
/* Whether an index answers, which may then miss rows. */
bool ty_search_probes(const ty_collection *c, const ty_filter *filter, double target);
/* A score as it is answered: rounding may take a cosine beyond 1 by a few units of its last place. */
static inline double ty_shown_score(const ty_collection *c, float score) {
  if (c->metric != TY_COSINE) return (double)score;
  return score > 1 ? 1 : score < -1 ? -1 : (double)score;
}

/* ty_ask for a caller that has entered the question already. */
ty_status ty_ask_entered(ty_collection *c, ty_ask_args *args, ty_error *err);

#endif

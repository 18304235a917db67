/* calls: what ty_runtime.h declares, a file for each kind of call. The top: uses all folders.
 *
 *   calls.h   packing answers; searches between ty_enter and ty_leave
 *   ask_run.h   one call of ty_ask or ty_ask_many, from its question to its answer; many.h: entering its collections
 *   arguments.h  arguments from the caller, and their checks
 *   encode.h  a put's rows as operations and codes, also before the put; meaning.h: their vectors of meaning
 *   turns.h   turns of conversations, and those beside them
 *   newest.h  the rows that were updated last; having.h: those whose metadata hold a text
 *   fuse.h    fuses two rankings
 *   cost.h    how much a query will read, estimated before it is answered
 */
#pragma once

#include "scan/scanner.h"

/* A packed answer. What does not fit is counted all the same: the caller learns how much is needed. */
typedef struct ty_answer {
  uint8_t *out;
  uint64_t capacity, bytes, count;
  uint64_t text_most;   /* bytes of each text, cut between characters; 0: all */
  ty_unpack ids, metas; /* of the rows that are read */
  ty_text_reader texts;
  bool damaged; /* a part of a row is, that was asked for: */
  ty_part part; /* which, of the first such row */
  ty_ref row;
  uint64_t births; /* added to those of rows */
} ty_answer;
/* Appends bytes, padded to 8. */
void ty_answer_put(ty_answer *a, const void *data, uint64_t bytes);
/* Two, padded together. */
void ty_answer_both(ty_answer *a, ty_slice one, ty_slice two);
/* Appends a row's record: ty_record and its parts; `extra` comes after the times. */
void ty_answer_row(ty_answer *a, const ty_collection *c, ty_ref ref, double score, uint64_t what, ty_slice extra);
/* Ends an answer, and frees what it holds. Returns `status` unless that is TY_OK; TY_BUFFER where bytes > capacity;
 * TY_CORRUPT where a part of a row is damaged, naming the row. */
ty_status ty_answer_end(ty_answer *a, ty_status status, const ty_collection *c, ty_error *err);

/* search.c, a ranking by vector: `hits` as from ty_scanner_answer, and how much was read. */
typedef struct ty_found {
  ty_scored *hits; /* the caller's to free, also on failure */
  uint64_t count;
  uint64_t screened, scored, probed;
  uint32_t trouble; /* of ty_scan_counts */
} ty_found;
/* What is to be ranked by vector: a query that ty_query_prepare made, and rows that may be among the best
 * (ty_scanner_expect). */
typedef struct ty_wanted {
  uint64_t top_k;
  const float *query;
  const ty_filter *filter;
  double target; /* recall */
  const ty_ref *expected;
  uint64_t expected_count;
} ty_wanted;
/* Finds the best rows. It may run on several threads at a time. */
ty_status ty_search_hits(const ty_collection *c, const ty_wanted *w, ty_found *out, ty_error *err);
/* Whether an approximate index answers, which may miss rows. */
bool ty_search_probes(const ty_collection *c, const ty_filter *filter, double target);
/* The score that a caller gets: rounding may take a cosine a few units in the last place beyond 1. */
static inline double ty_reported_score(const ty_collection *c, float score) {
  if (c->metric != TY_COSINE) return (double)score;
  return score > 1 ? 1 : score < -1 ? -1 : (double)score;
}

/* ty_ask between ty_enter and ty_leave. */
ty_status ty_ask_entered(ty_collection *c, ty_ask_args *args, ty_error *err);

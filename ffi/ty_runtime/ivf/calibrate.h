/* Internals of calibration: queries to a new index (calibrate_ask.c), and the reach computed from them
 * (calibrate.c). */
#pragma once

#include "ivf/builder.h"

#define NEIGHBOURS 10u
/* Queries that share a pass over the rows. */
#define ASKED_TOGETHER 16u
/* Kinds of queries: see calibrate_ask.c. */
enum { RAW, CUT, REST, QUERY_KINDS };

typedef struct answer {
  double kth;     /* the value of the last neighbour */
  uint32_t count; /* neighbours found */
  double needs[NEIGHBOURS], alone[NEIGHBOURS];
  double width_share; /* the largest share of its proved width that the bound of a neighbour needs */
  double lists, rows; /* read at the reach chosen */
  uint64_t scored;    /* rows scored for the exact answer */
} answer;

typedef struct calibration {
  ty_rebase *r;
  const ty_segment *base;
  ty_ivf_part *part; /* the part that is queried; NULL: the whole base */
  ty_crew crew;
  ty_filter filter;
  const uint64_t *held; /* rows used as queries, by position */
  answer *answers;      /* of each held row, then of every other one cut, then of every other one less its centroid */
  uint64_t first[QUERY_KINDS], asked[QUERY_KINDS];
  uint64_t asking_from, asking; /* queries of this run of calibrate_ask: the first, and how many */
  uint32_t most_lists;          /* of a part */
  uint64_t base_asked;
  double width_share; /* the largest of the answers so far */
  bool wide;          /* a part needs queries of kind REST */
  struct need *needs;
  uint32_t *found;
  float *query[TY_CREW_MAX], *row[TY_CREW_MAX]; /* ASKED_TOGETHER queries, one row */
  ty_ivf_outlook *outlook[TY_CREW_MAX];         /* ASKED_TOGETHER times most_lists */
  float *estimates[TY_CREW_MAX];                /* middles of most_lists, then spreads */
  float *scratch[TY_CREW_MAX];                  /* of ty_sign_excludes */
} calibration;

/* Tasks of a crew. Runs up to ASKED_TOGETHER queries and computes the needs of their neighbours. */
ty_status calibrate_ask(void *context, uint64_t task, uint32_t worker, ty_error *err);
/* Counts the lists and rows that query `task` reads with the reaches found. */
ty_status calibrate_count(void *context, uint64_t task, uint32_t worker, ty_error *err);
/* The part that holds a position; NULL for a row outside of the index. */
const ty_ivf_part *calibrate_part_of(const calibration *m, uint64_t at);

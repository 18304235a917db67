/* One call of ty_ask: its rankings (ask.c), and the records of their first rows (ask_answer.c). */
#pragma once

#include "calls/calls.h"
#include "calls/fuse.h"
#include "lexical/question.h"
#include "rows/weights.h"

typedef struct ty_ask_run {
  ty_collection *c;
  ty_ask_args *a;
  bool by_vector, by_words; /* the rankings to make */
  bool apart;               /* each ranking on a thread of its own */
  uint64_t depth;           /* rows in each ranking */
  ty_filter filter;
  double target;
  ty_weighing weighing; /* of the query by vector */
  float *memory;        /* of the next */
  const float *query;   /* prepared, where the rows are ranked by vector */
  question words;
  ty_found found; /* by vector */
  ty_best best;   /* by words */
  ty_fused *fused;
  uint64_t count; /* rows of the answer */
} ty_ask_run;

/* A row of one ranking as the fusion takes it. */
ty_candidate ty_ask_run_candidate(const ty_ask_run *x, bool by_words, uint64_t place);
/* Packs the ranked rows and the replaced words, and sets the arguments' out fields. */
ty_status ty_ask_run_answer(const ty_ask_run *x, ty_error *err);

/* One call of ty_ask: its rankings (ask.c), and the records of their first rows (ask_answer.c). */
#pragma once

#include "calls/calls.h"
#include "calls/fuse.h"
#include "calls/turns.h"
#include "lexical/question.h"
#include "rows/weights.h"

/* A row of the ranking by meaning. */
typedef struct ty_meaning_hit {
  uint64_t birth;
  double score; /* the cosine */
  ty_place place;
  bool listed; /* another ranking has it */
} ty_meaning_hit;

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
  ty_found found;        /* by vector */
  ty_best best;          /* by words */
  ty_meaning_hit *meant; /* by meaning, by birth */
  uint64_t meant_count;
  double least;   /* the fused score of a row that no ranking lists */
  ty_turns turns; /* near the best rows of the fused ranking, where these are turns of conversations */
  ty_fused *fused;
  uint64_t count; /* rows of the answer */
} ty_ask_run;

/* A row of one ranking as the fusion takes it. */
ty_candidate ty_ask_run_candidate(const ty_ask_run *x, bool by_words, uint64_t place);
/* The row that a fused ranking has at `f`. */
ty_ref ty_ask_run_ref(const ty_ask_run *x, const ty_fused *f);
/* ask_turns.c: adds to the first rows of x->fused, and to rows that it lacks, for the turns beside them. x->fused has
 * room for TY_TURNS_MOST more. */
#define TY_TURN_HEADS 30u
#define TY_TURNS_MOST (4 * TY_TURN_HEADS)
ty_status ty_ask_run_turns(ty_ask_run *x, ty_error *err);
/* ask_passages.c: scores the first rows of x->fused that have long texts by their best passages as well. */
ty_status ty_ask_run_passages(ty_ask_run *x, const ty_fuse_scales *scales, ty_error *err);
/* The row of the ranking by meaning with a birth; NULL: it has none. */
ty_meaning_hit *ty_ask_run_meant(const ty_ask_run *x, uint64_t birth);
/* ask_meaning.c: what ranking by meaning will read (calls/cost.h). */
uint64_t ty_ask_run_meaning_cost(const ty_ask_run *x);
/* Ranks by meaning too, where the caller asks for it and rows have vectors. x->fused has room for
 * TY_FUSE_HEAD more. */
ty_status ty_ask_run_meaning(ty_ask_run *x, ty_error *err);
/* ask_newer.c: of the first rows of x->fused that are about the same thing, the newer one first. */
ty_status ty_ask_run_newer(ty_ask_run *x, ty_error *err);
/* Packs the ranked rows and the replaced words, and sets the arguments' out fields. */
ty_status ty_ask_run_answer(const ty_ask_run *x, ty_error *err);

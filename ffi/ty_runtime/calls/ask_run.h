/* One call of ty_ask or ty_ask_many: its rankings (ask.c), and the records of their first rows (ask_answer.c).
 *
 * It searches one collection or several, each a ty_ask_part. Each phase is done for all of them before the next one
 * begins, and what they share is combined in between (ask_parts.c): first the statistics that weigh the question, then
 * the rankings. Whatever follows the fusion has one list of rows, of which each knows its part. */
#pragma once

#include "calls/calls.h"
#include "calls/fuse.h"
#include "calls/turns.h"
#include "lexical/question.h"
#include "rows/weights.h"

/* One of the collections. */
typedef struct ty_ask_part {
  ty_collection *c;
  uint64_t column; /* of the filter */
  uint64_t births; /* added to the births of its rows, so that those of parts before it are lower */
  ty_filter filter;
  question words; /* x NULL: not ranked by words; else in the chain */
  ty_found found; /* by vector */
  ty_best best;   /* by words */
  ty_turns turns; /* near its rows among the best of the fused ranking, where these are turns of conversations */
  uint32_t trouble;
  bool failed; /* the call failed here */
} ty_ask_part;

/* A row of a ranking of several parts. */
typedef struct ty_listed {
  ty_candidate row;
  uint32_t part, place; /* in the ranking of that part */
} ty_listed;

/* A row with its part. */
typedef struct ty_ask_row {
  ty_ask_part *part;
  ty_ref ref;
} ty_ask_row;

/* A row of the ranking by meaning. */
typedef struct ty_meaning_hit {
  uint64_t birth;
  double score; /* the cosine */
  ty_place place;
  uint32_t part;
  bool listed; /* another ranking has it */
} ty_meaning_hit;

typedef struct ty_ask_run {
  ty_ask_part *parts;
  uint64_t n;            /* of them */
  bool is_many;          /* ty_ask_many: the answer has the indices of the rows' parts */
  ty_progress *progress; /* NULL: it cannot be cancelled */
  ty_env *env;
  uint32_t dim;
  ty_ask_args *a;
  bool by_vector, by_words; /* the rankings to make; by words of at least one part */
  bool apart;               /* the parts are ranked on several threads */
  uint64_t depth;           /* rows in each ranking */
  ty_weighing weighing;     /* of the query by vector */
  float *memory;            /* of the next */
  const float *query;       /* prepared, where the rows are ranked by vector */
  question *words;          /* the chain of the parts' questions; NULL: not ranked by words */
  ty_listed *listed[2];     /* by vector and by words, of several parts */
  uint64_t ranked[2];       /* rows of each ranking */
  ty_meaning_hit *meant;    /* by meaning, by birth */
  uint64_t meant_count;
  ty_fuse_scale meaning; /* of these; the weight is a->meaning_weight */
  double least;          /* the fused score of a row that no ranking lists */
  bool has_turns;        /* the best rows of the fused ranking have turns of conversations */
  ty_fused *fused;
  uint64_t count; /* rows of the answer */
} ty_ask_run;

/* ask.c: makes the answer, parts being entered. The caller sets what is above `by_vector`, and of each part c, column
 * and the index of the question by words. It closes the call after a failure as well. */
ty_status ty_ask_run_all(ty_ask_run *x, ty_error *err);
void ty_ask_run_close(ty_ask_run *x);
/* TY_INVALID or why there is no such ranking, of one part. */
ty_status ty_ask_run_check(const ty_collection *c, const ty_ask_args *a, ty_error *err);

/* The target recall of a part. */
static inline double ty_ask_run_target(const ty_ask_run *x, const ty_ask_part *part) {
  return x->a->target_recall == 0 ? part->c->default_target_recall : x->a->target_recall;
}
/* ask_parts.c: marks a part where the status is a failure; returns the status. */
ty_status ty_ask_run_in(ty_ask_part *part, ty_status status);
/* Opens the weights of the query for the rows of all parts. */
ty_status ty_ask_run_weigh(ty_ask_run *x, ty_error *err);
/* After the rankings of the parts: makes x->listed where there are several, and sets x->ranked. */
ty_status ty_ask_run_merge(ty_ask_run *x, ty_error *err);
/* A row of one ranking as the fusion takes it. */
ty_candidate ty_ask_run_candidate(const ty_ask_run *x, bool by_words, uint64_t place);
/* The same row, of the ranking by words with its place among those of its part. */
ty_ask_row ty_ask_run_listed(const ty_ask_run *x, bool by_words, uint64_t place);
/* The row that a fused ranking has at `f`. */
ty_ask_row ty_ask_run_row(const ty_ask_run *x, const ty_fused *f);
/* The part whose rows have births like this one; not of births that are damaged. */
ty_ask_part *ty_ask_run_part(const ty_ask_run *x, uint64_t birth);

/* ask_turns.c: adds to the first rows of x->fused, and to rows that it lacks, for the turns beside them. x->fused has
 * room for TY_TURNS_MOST more. */
#define TY_TURN_HEADS 30u
#define TY_TURNS_MOST (4 * TY_TURN_HEADS)
ty_status ty_ask_run_turns(ty_ask_run *x, ty_error *err);
/* If none of so many first rows is a turn, no row gets anything: most collections have no conversations. */
#define TY_TURNS_LOOKED 10u
bool ty_ask_run_has_turns(const ty_ask_run *x);
/* ask_passages.c: scores the first rows of x->fused that have long texts by their best passages as well, then mixes the
 * ranking by meaning in. */
ty_status ty_ask_run_passages(ty_ask_run *x, const ty_fuse_scales *scales, ty_error *err);
/* The row of the ranking by meaning with a birth; NULL: it has none. */
ty_meaning_hit *ty_ask_run_meant(const ty_ask_run *x, uint64_t birth);
/* ask_meaning.c: what ranking by meaning will read (calls/cost.h). */
uint64_t ty_ask_run_meaning_cost(const ty_ask_run *x);
/* Ranks by meaning, where the caller asks for it and rows have vectors. */
ty_status ty_ask_run_meaning(ty_ask_run *x, ty_error *err);
/* A row's fused score with meaning mixed in. Call it after ty_ask_run_meaning. */
double ty_ask_run_with_meaning(const ty_ask_run *x, double fused, uint64_t birth);
/* Mixes meaning into the scores of x->fused, and appends the rows that only the ranking by meaning has: x->fused has
 * room for TY_FUSE_HEAD more. The caller sorts the rows. */
void ty_ask_run_mix_meaning(ty_ask_run *x);
/* ask_newer.c: of the first rows of x->fused that are about the same thing, the newer one first. */
ty_status ty_ask_run_newer(ty_ask_run *x, ty_error *err);
/* Packs the ranked rows and the replaced words, and sets the arguments' out fields. */
ty_status ty_ask_run_answer(ty_ask_run *x, ty_error *err);

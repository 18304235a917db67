/* One lexical question on its way: its terms, its sums, its answer. */
#ifndef TY_LEXICAL_QUESTION_H
#define TY_LEXICAL_QUESTION_H

#include "lexical.h"

typedef struct query_term {
  uint32_t hash;
  uint32_t weight; /* how often the query says it */
  uint32_t stored; /* index in the stored index; TY_NO_TERM: not there */
  uint32_t added;  /* number among the changed terms; TY_NO_TERM: none */
  uint32_t text_bytes;
  uint64_t text; /* offset in question.text */
  int64_t df;
  double idf;
} query_term;

typedef struct question {
  const ty_collection *c;
  ty_lexical *x;
  ty_bag bag; /* numbers are indices in `terms` until those are sorted */
  query_term *terms;
  uint32_t count, capacity;
  ty_buffer text;
  bool failed;
  uint64_t *by_hash;   /* hash << 32 | index in `terms`, ascending; the second half is scratch */
  query_term **rarest; /* by falling idf * weight */
  ty_scores *scores;
} question;

typedef struct answer_row {
  ty_ref ref;
  uint64_t row;
  double score;
} answer_row;

/* lexical_sum.c: the query's terms, and their postings summed into q->scores. */
bool ty_question_read(question *q, ty_slice query); /* false: memory ran out */
bool ty_question_prepare(question *q);              /* keeps the terms that live rows hold, with their idf; false: memory ran out */
void ty_question_free(question *q);
ty_scores *ty_scores_take(ty_lexical *x, uint64_t docs); /* all zero */
void ty_scores_give(ty_lexical *x, ty_scores *s);
/* Sums one term over the rows that the filter can let through. */
ty_status ty_question_sum(question *q, const query_term *t, const ty_filter *filter, ty_error *err);

/* lexical_rank.c: sums the terms as far as needed and ranks. *out is the caller's to free. */
ty_status ty_question_rank(question *q, const ty_filter *filter, uint64_t top_k, answer_row **out, uint64_t *count, ty_error *err);
/* The score of a row in doubles, from its own terms; tfs (by index in `terms`, may be NULL) gets how often it holds each. */
ty_status ty_question_score(const question *q, ty_ref ref, uint32_t *tfs, double *score, ty_error *err);
/* What one term adds to a row's score. */
double ty_question_share(const question *q, const query_term *t, uint32_t tf, ty_ref ref);

#endif

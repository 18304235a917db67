/* ty_passages and ty_passages_many: which passage of each text a question is about. */
#include <stdlib.h>

#include "calls/arguments.h"
#include "calls/calls.h"
#include "calls/many.h"
#include "lexical/passage.h"

static ty_status find(question *q, const ty_passages_args *a, ty_error *err) {
  ty_passage_finder finder;
  ty_status status = ty_passage_open(&finder, q, err);
  for (uint64_t i = 0; i < a->n && status == TY_OK; i++) {
    ty_passage found;
    ty_slice text = ty_nth(a->texts, a->text_ends, i);
    status = ty_passage_best(&finder, text, true, &found, err);
    if (status == TY_OK)
      a->places[i] = (ty_passage_place){found.from, found.best, found.word, found.to, found.question_share};
  }
  ty_passage_close(&finder);
  return status;
}

static ty_status check(const ty_passages_args *a, ty_error *err) {
  if (a->text_bytes > 0 && a->text == NULL) return ty_fail(err, TY_INVALID, "the text is a null pointer");
  if (a->n > 0 && (a->text_ends == NULL || a->places == NULL))
    return ty_fail(err, TY_INVALID, "the ends of the texts, or the places, are missing");
  return ty_check_texts(a->texts, a->text_ends, a->n, err);
}

/* The filters and the chain of questions of some collections: of those whose lexical index can be read, of the first
 * one where none can. */
typedef struct asking {
  ty_many_args *many;
  ty_filter *filters;
  question *questions;
  question *chain;
} asking;

static void chain(asking *g) {
  question **last = &g->chain;
  for (uint64_t i = 0; i < g->many->n; i++) {
    ty_collection *c = g->many->collections[i];
    g->questions[i] = (question){.c = c, .filter = &g->filters[i]};
    if (!ty_lexical_usable(c->lexical_index)) continue;
    g->questions[i].x = c->lexical_index;
    *last = &g->questions[i];
    last = &g->questions[i].next;
  }
  *last = NULL;
  if (g->chain == NULL) g->chain = &g->questions[0];
}

static ty_status open(asking *g, const ty_passages_args *a, ty_error *err) {
  const ty_many_args *many = g->many;
  ty_status status = TY_OK;
  g->filters = calloc((size_t)many->n, sizeof *g->filters);
  g->questions = calloc((size_t)many->n, sizeof *g->questions);
  if (g->filters == NULL || g->questions == NULL)
    return ty_fail(err, TY_NO_MEMORY, "not enough memory for the passages of a query");
  for (uint64_t i = 0; i < many->n && status == TY_OK; i++)
    status =
        ty_filter_open(many->collections[i], many->columns[i], (ty_slice){a->key, a->key_bytes}, &g->filters[i], err);
  return status;
}

static void forget_questions(asking *g) {
  for (uint64_t i = 0; g->questions != NULL && i < g->many->n; i++) ty_question_free(&g->questions[i]);
}

static ty_status prepare(asking *g, const ty_passages_args *a, ty_error *err) {
  for (;;) {
    chain(g);
    ty_status status = ty_question_prepare(g->chain, (ty_slice){a->text, a->text_bytes}, err);
    if (status != TY_INDEX) return status;
    question *q = g->chain;
    while (q != NULL && !q->failed) q = q->next;
    if (q == NULL) return status;
    ty_lexical_found_damage(q->x); /* the ranking finds the damage as well, and says so */
    forget_questions(g);
  }
}

ty_status ty_passages_many(ty_many_args *many, ty_passages_args *a, ty_error *err) {
  ty_entered entered;
  asking g = {.many = many};
  ty_status status = check(a, err);
  if (status == TY_OK) status = ty_enter_many(many, NULL, &entered, err);
  if (status != TY_OK) return status;
  status = open(&g, a, err);
  if (status == TY_OK) status = prepare(&g, a, err);
  if (status == TY_OK) status = find(g.chain, a, err);
  forget_questions(&g);
  for (uint64_t i = 0; g.filters != NULL && i < many->n; i++) ty_filter_close(&g.filters[i]);
  free(g.questions);
  free(g.filters);
  return ty_leave_many(&entered, status, err);
}

ty_status ty_passages(ty_collection *c, ty_passages_args *a, ty_error *err) {
  ty_many_args one = {.n = 1, .collections = &c, .columns = &a->column};
  return ty_passages_many(&one, a, err);
}

/* ty_passages: which passage of each text a question is about. */
#include "calls/arguments.h"
#include "calls/calls.h"
#include "lexical/passage.h"
#include "state/state.h"

static ty_status find(question *q, const ty_passages_args *a, ty_error *err) {
  ty_passage_finder finder;
  ty_status status = ty_passage_open(&finder, q, err);
  for (uint64_t i = 0; i < a->n && status == TY_OK; i++) {
    ty_passage found;
    ty_slice text = ty_nth(a->texts, a->text_ends, i);
    status = ty_passage_best(&finder, text, &found, err);
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

ty_status ty_passages(ty_collection *c, ty_passages_args *a, ty_error *err) {
  ty_filter filter;
  ty_status status = check(a, err);
  if (status == TY_OK) status = ty_enter(c, err);
  if (status != TY_OK) return status;
  question q = {.c = c, .x = ty_lexical_usable(c->lexical_index) ? c->lexical_index : NULL};
  status = ty_filter_open(c, a->column, (ty_slice){a->key, a->key_bytes}, &filter, err);
  if (status == TY_OK) {
    status = ty_question_prepare(&q, (ty_slice){a->text, a->text_bytes}, &filter, err);
    if (status == TY_INDEX) { /* the ranking finds the damage as well, and says so */
      ty_question_free(&q);
      q = (question){.c = c};
      status = ty_question_prepare(&q, (ty_slice){a->text, a->text_bytes}, &filter, err);
    }
    if (status == TY_OK) status = find(&q, a, err);
    ty_filter_close(&filter);
  }
  ty_question_free(&q);
  return ty_leave(c, status, err);
}

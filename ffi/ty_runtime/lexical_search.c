/* ty_search_lexical: BM25 (Robertson and Zaragoza, 2009) over the live rows. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lexical_question.h"

/* One ty_term for each of the query's terms that the row holds, in the query's order. */
static ty_status explain(const question *q, ty_ref ref, uint32_t *tfs, ty_buffer *out, ty_error *err) {
  double score;
  out->bytes = 0;
  memset(tfs, 0, (size_t)q->count * sizeof *tfs);
  ty_status status = ty_question_score(q, ref, tfs, &score, err);
  if (status != TY_OK) return status;
  for (uint32_t i = 0; i < q->count; i++) {
    if (tfs[i] == 0) continue;
    const query_term *t = &q->terms[i];
    ty_term term = {ty_question_share(q, t, tfs[i], ref), t->idf, tfs[i], t->text_bytes};
    ty_buffer_append(out, &term, sizeof term);
    ty_buffer_append(out, q->text.data + t->text, t->text_bytes);
    ty_buffer_align(out, 8);
  }
  return out->failed ? ty_fail(err, TY_NO_MEMORY, "not enough memory to explain a lexical search") : TY_OK;
}

static ty_status answer(question *q, ty_lexical_search_args *args, const answer_row *rows, uint64_t count,
                        ty_error *err) {
  ty_status status = TY_OK;
  ty_answer packed = {.out = args->out, .capacity = args->out_capacity};
  ty_buffer extra = {0};
  uint32_t *tfs = malloc(((size_t)q->count + 1) * sizeof *tfs);
  if (tfs == NULL) status = ty_fail(err, TY_NO_MEMORY, "not enough memory for a lexical search");
  for (uint64_t i = 0; i < count && status == TY_OK; i++) {
    if ((args->what & TY_WITH_EXPLAIN) != 0) status = explain(q, rows[i].ref, tfs, &extra, err);
    if (status == TY_OK)
      ty_answer_row(&packed, q->c, rows[i].ref, rows[i].score, args->what, (ty_slice){extra.data, extra.bytes});
  }
  if (status == TY_OK) {
    args->out_bytes = packed.bytes;
    args->out_count = count;
    status = ty_answer_end(&packed, err);
  }
  free(tfs);
  ty_buffer_free(&extra);
  return status;
}

static ty_status ask(question *q, ty_lexical_search_args *args, ty_error *err) {
  ty_filter filter;
  answer_row *rows = NULL;
  uint64_t count = 0;
  ty_lexical *x = q->x;
  ty_status status = ty_filter_open(q->c, args->column, (ty_slice){args->key, args->key_bytes}, &filter, err);
  if (status == TY_OK) status = ty_lexical_sync(x, q->c, err);
  if (status != TY_OK) return status;
  if (!ty_question_prepare(q)) return ty_fail(err, TY_NO_MEMORY, "not enough memory for a lexical search");
  if (q->count != 0 && !filter.none) {
    q->scores = ty_scores_take(x, ty_lexical_delta_start(x) + x->delta_count);
    if (q->scores == NULL) return ty_fail(err, TY_NO_MEMORY, "not enough memory for a lexical search");
    status = ty_question_rank(q, &filter, args->top_k, &rows, &count, err);
    ty_scores_give(x, q->scores);
  }
  if (status == TY_OK) status = answer(q, args, rows, count, err);
  free(rows);
  return status;
}

ty_status ty_search_lexical_entered(ty_collection *c, ty_lexical_search_args *args, ty_error *err) {
  args->out_bytes = args->out_count = 0;
  if (args->top_k == 0) return ty_fail(err, TY_INVALID, "top_k must be at least 1, not 0");
  if (!c->lexical)
    return ty_fail(err, TY_STATE, "this collection was created without a lexical index: create it with lexical true");
  if (c->lexical_index == NULL) {
    return ty_fail(err, TY_STATE,
                   "the lexical index of this collection was not built yet: run svc_build_lexical first");
  }
  atomic_fetch_add_explicit(&c->searches, 1, memory_order_relaxed);
  ty_status status;
  question q = {.c = c, .x = c->lexical_index};
  if (!ty_question_read(&q, (ty_slice){args->query, args->query_bytes})) {
    status = ty_fail(err, TY_NO_MEMORY, "not enough memory for a query of %" PRIu64 " bytes", args->query_bytes);
  } else {
    status = ask(&q, args, err);
  }
  ty_question_free(&q);
  return status;
}

ty_status ty_search_lexical(ty_collection *c, ty_lexical_search_args *args, ty_error *err) {
  ty_status status = ty_enter(c, err);
  if (status != TY_OK) return status;
  status = ty_search_lexical_entered(c, args, err);
  ty_leave(c);
  return status;
}

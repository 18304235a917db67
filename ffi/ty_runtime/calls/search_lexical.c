/* ty_search_lexical: BM25 (Robertson and Zaragoza, 2009) over the live rows. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "calls/calls.h"
#include "calls/cost.h"
#include "state/state.h"

/* A query's bytes that are tokenised wherever it was asked: a few hundred microseconds. */
#define QUERY_BYTES_HERE ((uint64_t)64 << 10)

/* How often a row has a term. */
static ty_status tf_of(const question *q, ty_ref ref, const query_term *t, ty_postings *memory, uint32_t *tf,
                       ty_error *err) {
  ty_cursor c;
  ty_status status = ty_cursor_open(&c, q, t, !ref.segment->is_base, memory, err);
  if (status == TY_OK) status = ty_cursor_seek(&c, ref.at, err);
  return status == TY_OK ? ty_cursor_find(&c, ref.at, tf, err) : status;
}

/* One ty_term for each of the query's terms that the row holds, in the query's order. The shares sum to the score,
 * exactly. */
static ty_status explain(const question *q, ty_ref ref, ty_postings *memory, ty_buffer *out, ty_error *err) {
  const ty_lexical *x = q->x;
  const uint32_t *lengths = ref.segment->is_base ? x->image.lengths : x->delta_lengths;
  out->bytes = 0;
  for (uint32_t i = 0; i < q->count; i++) {
    const query_term *t = &q->terms[i];
    uint32_t tf, part, at = (uint32_t)ref.at;
    ty_status status = tf_of(q, ref, t, memory, &tf, err);
    if (status != TY_OK) return status;
    if (tf == 0) continue;
    q->c->env->kernel->bm25_parts(&t->part, &at, &tf, lengths, 1, &part);
    ty_term term = {ldexp(part, -q->scale), t->idf, tf, t->text_bytes};
    ty_buffer_append(out, &term, sizeof term);
    ty_buffer_append(out, q->text.data + t->text, t->text_bytes);
    ty_buffer_align(out, 8);
  }
  return out->failed ? ty_fail(err, TY_NO_MEMORY, "not enough memory to explain a lexical search") : TY_OK;
}

static ty_status answer(const question *q, ty_lexical_search_args *args, const ty_best *best, ty_error *err) {
  ty_status status = TY_OK;
  ty_answer packed = {.out = args->out, .capacity = args->out_capacity};
  ty_buffer extra = {0};
  ty_postings memory;
  for (uint64_t i = 0; i < best->count && status == TY_OK; i++) {
    const ty_ranked *one = &best->items[i];
    ty_ref ref = {one->delta ? &q->c->delta : &q->c->base, one->at};
    if ((args->what & TY_WITH_EXPLAIN) != 0) status = explain(q, ref, &memory, &extra, err);
    if (status == TY_OK)
      ty_answer_row(&packed, q->c, ref, ldexp(one->score, -q->scale), args->what, (ty_slice){extra.data, extra.bytes});
  }
  if (status == TY_OK) {
    args->out_bytes = packed.bytes;
    args->out_count = best->count;
    status = ty_answer_end(&packed, err);
  }
  ty_buffer_free(&extra);
  return status;
}

static ty_status ask(question *q, ty_lexical_search_args *args, ty_error *err) {
  ty_filter filter;
  ty_best best = {0};
  ty_status status = ty_filter_open(q->c, args->column, (ty_slice){args->key, args->key_bytes}, &filter, err);
  if (status == TY_OK) status = ty_cost_check(ty_lexical_sync_cost(q->x, q->c), args->most_bytes, err);
  if (status == TY_OK) status = ty_lexical_sync(q->x, q->c, err);
  if (status == TY_OK) status = ty_question_prepare(q, err);
  if (status == TY_OK) status = ty_cost_check(ty_question_cost(q, &filter), args->most_bytes, err);
  if (status == TY_OK) status = ty_question_rank(q, &filter, args->top_k, &best, err);
  if (status == TY_OK) status = answer(q, args, &best, err);
  free(best.items);
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
  if (!ty_lexical_usable(c->lexical_index))
    return ty_fail(err, c->lexical_index->trouble, "%s", c->lexical_index->message);
  ty_status status = TY_OK;
  question q = {.c = c, .x = c->lexical_index};
  if (args->query_bytes > QUERY_BYTES_HERE) status = ty_cost_check(UINT64_MAX, args->most_bytes, err);
  if (status != TY_OK) return status;
  if (!ty_question_read(&q, (ty_slice){args->query, args->query_bytes})) {
    status = ty_fail(err, TY_NO_MEMORY, "not enough memory for a query of %" PRIu64 " bytes", args->query_bytes);
  } else {
    status = ask(&q, args, err);
  }
  if (status != TY_LARGE) atomic_fetch_add_explicit(&c->searches, 1, memory_order_relaxed);
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

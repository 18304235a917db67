/* The answer of ty_ask: its rows, and what was searched for in place of the question's words. */
#include <math.h>

#include "calls/ask_run.h"

ty_candidate ty_ask_run_candidate(const ty_ask_run *x, bool by_words, uint64_t place) {
  if (by_words) {
    const ty_ranked *one = &x->best.items[place];
    return (ty_candidate){one->birth, ldexp(one->score, -x->words.scale)};
  }
  const ty_scored *hit = &x->found.hits[place];
  return (ty_candidate){hit->birth, ty_reported_score(x->c, hit->score)};
}

ty_ref ty_ask_run_ref(const ty_ask_run *x, const ty_fused *f) {
  if (f->vector != UINT64_MAX) return x->found.hits[f->vector].ref;
  if (f->words == UINT64_MAX) {
    const ty_meaning_hit *meant = ty_ask_run_meant(x, f->row.birth);
    if (meant != NULL) return ty_ref_of(x->c, meant->place);
    return x->turns.rows[ty_turns_find(&x->turns, f->row.birth)].ref;
  }
  const ty_ranked *one = &x->best.items[f->words];
  return (ty_ref){one->delta ? &x->c->delta : &x->c->base, one->at};
}

/* Appends row `i` of the answer. */
static ty_status show(const ty_ask_run *x, uint64_t i, ty_answer *out, ty_buffer *extra, ty_error *err) {
  uint64_t what = x->a->what, in_vector = x->by_vector ? i : UINT64_MAX, in_words = x->by_words ? i : UINT64_MAX;
  ty_scores scores = {NAN, NAN, NAN};
  if (x->fused != NULL) in_vector = x->fused[i].vector, in_words = x->fused[i].words;
  ty_fused one = {{0, 0}, in_vector, in_words};
  const ty_fused *f = x->fused != NULL ? &x->fused[i] : &one;
  ty_ref ref = ty_ask_run_ref(x, f);
  const ty_meaning_hit *meant = ty_ask_run_meant(x, f->row.birth);
  if (meant != NULL) scores.meaning = meant->score;
  if (in_words != UINT64_MAX) scores.words = ty_ask_run_candidate(x, true, in_words).score;
  if (in_vector != UINT64_MAX) scores.vector = ty_ask_run_candidate(x, false, in_vector).score;
  TY_ASSERT(ref.segment != NULL);
  double score = x->fused != NULL ? x->fused[i].row.score : x->by_vector ? scores.vector : scores.words;
  ty_status status = TY_OK;
  extra->bytes = 0;
  if ((what & TY_WITH_SCORES) != 0) ty_buffer_append(extra, &scores, sizeof scores);
  if ((what & TY_WITH_EXPLAIN) != 0 && x->by_words) status = ty_question_explain(&x->words, ref, extra, err);
  if (extra->failed) return ty_fail(err, TY_NO_MEMORY, "not enough memory to explain a search");
  if (status == TY_OK) ty_answer_row(out, x->c, ref, score, what, (ty_slice){extra->data, extra->bytes});
  return status;
}

/* Appends what was searched for in place of the question's words. */
static void show_replaced(const ty_ask_run *x, ty_answer *out) {
  const question *q = &x->words;
  x->a->replaced = 0;
  for (uint32_t i = 0; i < q->count; i++) {
    const query_term *t = &q->terms[i];
    if (t->instead == TY_NO_TERM) continue;
    ty_slice word = ty_term_spelling(q, &q->unknown[t->instead]), partner = ty_term_spelling(q, t);
    ty_replacement r = {t->instead, (uint32_t)word.bytes, (uint32_t)partner.bytes, 0};
    ty_answer_put(out, &r, sizeof r);
    ty_answer_both(out, word, partner);
    x->a->replaced++;
  }
}

static void show_weights(const ty_ask_run *x, ty_answer *out) {
  const question *q = &x->words;
  x->a->weights = q->weights == NULL ? 0 : q->asked;
  ty_answer_put(out, q->weights, x->a->weights * sizeof *q->weights);
}

ty_status ty_ask_run_answer(const ty_ask_run *x, ty_error *err) {
  ty_ask_args *a = x->a;
  ty_answer out = {.out = a->out, .capacity = a->out_capacity};
  ty_buffer extra = {0};
  ty_status status = TY_OK;
  for (uint64_t i = 0; i < x->count && status == TY_OK; i++) status = show(x, i, &out, &extra, err);
  ty_buffer_free(&extra);
  if (status != TY_OK) return status;
  show_replaced(x, &out);
  show_weights(x, &out);
  a->words = x->words.asked;
  a->known = x->words.count;
  a->out_bytes = out.bytes;
  a->out_count = x->count;
  a->fused = x->fused != NULL;
  a->screened_rows = x->found.screened;
  a->scored_rows = x->found.scored;
  a->probed_lists = x->found.probed;
  a->trouble |= x->found.trouble | x->filter.trouble | x->weighing.trouble;
  return ty_answer_end(&out, x->c, err);
}

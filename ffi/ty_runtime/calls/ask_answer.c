/* The answer of ty_ask: its rows, and what was searched for in place of the question's words. */
#include <math.h>

#include "calls/ask_run.h"

/* Appends row `i` of the answer. */
static ty_status show(const ty_ask_run *x, uint64_t i, ty_answer *out, ty_buffer *extra, ty_ask_part **part,
                      ty_error *err) {
  uint64_t what = x->a->what, in_vector = x->by_vector ? i : UINT64_MAX, in_words = x->by_words ? i : UINT64_MAX;
  ty_scores scores = {NAN, NAN, NAN};
  if (x->fused != NULL) in_vector = x->fused[i].vector, in_words = x->fused[i].words;
  ty_fused one = {{0, 0}, in_vector, in_words};
  const ty_fused *f = x->fused != NULL ? &x->fused[i] : &one;
  ty_ask_row row = ty_ask_run_row(x, f);
  *part = row.part;
  const ty_meaning_hit *meant = ty_ask_run_meant(x, f->row.birth);
  if (meant != NULL) scores.meaning = meant->score;
  if (in_words != UINT64_MAX) scores.words = ty_ask_run_candidate(x, true, in_words).score;
  if (in_vector != UINT64_MAX) scores.vector = ty_ask_run_candidate(x, false, in_vector).score;
  TY_ASSERT(row.ref.segment != NULL);
  double score = x->fused != NULL ? x->fused[i].row.score : x->by_vector ? scores.vector : scores.words;
  ty_status status = TY_OK;
  extra->bytes = 0;
  if ((what & TY_WITH_SCORES) != 0) ty_buffer_append(extra, &scores, sizeof scores);
  if ((what & TY_WITH_EXPLAIN) != 0 && row.part->words.x != NULL)
    status = ty_ask_run_in(row.part, ty_question_explain(&row.part->words, row.ref, extra, err));
  if (extra->failed) return ty_fail(err, TY_NO_MEMORY, "not enough memory to explain a search");
  out->births = row.part->births;
  if (status == TY_OK) ty_answer_row(out, row.part->c, row.ref, score, what, (ty_slice){extra->data, extra->bytes});
  return status;
}

/* Appends what was searched for in place of the question's words. */
static void show_replaced(const ty_ask_run *x, ty_answer *out) {
  const question *q = x->words;
  x->a->replaced = 0;
  for (uint32_t i = 0; q != NULL && i < q->count; i++) {
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
  const question *q = x->words;
  x->a->weights = q == NULL || q->weights == NULL ? 0 : q->asked;
  if (x->a->weights > 0) ty_answer_put(out, q->weights, x->a->weights * sizeof *q->weights);
}

/* How much was read, and what is damaged of it. */
static void add_up(const ty_ask_run *x) {
  ty_ask_args *a = x->a;
  for (uint64_t i = 0; i < x->n; i++) {
    ty_ask_part *part = &x->parts[i];
    a->screened_rows += part->found.screened;
    a->scored_rows += part->found.scored;
    a->probed_lists += part->found.probed;
    part->trouble |= part->found.trouble | part->filter.trouble;
    a->trouble |= part->trouble;
  }
}

ty_status ty_ask_run_answer(ty_ask_run *x, ty_error *err) {
  ty_ask_args *a = x->a;
  ty_answer out = {.out = a->out, .capacity = a->out_capacity};
  ty_buffer extra = {0}, parts = {0};
  ty_ask_part *damaged = NULL;
  ty_status status = TY_OK;
  for (uint64_t i = 0; i < x->count && status == TY_OK; i++) {
    ty_ask_part *part;
    status = show(x, i, &out, &extra, &part, err);
    if (damaged == NULL && (out.damaged || out.ids.damaged || out.metas.damaged || out.texts.damaged)) damaged = part;
    uint32_t number = (uint32_t)(part - x->parts);
    if (x->is_many) ty_buffer_append(&parts, &number, sizeof number);
  }
  ty_buffer_free(&extra);
  if (parts.failed) status = ty_fail(err, TY_NO_MEMORY, "not enough memory for an answer");
  if (status == TY_OK) {
    ty_answer_put(&out, parts.data, parts.bytes);
    show_replaced(x, &out);
    show_weights(x, &out);
  }
  ty_buffer_free(&parts);
  if (status != TY_OK) return ty_answer_end(&out, status, x->parts->c, err);
  a->words = x->by_words ? x->words->asked : 0;
  a->known = x->by_words ? x->words->count : 0;
  a->out_bytes = out.bytes;
  a->out_count = x->count;
  a->fused = x->fused != NULL;
  add_up(x);
  if (damaged == NULL) damaged = x->parts;
  status = ty_answer_end(&out, TY_OK, damaged->c, err);
  return status == TY_CORRUPT ? ty_ask_run_in(damaged, status) : status;
}

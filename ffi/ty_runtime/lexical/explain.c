/* What each term of a lexical query adds to a row's score. */
#include <math.h>

#include "lexical/question.h"

ty_status ty_question_tf(const question *q, ty_ref ref, const query_term *t, uint32_t *tf, ty_error *err) {
  ty_postings memory;
  ty_cursor c;
  ty_status status = ty_cursor_open(&c, q, t, !ref.segment->is_base, &memory, err);
  if (status == TY_OK) status = ty_cursor_seek(&c, ref.at, err);
  return status == TY_OK ? ty_cursor_find(&c, ref.at, tf, err) : status;
}

ty_status ty_question_explain(const question *q, ty_ref ref, ty_buffer *out, ty_error *err) {
  const ty_lexical *x = q->x;
  const uint32_t *lengths = ref.segment->is_base ? x->image.lengths : x->delta_lengths;
  for (uint32_t i = 0; i < q->count; i++) {
    const query_term *t = &q->terms[i];
    uint32_t tf, part, at = (uint32_t)ref.at;
    ty_status status = ty_question_tf(q, ref, t, &tf, err);
    if (status != TY_OK) return status;
    if (tf == 0) continue;
    q->c->env->kernel->bm25_parts(&t->part, &at, &tf, lengths, 1, &part);
    ty_slice instead = {NULL, 0};
    if (t->instead != TY_NO_TERM) instead = ty_term_spelling(q, &q->unknown[t->instead]);
    ty_term term = {ldexp(part, -q->scale), t->idf, tf, t->text_bytes, (uint32_t)instead.bytes, 0};
    ty_buffer_append(out, &term, sizeof term);
    ty_buffer_append(out, q->text.data + t->text, t->text_bytes);
    ty_buffer_append(out, instead.data, instead.bytes);
    ty_buffer_align(out, 8);
  }
  return out->failed ? ty_fail(err, TY_NO_MEMORY, "not enough memory to explain a lexical search") : TY_OK;
}

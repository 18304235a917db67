/* The spelling of a term. Terms are stored as hashes only: the spelling is taken from the text of a row that has it. */

#include "lexical/unknown.h"
#include "rows/checks.h"

/* A word with many joiners or accents is shown folded. */
#define SHOWN_MOST 128u

/* Rows without a text, of allowed ones, after which no text is expected: a repository stores none. */
#define ROWS_MOST 16u

static ty_status no_memory(ty_error *err) { return ty_fail(err, TY_NO_MEMORY, "not enough memory for a query"); }

/* The text of the first row of one list that is allowed and has one; *text is empty where there is none. */
static ty_status first_text(const question *q, const query_term *t, bool delta, ty_text_reader *r, ty_slice *text,
                            ty_error *err) {
  const ty_filter *filter = q->filter;
  const ty_segment *s = delta ? &q->c->delta : &q->c->base;
  uint64_t from = delta ? 0 : filter->first, end = delta ? s->count : from + filter->count;
  ty_postings memory;
  ty_cursor c;
  uint32_t rows = 0;
  ty_status status = ty_cursor_open(&c, q, t, delta, &memory, err);
  if (status == TY_OK) status = ty_cursor_seek(&c, from, err);
  while (status == TY_OK && !c.ended) {
    status = ty_cursor_docs(&c, err);
    for (uint32_t i = 0; i < c.count && status == TY_OK; i++) {
      uint64_t doc = c.p->docs[i];
      bool has_text;
      if (doc >= end || rows == ROWS_MOST) return TY_OK;
      if (doc < from || !ty_filter_allows(filter, s, doc)) continue;
      if (ty_row_has_text(s, doc) && ty_text_intact(s, doc)) {
        *text = ty_row_text(s, doc, r, &has_text);
        return r->text.failed ? no_memory(err) : TY_OK;
      }
      rows++;
    }
    if (status == TY_OK) status = ty_cursor_next(&c, err);
  }
  return status;
}

typedef struct seeking {
  question *q;
  query_term *t;
  const ty_slice *terms;
  uint32_t n;
  ty_slice text;
  ty_text_reader reader;
  uint64_t read;
  bool found;
} seeking;

static uint32_t compare(void *context, const ame_word *w) {
  seeking *s = context;
  s->read = w->to;
  if (w->hash != s->t->hash) return 0;
  for (uint32_t i = 0; i < s->n && !s->found; i++)
    s->found = s->terms[i].bytes == w->term_bytes && memcmp(s->terms[i].data, w->term, w->term_bytes) == 0;
  if (!s->found) return 0;
  bool written = !w->part && w->to - w->from <= SHOWN_MOST;
  ty_slice shown = written ? (ty_slice){s->text.data + w->from, w->to - w->from} : (ty_slice){w->word, w->word_bytes};
  s->t->text = s->q->text.bytes;
  s->t->text_bytes = (uint32_t)w->term_bytes;
  s->t->word_bytes = 0;
  s->t->shown_bytes = (uint32_t)shown.bytes;
  ty_buffer_append(&s->q->text, w->term, w->term_bytes);
  ty_buffer_append(&s->q->text, shown.data, shown.bytes);
  return 1;
}

ty_status ty_sample_text(ty_replacing *r, query_term *t, const ty_slice *terms, uint32_t n, bool *found,
                         ty_error *err) {
  question *q = r->q;
  seeking s = {.q = q, .t = t, .terms = terms, .n = n};
  *found = false;
  ty_status status = TY_OK;
  s.reader.most = r->text_left + 1;
  for (question *in = q; in != NULL && s.text.bytes == 0 && status == TY_OK; in = in->next) {
    query_term own = {.hash = t->hash};
    status = ty_question_lists(in, &own, err);
    if (status == TY_OK) status = first_text(in, &own, false, &s.reader, &s.text, err);
    if (status == TY_OK && s.text.bytes == 0) status = first_text(in, &own, true, &s.reader, &s.text, err);
    in->failed = status != TY_OK;
  }
  if (s.text.bytes > r->text_left) s.text.bytes = r->text_left;
  s.read = s.text.bytes;
  if (status == TY_OK) q->c->env->kernel->token_words(s.text.data, (size_t)s.text.bytes, compare, &s);
  ty_buffer_free(&s.reader.text);
  if (status != TY_OK) return status;
  r->text_left -= s.found ? s.read : s.text.bytes;
  *found = s.found;
  return q->text.failed ? no_memory(err) : TY_OK;
}

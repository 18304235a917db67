#include "lexical/statistics.h"

#include <stdlib.h>

#include "lexical/question.h"

/* ---- Rows and tokens ---- */

/* Tokens of a long row, about 1,200 characters. Where only terms are stored, as of the windows of a repository, all
 * rows are taken to be of one kind. */
#define LONG_TOKENS 220u

void ty_lengths_count(ty_lengths *l, const ty_segment *s, uint64_t at, uint64_t tokens, int sign) {
  bool has_text = s->is_base ? (s->presence[at] & TY_HAS_TEXT) != 0 : s->payload[at].has_text != 0;
  bool is_long = tokens > LONG_TOKENS && has_text;
  *(is_long ? &l->long_tokens : &l->tokens) += (uint64_t)((int64_t)tokens * sign);
  if (tokens > 0) *(is_long ? &l->long_docs : &l->docs) += (uint64_t)(int64_t)sign;
}

ty_lengths ty_lengths_sum(const ty_lengths *a, const ty_lengths *b) {
  return (ty_lengths){a->docs + b->docs, a->tokens + b->tokens, a->long_docs + b->long_docs,
                      a->long_tokens + b->long_tokens};
}

double ty_lengths_mean(const ty_lengths *l, uint64_t docs) {
  double mean = ty_mean_length(l->tokens, l->docs), of_long = ty_mean_length(l->long_tokens, l->long_docs);
  if (l->long_docs == 0) return ty_mean_length(l->tokens, docs);
  /* Rows without tokens are left out: many of them would pull the mean to 0. */
  return (double)(l->docs + l->long_docs) / ((double)l->docs / mean + (double)l->long_docs / of_long);
}

void ty_parts_count(ty_lexical *x, const ty_segment *s, uint64_t at, uint64_t tokens, int sign) {
  uint32_t code = s->keys[0][at];
  if (code >= x->part_count || !x->parts[code].known) return;
  ty_lexical_part *p = &x->parts[code];
  *(s->is_base ? &p->base_docs : &p->delta_docs) += (uint64_t)(int64_t)sign;
  ty_lengths_count(&p->lengths, s, at, tokens, sign);
}

void ty_parts_forget(ty_lexical *x) {
  if (x->part_count > 0) memset(x->parts, 0, x->part_count * sizeof *x->parts);
}

/* The partition's entry; NULL: out of memory. */
static ty_lexical_part *part_of(ty_lexical *x, const ty_collection *c, uint32_t code) {
  TY_ASSERT(code < c->dicts[0].count);
  if (code >= x->part_count) {
    uint32_t count = c->dicts[0].count;
    ty_lexical_part *grown = realloc(x->parts, (size_t)count * sizeof *grown);
    if (grown == NULL) return NULL;
    memset(grown + x->part_count, 0, (size_t)(count - x->part_count) * sizeof *grown);
    x->parts = grown;
    x->part_count = count;
  }
  return &x->parts[code];
}

static void count_part(ty_lexical_part *p, const ty_lexical *x, const ty_collection *c, const ty_filter *f) {
  *p = (ty_lexical_part){.known = true};
  for (uint64_t at = f->first; at < f->first + f->count; at++) {
    uint64_t live = x->base_dead[at] == 0;
    p->base_docs += live;
    if (live) ty_lengths_count(&p->lengths, &c->base, at, x->image.lengths[at], 1);
  }
  const uint32_t *codes = x->delta_count > 0 ? c->delta.keys[0] : NULL;
  for (uint64_t at = 0; at < x->delta_count; at++) {
    uint64_t counts = x->delta_dead[at] == 0 && codes[at] == f->code;
    p->delta_docs += counts;
    if (counts) ty_lengths_count(&p->lengths, &c->delta, at, x->delta_lengths[at], 1);
  }
}

ty_status ty_scope_open(const ty_collection *c, ty_lexical *x, const ty_filter *f, ty_scope *out, ty_error *err) {
  const uint32_t partition = ty_filter_partition(f);
  *out = (ty_scope){.c = c, .x = x, .whole = partition == TY_NO_CODE};
  if (partition == 0) return TY_OK;
  if (!out->whole) {
    out->code = partition;
    out->first = f->first;
    out->end = f->first + f->count;
    pthread_mutex_lock(&x->lock);
    ty_lexical_part *p = part_of(x, c, f->code);
    if (p != NULL && !p->known) count_part(p, x, c, f);
    if (p != NULL) {
      out->base_docs = p->base_docs;
      out->delta_docs = p->delta_docs;
      out->lengths = p->lengths;
    }
    pthread_mutex_unlock(&x->lock);
    if (p == NULL) return ty_fail(err, TY_NO_MEMORY, "not enough memory for the statistics of a partition");
    out->whole = ty_scope_docs(out) == ty_lexical_docs(x);
  }
  if (!out->whole) return TY_OK;
  out->first = 0;
  out->end = x->image.docs;
  out->base_docs = x->base_docs;
  out->delta_docs = x->delta_docs;
  out->lengths = ty_lengths_sum(&x->base_totals, &x->delta_totals);
  return TY_OK;
}

/* ---- Rows that hold a term ---- */

/* Whether all rows of the cursor's block are counted: it lies in the partition and has no dead row. */
static bool counts_all(const ty_scope *s, const ty_cursor *c) {
  uint64_t first = ty_cursor_first(c), last = ty_cursor_last(c);
  if (c->directory == NULL || first < s->first || last >= s->end || first > last) return false;
  if (s->base_docs == s->end - s->first) return true;
  return memchr(s->c->base.dead + first, 1, (size_t)(last - first + 1)) == NULL;
}

static ty_status count_base(const ty_scope *s, ty_cursor *c, uint64_t *df, ty_error *err) {
  ty_status status = ty_cursor_seek(c, s->first, err);
  while (status == TY_OK && !c->ended && ty_cursor_first(c) < s->end) {
    if (counts_all(s, c)) {
      *df += c->block + 1 == c->blocks && c->rest > 0 ? c->rest : TY_BLOCK_DOCS;
    } else {
      status = ty_cursor_docs(c, err);
      for (uint32_t i = 0; i < c->count && status == TY_OK; i++) {
        uint64_t at = c->p->docs[i];
        *df += at >= s->first && at < s->end && s->c->base.dead[at] == 0;
      }
    }
    if (status == TY_OK) status = ty_cursor_next(c, err);
  }
  return status;
}

static ty_status count_delta(const ty_scope *s, ty_cursor *c, uint64_t *df, ty_error *err) {
  const ty_segment *delta = &s->c->delta;
  ty_status status = TY_OK;
  while (status == TY_OK && !c->ended) {
    for (uint32_t i = 0; i < c->count; i++) {
      uint32_t at = c->p->docs[i];
      *df += delta->keys[0][at] == s->code && delta->dead[at] == 0;
    }
    status = ty_cursor_next(c, err);
  }
  return status;
}

/* In the lists of a term: those of the partition among its rows. */
static ty_status count_lists(const ty_scope *s, const ty_dict_entry *stored, uint32_t added, uint64_t *df,
                             ty_error *err) {
  question q = {.c = s->c, .x = s->x, .drift = 1};
  query_term t = {.hash = stored->hash, .stored = *stored, .added = added};
  ty_postings memory;
  ty_cursor c;
  ty_status status = TY_OK;
  if (stored->df > 0 && s->base_docs > 0) {
    status = ty_cursor_open(&c, &q, &t, false, &memory, err);
    if (status == TY_OK) status = count_base(s, &c, df, err);
  }
  if (status == TY_OK && added != TY_NO_TERM && s->x->change[added].added > 0 && s->delta_docs > 0) {
    status = ty_cursor_open(&c, &q, &t, true, &memory, err);
    if (status == TY_OK) status = count_delta(s, &c, df, err);
  }
  return status;
}

ty_status ty_scope_count(const ty_scope *s, const ty_dict_entry *stored, uint32_t added, uint64_t *df, ty_error *err) {
  const ty_change *change = added == TY_NO_TERM ? NULL : &s->x->change[added];
  *df = 0;
  if (s->whole) {
    /* Of the delta its number is kept; of the base its list is read only where rows have died. */
    ty_status status = s->base_docs == s->x->image.docs ? TY_OK : count_lists(s, stored, TY_NO_TERM, df, err);
    if (status != TY_OK) return status;
    if (s->base_docs == s->x->image.docs) *df = stored->df;
    if (change != NULL && change->added > 0) *df += (uint64_t)change->added;
  } else {
    ty_status status = count_lists(s, stored, added, df, err);
    if (status != TY_OK) return status;
  }
  if (*df > ty_scope_docs(s)) *df = ty_scope_docs(s); /* of a damaged index */
  return TY_OK;
}

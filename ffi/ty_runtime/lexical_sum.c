/* A lexical question's terms, and their postings summed into one float a document. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lexical_question.h"

/* Postings decoded at a time, for the kernel. */
#define CHUNK 512u

/* ---- The query's terms ----------------------------------------------------------------------------------------------*/

static void take_token(void *context, uint32_t hash, const uint8_t *term, size_t term_bytes) {
  question *q = context;
  if (q->failed) return;
  uint32_t number = ty_bag_add(&q->bag, hash);
  if (number == TY_NO_TERM || q->text.failed) {
    q->failed = true;
    return;
  }
  if (number < q->count) {
    q->terms[number].weight++;
    return;
  }
  if (q->count == q->capacity) {
    uint32_t capacity = q->bag.capacity;
    query_term *grown = realloc(q->terms, (size_t)capacity * sizeof *grown);
    if (grown == NULL) {
      q->failed = true;
      return;
    }
    q->terms = grown;
    q->capacity = capacity;
  }
  q->terms[q->count++] =
      (query_term){.hash = hash, .weight = 1, .text_bytes = (uint32_t)term_bytes, .text = q->text.bytes};
  ty_buffer_append(&q->text, term, term_bytes);
}

static uint32_t find_stored(const ty_lexical *x, uint32_t hash) {
  uint64_t low = 0, high = x->terms;
  while (low < high) {
    uint64_t middle = low + (high - low) / 2;
    if (x->hashes[middle] < hash)
      low = middle + 1;
    else
      high = middle;
  }
  return low < x->terms && x->hashes[low] == hash ? (uint32_t)low : TY_NO_TERM;
}

static int by_weight(const void *a, const void *b) {
  const query_term *x = *(query_term *const *)a, *y = *(query_term *const *)b;
  double p = x->idf * x->weight, r = y->idf * y->weight;
  if (p != r) return p > r ? -1 : 1;
  return x->hash < y->hash ? -1 : x->hash > y->hash;
}

bool ty_question_prepare(question *q) {
  const ty_lexical *x = q->x;
  uint32_t kept = 0;
  double n = (double)x->live_docs;
  for (uint32_t i = 0; i < q->count; i++) {
    query_term t = q->terms[i];
    t.stored = find_stored(x, t.hash);
    t.added = ty_bag_find(&x->changed, t.hash);
    int64_t df =
        (t.stored == TY_NO_TERM ? 0 : (int64_t)x->dfs[t.stored]) + (t.added == TY_NO_TERM ? 0 : x->df_change[t.added]);
    if (df <= 0) continue;
    t.df = df;
    double held = (double)df < n ? (double)df : n;
    t.idf = log(1 + (n - held + 0.5) / (held + 0.5));
    q->terms[kept++] = t;
  }
  q->count = kept;
  q->by_hash = malloc((size_t)(2 * (uint64_t)kept + 1) * sizeof *q->by_hash);
  if (q->by_hash == NULL) return false;
  for (uint32_t i = 0; i < kept; i++) q->by_hash[i] = (uint64_t)q->terms[i].hash << 32 | i;
  ty_sort_by_hash(q->by_hash, q->by_hash + kept, kept);
  q->rarest = malloc(((size_t)kept + 1) * sizeof *q->rarest);
  if (q->rarest == NULL) return false;
  for (uint32_t i = 0; i < kept; i++) q->rarest[i] = &q->terms[i];
  qsort(q->rarest, kept, sizeof *q->rarest, by_weight);
  return true;
}

bool ty_question_read(question *q, ty_slice query) {
  q->c->env->kernel->tokenize(query.data, (size_t)query.bytes, take_token, q);
  return !q->failed && !q->text.failed;
}

void ty_question_free(question *q) {
  free(q->by_hash);
  free(q->rarest);
  free(q->terms);
  ty_bag_free(&q->bag);
  ty_buffer_free(&q->text);
}

/* ---- Accumulating ---------------------------------------------------------------------------------------------------*/

ty_scores *ty_scores_take(ty_lexical *x, uint64_t docs) {
  pthread_mutex_lock(&x->lock);
  ty_scores *s = x->idle;
  if (s != NULL) x->idle = s->next;
  pthread_mutex_unlock(&x->lock);
  if (s != NULL && s->docs >= docs) return s;
  if (s == NULL) s = calloc(1, sizeof *s);
  if (s == NULL) return NULL;
  free(s->acc);
  free(s->touched);
  uint64_t blocks = (docs + docs / 16) / TY_SCORE_BLOCK + 2; /* some room, for a delta that grows */
  s->docs = blocks * TY_SCORE_BLOCK;
  s->acc = calloc((size_t)s->docs, sizeof *s->acc);
  s->touched = calloc((size_t)blocks, 1);
  if (s->acc != NULL && s->touched != NULL) return s;
  free(s->acc);
  free(s->touched);
  free(s);
  return NULL;
}

void ty_scores_give(ty_lexical *x, ty_scores *s) {
  if (s == NULL) return;
  for (uint64_t block = 0; block < s->docs / TY_SCORE_BLOCK; block++) {
    if (s->touched[block] == 0) continue;
    memset(s->acc + block * TY_SCORE_BLOCK, 0, TY_SCORE_BLOCK * sizeof *s->acc);
    s->touched[block] = 0;
  }
  pthread_mutex_lock(&x->lock);
  s->next = x->idle;
  x->idle = s;
  pthread_mutex_unlock(&x->lock);
}

static inline bool get_number(const uint8_t **at, const uint8_t *end, uint64_t *value) {
  if (*at < end && **at < 128) {
    *value = *(*at)++;
    return true;
  }
  if (end - *at >= 2 && (*at)[1] < 128) {
    *value = ((uint64_t)(*at)[0] & 127) | (uint64_t)(*at)[1] << 7;
    *at += 2;
    return true;
  }
  return ty_leb_get(at, end, value);
}

static ty_status damaged(ty_error *err, uint32_t term) {
  return ty_fail(err, TY_CORRUPT, "the lexical index is damaged: postings of term %" PRIu32, term);
}

/* Sums one term over the base's rows in [filter->first, + count). */
static ty_status add_stored(question *q, const query_term *t, const ty_filter *filter, ty_error *err) {
  const ty_lexical *x = q->x;
  uint64_t from = x->offsets[t->stored], to = x->offsets[t->stored + 1];
  if (from > to || to > x->postings_bytes) return damaged(err, t->stored);
  const uint8_t *at = x->postings + from, *end = x->postings + to;
  const ame_kernel *k = q->c->env->kernel;
  float idf = (float)(t->idf * t->weight), k1 = (float)x->k1;
  ame_posting chunk[CHUNK];
  uint64_t doc = 0, first = filter->first, last = filter->first + filter->count;
  bool started = false;
  while (at < end) {
    uint32_t n = 0;
    while (at < end && n < CHUNK) {
      uint64_t gap, tf = 1;
      if (!get_number(&at, end, &gap)) return damaged(err, t->stored);
      if ((gap & 1) == 0 && !get_number(&at, end, &tf)) return damaged(err, t->stored);
      gap >>= 1;
      if (gap >= x->docs - doc || (gap == 0 && started) || tf == 0 || tf > UINT32_MAX) return damaged(err, t->stored);
      doc += gap;
      started = true;
      if (doc < first) continue;
      if (doc >= last) {
        at = end;
        break;
      }
      chunk[n++] = (ame_posting){(uint32_t)doc, (uint32_t)tf};
      q->scores->touched[doc / TY_SCORE_BLOCK] = 1;
    }
    k->bm25_accumulate(chunk, n, idf, k1, x->norms, q->scores->acc);
  }
  return TY_OK;
}

static void add_delta(question *q, const query_term *t) {
  const ty_lexical *x = q->x;
  const ty_list *list = &x->lists[t->added];
  uint64_t start = ty_lexical_delta_start(x);
  for (uint32_t i = 0; i < list->count; i++) q->scores->touched[(start + list->items[i].doc) / TY_SCORE_BLOCK] = 1;
  q->c->env->kernel->bm25_accumulate(list->items, list->count, (float)(t->idf * t->weight), (float)x->k1,
                                     x->norms + start, q->scores->acc + start);
}

ty_status ty_question_sum(question *q, const query_term *t, const ty_filter *filter, ty_error *err) {
  ty_status status = t->stored != TY_NO_TERM ? add_stored(q, t, filter, err) : TY_OK;
  if (status == TY_OK && t->added != TY_NO_TERM) add_delta(q, t);
  return status;
}

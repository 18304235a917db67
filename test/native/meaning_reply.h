/* Questions with and without meaning, and what the answers say. */
#pragma once

#include "meaning_rows.h"

#define ALTERNATES 64u

typedef struct inquiry {
  char text[256];
  size_t bytes;
  float vector[DIM];
  double dense_weight;
  uint32_t part, kind; /* ALL_KEYS: no condition */
  uint64_t top_k, what;
} inquiry;

typedef struct hit {
  uint32_t id;
  uint64_t birth;
  double score;
  ty_scores by;
} hit;

/* A term that stands for the unknown word with this number. */
typedef struct alternate {
  uint32_t word, hash;
  double share;
} alternate;

typedef struct reply {
  ty_ask_args args;
  uint64_t count, alternates;
  hit hits[ROWS_MOST];
  alternate instead[ALTERNATES];
  ty_weight weights[TERMS_MOST];
  uint8_t bytes[1 << 20] __attribute__((aligned(8)));
} reply;

static const uint8_t *read_hits(reply *r, bool scored) {
  const uint8_t *at = r->bytes;
  for (uint64_t i = 0; i < r->count; i++) {
    ty_record one;
    memcpy(&one, at, sizeof one);
    at += sizeof one;
    r->hits[i] = (hit){(uint32_t)strtoul((const char *)at, NULL, 10), one.birth, one.score, {NAN, NAN, NAN}};
    at += padded(one.id_bytes);
    if (scored) memcpy(&r->hits[i].by, at, sizeof r->hits[i].by);
    at += padded(one.extra_bytes);
  }
  return at;
}

/* A word that is one letter from the other counts .7 of it, one of another kind half. */
static double share_of(const uint8_t *word, const ty_replacement *r) {
  uint32_t apart = 0;
  for (uint32_t i = 0; i < r->word_bytes && r->word_bytes == r->partner_bytes; i++)
    apart += word[i] != word[r->word_bytes + i];
  return apart == 1 ? 0.7 : 0.5;
}

static ty_status ask(ty_collection *c, const inquiry *q, bool meaning, reply *r) {
  char part[16], kind[16];
  r->args = (ty_ask_args){.by = TY_BY_BOTH, .vector = q->vector, .top_k = q->top_k, EXACTLY};
  ty_ask_args *a = &r->args;
  a->text = (const uint8_t *)q->text, a->text_bytes = q->bytes;
  a->dense_weight = q->dense_weight, a->meaning = meaning, a->what = q->what;
  a->out = r->bytes, a->out_capacity = sizeof r->bytes;
  if (q->part != ALL_KEYS) {
    a->column = 0, a->key = (uint8_t *)part;
    a->key_bytes = (uint64_t)snprintf(part, sizeof part, "p%u", q->part);
  }
  if (q->kind != ALL_KEYS) {
    a->under_column = 1, a->under = (uint8_t *)kind;
    a->under_bytes = (uint64_t)snprintf(kind, sizeof kind, "k%u", q->kind);
  }
  ty_error why;
  ty_status status = ty_ask(c, a, &why);
  r->count = status == TY_OK ? a->out_count : 0;
  r->alternates = 0;
  if (status != TY_OK) return status;
  const uint8_t *at = read_hits(r, (q->what & TY_WITH_SCORES) != 0);
  for (uint64_t i = 0; i < a->replaced && i < ALTERNATES; i++) {
    ty_replacement one;
    memcpy(&one, at, sizeof one);
    at += sizeof one;
    const terms t = terms_of((const char *)at + one.word_bytes, one.partner_bytes);
    CHECK(t.count == 1);
    r->instead[r->alternates++] = (alternate){one.word, t.hashes[0], share_of(at, &one)};
    at += padded(one.word_bytes + one.partner_bytes);
  }
  if (CHECK(a->weights <= TERMS_MOST)) memcpy(r->weights, at, a->weights * sizeof *r->weights);
  return status;
}

/* Best first, ties by birth; rows that the ranking does not list are last. */
static int in_order(const hit *x, double left, const hit *y, double right) {
  if (isnan(left) || isnan(right) || left == right)
    return isnan(left) != isnan(right) ? isnan(left) - isnan(right) : (x->birth > y->birth) - (x->birth < y->birth);
  return left > right ? -1 : 1;
}
static int by_words(const void *a, const void *b) {
  return in_order(a, ((const hit *)a)->by.words, b, ((const hit *)b)->by.words);
}
static int by_vector(const void *a, const void *b) {
  return in_order(a, ((const hit *)a)->by.vector, b, ((const hit *)b)->by.vector);
}

static hit *sorted(const reply *r, int (*order)(const void *, const void *)) {
  static hit out[ROWS_MOST];
  memcpy(out, r->hits, r->count * sizeof *out);
  qsort(out, r->count, sizeof *out, order);
  return out;
}

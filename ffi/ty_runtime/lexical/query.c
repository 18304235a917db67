/* A lexical query's terms and their weights. */
#include <math.h>
#include <stdlib.h>

#include "lexical/question.h"

/* The terms' weights are scaled to a sum below 2^SUM_BITS: with rounding up, a row's sum fits 31 bits. */
#define SUM_BITS 30
/* k3 of Okapi BM25 (Robertson and Zaragoza 2009, eq. 3.17): a word repeated in the query counts less than twice. */
#define QUERY_SATURATION 5.0
/* f32 rounding may take a part above its weight: six operations, each by 2^-24 of the result at most. */
#define ROUNDING (1 + 0x1p-20)

/* Share of a Vietnamese word's form without tones where rows have the word itself: it is that of many words (.957 by
 * word with none, .954 with a fifth). Where no row has it, the form counts whole: their writers left the tones out. */
#define BARE_SHARE 0.1

static void take_token(void *context, uint32_t hash, ame_form form, const uint8_t *term, size_t term_bytes) {
  question *q = context;
  if (q->failed) return;
  uint32_t number = ty_bag_add(&q->bag, hash), toned = q->last;
  if (number == TY_NO_TERM || q->text.failed) {
    q->failed = true;
    return;
  }
  q->last = number;
  if (number < q->count) {
    q->terms[number].count++;
    if (form == AME_FORM_OWN) q->terms[number].beside = false;
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
  bool bare = form == AME_FORM_BARE;
  TY_ASSERT(!bare || toned < number);
  if (bare) q->terms[toned].bare = number + 1;
  q->terms[q->count++] =
      (query_term){.hash = hash, .count = 1, .beside = bare, .text_bytes = (uint32_t)term_bytes, .text = q->text.bytes};
  ty_buffer_append(&q->text, term, term_bytes);
}

bool ty_question_read(question *q, ty_slice query) {
  q->c->env->kernel->tokenize(query.data, (size_t)query.bytes, take_token, q);
  return !q->failed && !q->text.failed;
}

ty_status ty_question_find(question *q, ty_error *err) {
  for (uint32_t i = 0; i < q->count; i++) {
    query_term *t = &q->terms[i];
    if (!ty_dict_look(&q->x->image, t->hash, &t->stored)) return ty_lexical_damaged(err, "dictionary");
    t->added = ty_bag_find(&q->x->changed, t->hash);
  }
  return TY_OK;
}

ty_status ty_question_weigh(question *q, const ty_filter *filter, ty_error *err) {
  const ty_lexical *x = q->x;
  uint32_t kept = 0;
  ty_status status = ty_scope_open(q->c, q->x, filter, &q->scope, err);
  if (status != TY_OK) return status;
  double n = (double)ty_scope_docs(&q->scope), mean = ty_scope_mean(&q->scope), all = 0;
  for (uint32_t i = 0; i < q->count; i++) {
    query_term t = q->terms[i];
    uint64_t df;
    status = ty_scope_count(&q->scope, &t.stored, t.added, &df, err);
    if (status != TY_OK) return status;
    if (df == 0 && t.bare > 0) q->terms[t.bare - 1].beside = false; /* a later one: it was new after this */
    if (df == 0) continue;
    double holding = (double)df;
    t.idf = log(1 + (n - holding + 0.5) / (holding + 0.5));
    t.part = ty_lexical_norms(x->k1, x->b, mean);
    double tf_weight = t.count * (QUERY_SATURATION + 1) / (t.count + QUERY_SATURATION);
    double worth = (double)q->c->env->kernel->term_worth(q->text.data + t.text, t.text_bytes);
    double share = t.beside ? BARE_SHARE : 1;
    t.part.weight = (float)(t.idf * tf_weight * worth * share * (x->k1 + 1));
    all += (double)t.part.weight;
    q->terms[kept++] = t;
  }
  q->count = kept;
  q->scale = all > 0 ? SUM_BITS - 1 - ilogb(all) : 0;
  double built = ty_mean_length(x->image.tokens, x->image.docs);
  q->drift = (mean > built ? mean / built : 1) * ROUNDING;
  for (uint32_t i = 0; i < kept; i++) {
    query_term *t = &q->terms[i];
    t->part.weight = ldexpf(t->part.weight, q->scale);
    t->most = (uint32_t)((double)t->part.weight * ROUNDING) + 2;
  }
  return TY_OK;
}

void ty_question_free(question *q) {
  free(q->terms);
  ty_bag_free(&q->bag);
  ty_buffer_free(&q->text);
}

/* A lexical query's terms and their weights. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "lexical/labels.h"
#include "lexical/question.h"
#include "os/numbers.h"

/* The terms' weights are scaled to a sum below 2^SUM_BITS: with rounding up, a row's sum fits 31 bits. */
#define SUM_BITS 30
/* k3 of Okapi BM25 (Robertson and Zaragoza 2009, eq. 3.17): a word repeated in the query counts less than twice. */
#define QUERY_SATURATION 5.0
/* f32 rounding may take a part above its weight: six operations, each by 2^-24 of the result at most. */
#define ROUNDING (1 + 0x1p-20)

/* Share of a Vietnamese word's form without tones where rows have the word itself: it is that of many words (.957 by
 * word with none, .954 with a fifth). Where no row has it, the form counts whole: their writers left the tones out. */
#define BARE_SHARE 0.1

/* The information of a word is counted as if at least so many rows were searched: among three rows no word is rare. */
#define ROWS_FOR_IDF_MIN 100.0

bool ty_question_add(question *q, const query_term *t) {
  if (q->count == q->capacity) {
    uint32_t capacity = q->capacity == 0 ? 16 : q->capacity * 2;
    query_term *grown = capacity > q->capacity ? realloc(q->terms, (size_t)capacity * sizeof *grown) : NULL;
    if (grown == NULL) return false;
    q->terms = grown;
    q->capacity = capacity;
  }
  q->terms[q->count++] = *t;
  return true;
}

static uint32_t take_word(void *context, const ame_word *w) {
  question *q = context;
  uint32_t number = ty_bag_add(&q->bag, w->hash), toned = q->last;
  q->last = number;
  if (number != TY_NO_TERM && number < q->count) {
    q->terms[number].count++;
    if (w->form == AME_FORM_OWN) q->terms[number].beside = false;
    return 0;
  }
  bool bare = w->form == AME_FORM_BARE;
  ty_slice shown = w->part ? (ty_slice){w->word, w->word_bytes} : (ty_slice){q->query.data + w->from, w->to - w->from};
  query_term t = {.hash = w->hash,
                  .count = 1,
                  .beside = bare,
                  .instead = TY_NO_TERM,
                  .share = 1,
                  .text = q->text.bytes,
                  .text_bytes = (uint32_t)w->term_bytes,
                  .word_bytes = (uint32_t)w->word_bytes,
                  .shown_bytes = (uint32_t)shown.bytes};
  ty_buffer_append(&q->text, w->term, w->term_bytes);
  ty_buffer_append(&q->text, w->word, w->word_bytes);
  ty_buffer_append(&q->text, shown.data, shown.bytes);
  q->failed = number == TY_NO_TERM || q->text.failed || !ty_question_add(q, &t);
  TY_ASSERT(!bare || q->failed || toned < number);
  if (bare && !q->failed) q->terms[toned].bare = number + 1;
  return q->failed;
}

bool ty_question_read(question *q, ty_slice query) {
  q->query = query;
  q->c->env->kernel->token_words(query.data, (size_t)query.bytes, take_word, q);
  q->asked = q->count;
  return !q->failed;
}

bool ty_question_label(question *q, ty_slice labels, double share) {
  for (ty_slice label; !q->failed && ty_label_next(&labels, &label);) {
    uint32_t known = q->bag.count, hash = ty_label_hash(label), number = ty_bag_add(&q->bag, hash);
    if (number != TY_NO_TERM && number < known) continue; /* named twice, or one in 2^32: a term of the text */
    query_term t = {.hash = hash,
                    .count = 1,
                    .label = true,
                    .instead = TY_NO_TERM,
                    .share = share,
                    .text = q->text.bytes,
                    .text_bytes = (uint32_t)label.bytes};
    ty_buffer_append(&q->text, label.data, label.bytes);
    q->failed = number == TY_NO_TERM || q->text.failed || !ty_question_add(q, &t);
  }
  return !q->failed;
}

ty_status ty_question_find(question *q, ty_error *err) {
  for (uint32_t i = 0; i < q->count; i++) {
    ty_status status = ty_question_lists(q, &q->terms[i], err);
    if (status != TY_OK) return status;
  }
  return TY_OK;
}

/* The information of a word that so many of n rows have. */
static double information_of(double n, double holding) {
  if (n < ROWS_FOR_IDF_MIN) n = ROWS_FOR_IDF_MIN;
  return ty_ln(1 + (n - holding + 0.5) / (holding + 0.5));
}

double ty_question_unknown(const question *q) { return information_of((double)q->docs, 0); }

/* Sets what a term's rarity is, of which `df` rows of the chain hold it. */
static void set_rarity(const question *q, query_term *t, uint64_t df) {
  double n = (double)q->docs, holding = (double)df;
  t->idf = ty_ln(1 + (n - holding + 0.5) / (holding + 0.5));
  t->information = information_of(n, holding);
}

/* Adds the rows of one collection that hold a term. */
static ty_status add_df(question *q, const query_term *t, uint64_t *df, ty_error *err) {
  uint64_t own = 0;
  ty_status status = TY_OK;
  if (t->stored.df > 0 || t->added != TY_NO_TERM) status = ty_scope_count(&q->scope, &t->stored, t->added, &own, err);
  q->failed = status != TY_OK;
  *df += own;
  return status;
}

ty_status ty_question_lists(const question *q, query_term *t, ty_error *err) {
  if (!ty_dict_look(&q->x->image, t->hash, &t->stored)) return ty_lexical_damaged(err, "dictionary");
  t->added = ty_bag_find(&q->x->changed, t->hash);
  return TY_OK;
}

ty_status ty_question_look(question *chain, query_term *t, uint64_t *df, ty_error *err) {
  *df = 0;
  for (question *q = chain; q != NULL; q = q->next) {
    query_term other = *t, *of = q == chain ? t : &other;
    ty_status status = ty_question_lists(q, of, err);
    q->failed = status != TY_OK;
    if (status == TY_OK) status = add_df(q, of, df, err);
    if (status != TY_OK) return status;
  }
  if (*df > 0) set_rarity(chain, t, *df);
  return TY_OK;
}

/* A label has no word that could be common in its language. */
static double worth_of(const question *q, const query_term *t) {
  return t->label ? 1 : (double)q->c->env->kernel->term_worth(q->text.data + t->text, t->text_bytes);
}

/* Keeps the terms of one question that rows hold: of term i df[i] of the whole chain. */
static ty_status keep_known(question *q, const uint64_t *dfs, ty_error *err) {
  uint32_t kept = 0;
  if (q->weighs) q->weights = malloc((size_t)(q->asked + 1) * sizeof *q->weights);
  if (q->weighs && q->weights == NULL) return ty_fail(err, TY_NO_MEMORY, "not enough memory for a query");
  for (uint32_t i = 0; i < q->count; i++) {
    query_term t = q->terms[i];
    uint64_t df = dfs[i];
    set_rarity(q, &t, df);
    TY_ASSERT(t.label == (i >= q->asked)); /* labels are after the text's terms */
    double worth = worth_of(q, &t);
    if (q->weighs && !t.label) q->weights[i] = (ty_weight){t.hash, df > 0, t.idf * worth};
    t.information = t.label || t.beside ? 0 : t.information * worth;
    q->information += t.information;
    if (df > 0) {
      q->terms[kept++] = t;
      continue;
    }
    if (t.label) continue;
    if (t.bare > 0) { /* a later one, as it was new after this */
      q->terms[t.bare - 1].beside = false;
      continue;
    }
    if (q->unknown == NULL) q->unknown = malloc(TY_UNKNOWN_MOST * sizeof *q->unknown);
    if (q->unknown == NULL) return ty_fail(err, TY_NO_MEMORY, "not enough memory for a query");
    if (q->unknown_count < TY_UNKNOWN_MOST) q->unknown[q->unknown_count++] = t;
  }
  q->count = kept;
  return TY_OK;
}

/* Opens the scopes of a chain, and adds their rows and lengths up. */
static ty_status open_scopes(question *chain, ty_error *err) {
  ty_lengths lengths = {0};
  uint64_t docs = 0;
  for (question *q = chain; q != NULL; q = q->next) {
    ty_status status = ty_scope_open(q->c, q->x, q->filter, &q->scope, err);
    q->failed = status != TY_OK;
    if (status != TY_OK) return status;
    lengths = ty_lengths_sum(&lengths, &q->scope.lengths);
    docs += ty_scope_docs(&q->scope);
  }
  double mean = ty_lengths_mean(&lengths, docs);
  for (question *q = chain; q != NULL; q = q->next) q->docs = docs, q->mean = mean;
  return TY_OK;
}

ty_status ty_question_count(question *chain, ty_error *err) {
  uint32_t count = chain->count;
  uint64_t *dfs = calloc((size_t)count + 1, sizeof *dfs);
  ty_status status = open_scopes(chain, err);
  if (dfs == NULL) status = ty_fail(err, TY_NO_MEMORY, "not enough memory for a query");
  for (question *q = chain; q != NULL; q = q->next) {
    TY_ASSERT(q->count == count);
    for (uint32_t i = 0; i < count && status == TY_OK; i++) status = add_df(q, &q->terms[i], &dfs[i], err);
  }
  for (question *q = chain; q != NULL && status == TY_OK; q = q->next) status = keep_known(q, dfs, err);
  free(dfs);
  return status;
}

void ty_question_weigh(question *q) {
  const ty_lexical *x = q->x;
  double mean = q->mean, all = 0;
  for (uint32_t i = 0; i < q->count; i++) {
    query_term *t = &q->terms[i];
    t->part = ty_lexical_norms(x->k1, x->b, mean);
    double tf_weight = t->count * (QUERY_SATURATION + 1) / (t->count + QUERY_SATURATION);
    double share = t->beside ? BARE_SHARE : t->share;
    t->part.weight = (float)(t->idf * tf_weight * worth_of(q, t) * share * (x->k1 + 1));
    all += (double)t->part.weight;
  }
  q->scale = all > 0 ? SUM_BITS - 1 - ilogb(all) : 0;
  double built = ty_mean_length(x->image.tokens, x->image.docs);
  q->drift = (mean > built ? mean / built : 1) * ROUNDING;
  for (uint32_t i = 0; i < q->count; i++) {
    query_term *t = &q->terms[i];
    t->part.weight = ldexpf(t->part.weight, q->scale);
    t->most = (uint32_t)((double)t->part.weight * ROUNDING) + 2;
  }
}

/* Tokens of a row of some length, where there is no index that knows. */
#define ROW_TOKENS 100

static void weigh_without_index(question *q) {
  for (uint32_t i = 0; i < q->count; i++) {
    query_term *t = &q->terms[i];
    t->part = ty_lexical_norms(TY_LEXICAL_K1, TY_LEXICAL_B, ROW_TOKENS);
    t->part.weight = (float)worth_of(q, t);
    t->information = t->beside ? 0 : worth_of(q, t);
    q->information += t->information;
  }
}

ty_status ty_question_prepare(question *chain, ty_slice query, ty_error *err) {
  ty_status status = TY_OK;
  for (question *q = chain; q != NULL; q = q->next) {
    if (!ty_question_read(q, query))
      return ty_fail(err, TY_NO_MEMORY, "not enough memory for a query of %" PRIu64 " bytes", query.bytes);
    if (q->x == NULL) {
      weigh_without_index(q);
      return TY_OK;
    }
    status = ty_lexical_sync(q->x, q->c, err);
    if (status == TY_OK) status = ty_question_find(q, err);
    q->failed = status != TY_OK;
    if (status != TY_OK) return status;
  }
  status = ty_question_count(chain, err);
  if (status == TY_OK) status = ty_unknown_replace(chain, err);
  for (question *q = chain; q != NULL && status == TY_OK; q = q->next) ty_question_weigh(q);
  return status;
}

void ty_question_free(question *q) {
  free(q->terms);
  free(q->unknown);
  free(q->weights);
  ty_bag_free(&q->bag);
  ty_buffer_free(&q->text);
}

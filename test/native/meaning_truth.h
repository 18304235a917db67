/* Computes the ranking by meaning in doubles, as docs/ranking.md has it. Its inputs are all rows and the answer without
 * meaning. */
#pragma once

#include "../../ffi/ty_runtime/os/numbers.h"
#include "meaning_reply.h"

#define HEAD     100u /* rows whose cosines are scaled; of each ranking those of its mean */
#define BY_WORDS 10u  /* rows that the question's words are looked for in */

typedef struct truth {
  uint64_t rows;        /* with vectors, that the question may return */
  double gate, c, h, w; /* the mean gate of the rows, and c, h and w of docs/ranking.md */
  double mean, deviation, lowest, least;
  uint64_t head;
  uint32_t ids[HEAD];
  double cosines[HEAD];
} truth;

/* ---- The weight ---- */

static double clamped(double v) { return v < 0 ? 0 : v > 1 ? 1 : v; }

static bool may_return(const text_row *r, const inquiry *q) {
  return r->live && (q->part == ALL_KEYS || r->part == q->part) && (q->kind == ALL_KEYS || r->kind == q->kind);
}

static double rarity(double rows, double holding) { return ty_ln(1 + (rows - holding + 0.5) / (holding + 0.5)); }

/* The share of the question's terms that the best of the first rows by words has. Idf is of the partition's rows where
 * the question is of one partition, and as of a hundred rows where they are fewer. */
static double coverage_of(const library *l, const inquiry *q, const reply *plain) {
  const hit *order = sorted(plain, by_words);
  const terms t = terms_of(q->text, q->bytes);
  double docs = 0, held[TERMS_MOST] = {0}, counts[TERMS_MOST], all = 0, best = 0;
  uint32_t unknown[TERMS_MOST], unknowns = 0;
  for (uint32_t i = 0; i < l->count; i++) {
    const text_row *r = &l->rows[i];
    if (!r->live || (q->part != ALL_KEYS && r->part != q->part)) continue;
    docs++;
    for (uint32_t k = 0; k < t.count; k++) held[k] += has_term(&r->terms, t.hashes[k]);
  }
  const double rows = docs < 100 ? 100 : docs, most = 3 * rarity(rows, 0);
  CHECK(plain->args.words == t.count && plain->args.weights == t.count);
  for (uint32_t k = 0; k < t.count; k++) {
    const ty_weight *given = &plain->weights[k];
    counts[k] = rarity(rows, held[k]) * t.worth[k];
    all += counts[k];
    if (held[k] == 0) unknown[unknowns++] = k;
    CHECK_MESSAGE(given->known == (held[k] > 0) && fabs(given->weight - rarity(docs, held[k]) * t.worth[k]) < 1e-9,
                  "term %u weighs %.12g, not %.12g", k, given->weight, rarity(docs, held[k]) * t.worth[k]);
  }
  for (uint64_t i = 0; i < plain->count && i < BY_WORDS && !isnan(order[i].by.words); i++) {
    const terms *row = &l->rows[order[i].id].terms;
    double sum = 0, parts[TERMS_MOST] = {0};
    for (uint32_t k = 0; k < t.count; k++) sum += held[k] > 0 && has_term(row, t.hashes[k]) ? counts[k] : 0;
    for (uint64_t k = 0; k < plain->alternates; k++) {
      const alternate *one = &plain->instead[k];
      if (!CHECK(one->word < unknowns) || !has_term(row, one->hash)) continue;
      double part = one->share * counts[unknown[one->word]];
      if (part > parts[one->word]) parts[one->word] = part;
    }
    for (uint32_t k = 0; k < unknowns; k++) sum += parts[k];
    best = sum > best ? sum : best;
  }
  all = all < most ? all : most;
  return all > 0 ? best / all : 0;
}

/* ---- The fused score of a row that neither ranking lists ---- */

/* The lowest of n scores, of which the last is `last`, in deviations from the mean of the first ones. */
static double scaled_lowest(const double *scores, uint64_t n, double last) {
  double mean = 0, squares = 0;
  for (uint64_t i = 0; i < n; i++) mean += scores[i] / (double)n;
  for (uint64_t i = 0; i < n; i++) squares += (scores[i] - mean) * (scores[i] - mean);
  return squares > 1e-24 ? (last - mean) / sqrt(squares / (double)n) : last - mean;
}

static double least_of(const inquiry *q, const reply *plain) {
  double scores[2 * HEAD] = {0}, last = 0;
  uint64_t n = 0, listed = 0, absent = 0;
  const hit *order = sorted(plain, by_vector);
  for (uint64_t i = 0; i < plain->count && !isnan(order[i].by.vector); i++) {
    last = order[i].by.vector;
    absent += i < HEAD && isnan(order[i].by.words);
    if (i < HEAD) scores[n++] = last;
  }
  double dense = scaled_lowest(scores, n, last);
  order = sorted(plain, by_words);
  for (n = 0; listed < plain->count && !isnan(order[listed].by.words); listed++) {
    last = order[listed].by.words;
    if (n < HEAD) scores[n++] = last;
  }
  if (listed < HEAD) last = 0; /* the ranking is complete: rows that it lacks score 0 */
  for (; listed < HEAD && absent > 0; absent--) scores[n++] = 0;
  return q->dense_weight * dense + (1 - q->dense_weight) * scaled_lowest(scores, n, last);
}

/* ---- The ranking ---- */

typedef struct cosine {
  double value;
  uint64_t birth;
  uint32_t id;
} cosine;

static int by_cosine(const void *a, const void *b) {
  const cosine *x = a, *y = b;
  if (x->value != y->value) return x->value > y->value ? -1 : 1;
  return (x->birth > y->birth) - (x->birth < y->birth);
}

static double cosine_of(const ame_encoding *a, const ame_encoding *b) {
  int64_t dot = 0;
  for (uint32_t i = 0; i < AME_ENCODING_DIM; i++) dot += a->codes[i] * b->codes[i];
  return (double)dot * (double)a->scale * (double)b->scale;
}

/* Of an answer without meaning that has all candidates. */
static truth truth_of(const library *l, const inquiry *q, const reply *plain) {
  static cosine all[ROWS_MOST];
  truth t = {.deviation = 1};
  ame_encoding question;
  uint8_t scratch[64];
  uint64_t n = 0;
  double gates = 0, squares = 0;
  env->kernel->encode(meaning_models[0], AME_ENCODE_QUESTION, (const uint8_t *)q->text, q->bytes, scratch, NULL,
                      &question);
  for (uint32_t i = 0; i < l->count; i++) {
    const ame_encoding *row = &l->vectors[i].encoding;
    if (l->vectors[i].encoder == 0 || !may_return(&l->rows[i], q)) continue;
    t.rows++;
    gates += row->gate;
    if (row->gate > 0) all[n++] = (cosine){cosine_of(&question, row), l->rows[i].birth, i};
  }
  if (n == 0) return t;
  qsort(all, n, sizeof *all, by_cosine);
  t.head = n < HEAD ? n : HEAD;
  for (uint64_t i = 0; i < t.head; i++) {
    t.ids[i] = all[i].id;
    t.cosines[i] = all[i].value;
    t.mean += all[i].value / (double)t.head;
  }
  for (uint64_t i = 0; i < t.head; i++) squares += (t.cosines[i] - t.mean) * (t.cosines[i] - t.mean);
  if (squares > 1e-20) t.deviation = sqrt(squares / (double)t.head);
  t.lowest = t.cosines[t.head - 1];
  t.gate = gates / (double)t.rows / 255;
  t.c = coverage_of(l, q, plain);
  t.h = 0.85 - 0.35 * clamped(ty_ln((double)t.rows / 200) / ty_ln(20));
  t.w = question.gate / 255.0 * clamped((t.gate - 0.2) / 0.6) * (0.2 + (t.h - 0.2) * clamped((0.4 - t.c) / 0.3));
  t.least = least_of(q, plain);
  return t;
}

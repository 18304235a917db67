#include "calls/fuse.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "os/fail.h"

/* Over the first TY_FUSE_HEAD of the list and `absent` others. Sums are taken in the order of the list: a fused score
 * is the same on every platform. */
static ty_fuse_scale scale_of(const ty_candidate *list, uint64_t count, uint64_t absent, double lowest) {
  ty_fuse_scale s = {.lowest = lowest, .deviation = 1};
  uint64_t head = count < TY_FUSE_HEAD ? count : TY_FUSE_HEAD, n = head + absent;
  double sum = 0, squares = 0;
  if (n == 0) return s;
  for (uint64_t i = 0; i < n; i++) sum += i < head ? list[i].score : lowest;
  s.mean = sum / (double)n;
  for (uint64_t i = 0; i < n; i++) {
    double apart = (i < head ? list[i].score : lowest) - s.mean;
    squares += apart * apart;
  }
  double deviation = sqrt(squares / (double)n);
  if (deviation > 0) s.deviation = deviation;
  return s;
}

static double rate(const ty_fuse_scale *s, const ty_candidate *list, uint64_t place, double prior) {
  return ((place == UINT64_MAX ? s->lowest : list[place].score) * prior - s->mean) / s->deviation;
}

/* For qsort: a ty_fused begins with its ty_candidate, so these compare both. */
static int by_birth(const void *a, const void *b) {
  const ty_candidate *x = a, *y = b;
  return (x->birth > y->birth) - (x->birth < y->birth);
}

static int by_score(const void *a, const void *b) {
  const ty_candidate *x = a, *y = b;
  if (x->score != y->score) return x->score > y->score ? -1 : 1;
  return by_birth(a, b);
}

/* The rows of both rankings with their places. */
static uint64_t join(const ty_candidate *vector, uint64_t vector_count, const ty_candidate *words, uint64_t words_count,
                     ty_fused *out) {
  uint64_t n = 0, kept = 0;
  for (uint64_t i = 0; i < vector_count; i++) out[n++] = (ty_fused){{vector[i].birth, 0}, i, UINT64_MAX};
  for (uint64_t i = 0; i < words_count; i++) out[n++] = (ty_fused){{words[i].birth, 0}, UINT64_MAX, i};
  qsort(out, (size_t)n, sizeof *out, by_birth);
  for (uint64_t i = 0; i < n; i++) {
    if (kept == 0 || out[kept - 1].row.birth != out[i].row.birth) {
      out[kept++] = out[i];
    } else if (out[i].words == UINT64_MAX) {
      out[kept - 1].vector = out[i].vector;
    } else {
      out[kept - 1].words = out[i].words;
    }
  }
  return kept;
}

/* Sets the score of each row of `out` from its places in the rankings. `priors`: by birth; NULL: all 1. */
static ty_fuse_scales score(const ty_candidate *vector, uint64_t vector_count, const ty_candidate *words,
                            uint64_t words_count, double weight, const double *priors, ty_fused *out, uint64_t n) {
  uint64_t absent = 0;
  bool all = words_count < TY_FUSE_HEAD;
  for (uint64_t i = 0; all && i < n; i++) absent += out[i].vector < TY_FUSE_HEAD && out[i].words == UINT64_MAX;
  ty_fuse_scales s = {scale_of(vector, vector_count, 0, vector_count > 0 ? vector[vector_count - 1].score : 0),
                      scale_of(words, words_count, absent, all ? 0 : words[words_count - 1].score)};
  for (uint64_t i = 0; i < n; i++) {
    double prior = priors == NULL ? 1 : priors[out[i].row.birth];
    out[i].row.score =
        weight * rate(&s.vector, vector, out[i].vector, 1) + (1 - weight) * rate(&s.words, words, out[i].words, prior);
  }
  return s;
}

double ty_fuse_least(const ty_fuse_scales *s, double weight) {
  return weight * rate(&s->vector, NULL, UINT64_MAX, 1) + (1 - weight) * rate(&s->words, NULL, UINT64_MAX, 1);
}

void ty_fused_sort(ty_fused *rows, uint64_t n) { qsort(rows, (size_t)n, sizeof *rows, by_score); }

uint64_t ty_fuse(const ty_candidate *vector, uint64_t vector_count, const ty_candidate *words, uint64_t words_count,
                 double weight, ty_fused *out, ty_fuse_scales *scales) {
  uint64_t n = join(vector, vector_count, words, words_count, out);
  *scales = score(vector, vector_count, words, words_count, weight, NULL, out, n);
  ty_fused_sort(out, n);
  return n;
}

ty_status ty_fuse_scores(ty_fuse_args *a, ty_error *err) {
  uint64_t n = a->n, vector_count = 0, words_count = 0;
  if (n > 0 && (a->vector == NULL || a->words == NULL || a->priors == NULL || a->out == NULL))
    return ty_fail(err, TY_INVALID, "the scores to fuse are missing");
  if (!(a->dense_weight >= 0 && a->dense_weight <= 1))
    return ty_fail(err, TY_INVALID, "dense_weight must be in [0, 1], not %g", a->dense_weight);
  ty_candidate *lists = n < SIZE_MAX / sizeof(ty_fused) ? malloc((size_t)(n + 1) * 2 * sizeof *lists) : NULL;
  ty_fused *rows = lists != NULL ? malloc((size_t)(n + 1) * sizeof *rows) : NULL;
  if (rows == NULL) {
    free(lists);
    return ty_fail(err, TY_NO_MEMORY, "not enough memory to fuse %" PRIu64 " rows", n);
  }
  ty_candidate *vector = lists, *words = lists + n;
  for (uint64_t i = 0; i < n; i++) {
    if (!isnan(a->vector[i])) vector[vector_count++] = (ty_candidate){i, a->vector[i]};
    if (!isnan(a->words[i])) words[words_count++] = (ty_candidate){i, a->words[i]};
    rows[i] = (ty_fused){{i, 0}, UINT64_MAX, UINT64_MAX};
  }
  qsort(vector, (size_t)vector_count, sizeof *vector, by_score);
  qsort(words, (size_t)words_count, sizeof *words, by_score);
  for (uint64_t i = 0; i < vector_count; i++) rows[vector[i].birth].vector = i;
  for (uint64_t i = 0; i < words_count; i++) rows[words[i].birth].words = i;
  score(vector, vector_count, words, words_count, a->dense_weight, a->priors, rows, n);
  for (uint64_t i = 0; i < n; i++) a->out[i] = rows[i].row.score;
  free(rows);
  free(lists);
  return TY_OK;
}

/* How many lists a question must probe, measured instead of guessed.
 *
 * For rows picked from the partition as questions the exact answer is found once. A true neighbour is found by probing nprobe lists exactly
 * when its list is among the first nprobe in the question's ranking; so the rank of its list is all that matters, and recall as a
 * function of nprobe is a cumulative histogram of such ranks: no search is repeated.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ivf.h"
#include "scan.h"

#define QUESTIONS  256u
#define NEIGHBOURS 10u
/* A row of the store is an easy question: its list was made around it. So its own row does not count as an answer, and it is changed in
 * one of two ways; nprobe is the larger of what the two kinds need.
 *  - Moved: in a random direction by this part of its length, like an unseen text of the same kind.
 *  - Cut: only a quarter of its coordinates are kept (but 32 at least), as a short question shares only some features with a long text.
 * Measured with 300 real questions to 23,000 real texts embedded by our kernel, target 0.95: nprobe by moved rows alone found 0.82 to
 * 0.84, whatever the distance; with rows cut to a quarter 0.87 (and at target 0.98 it asks for a full scan, which is exact), to a tenth
 * 0.91. The price, on 100,000 x 384 rows in 1,000 clusters at 0.95: 93 lists of 632 instead of 12, 0.44 ms instead of 0.13, recall 1.0
 * instead of 0.967. A promise of recall that real questions break is worse than that; a tenth would cost 1.3 ms. */
#define PERTURBATION 0.3
#define CUT_SHARE    4u
#define CUT_MIN      32u
enum { MOVED, CUT, QUESTION_KINDS };
/* One-sided 95 % point of the normal distribution: the mean recall less this many standard errors must reach the target. */
#define CONFIDENCE 1.645

typedef struct calibration {
  const ame_kernel *k;
  const ty_segment *base;
  uint64_t dim;
  float *query, *scores;
  /* At rank i (0: first list probed): what probing list i adds to the sum over questions of recall and of its square. */
  double *gain, *gain_square;
} calibration;

/* A normal deviate by the sum of twelve uniforms: its tails do not matter here. */
static double normal(uint64_t *seed) {
  double sum = -6;
  for (int i = 0; i < 12; i++) sum += (double)(ty_random(seed) >> 11) * 0x1p-53;
  return sum;
}

static void make_question(const calibration *m, uint64_t at, int kind, uint64_t *seed) {
  const float *row = ty_row_vector(m->base, at, m->dim);
  if (kind == CUT && m->dim > CUT_MIN) {
    uint64_t kept = m->dim / CUT_SHARE < CUT_MIN ? CUT_MIN : m->dim / CUT_SHARE;
    for (uint64_t i = 0; i < m->dim; i++) { /* Knuth's selection sampling: exactly `kept` of them */
      bool keep = ty_random(seed) % (m->dim - i) < kept;
      m->query[i] = keep ? row[i] : 0;
      kept -= keep;
    }
    return;
  }
  double squares = 0;
  for (uint64_t i = 0; i < m->dim; i++) squares += (double)row[i] * (double)row[i];
  double sigma = PERTURBATION * sqrt(squares / (double)m->dim);
  for (uint64_t i = 0; i < m->dim; i++) {
    double x = (double)row[i] + sigma * normal(seed);
    m->query[i] = isfinite((float)x) ? (float)x : row[i];
  }
}

static uint32_t list_of(const ty_ivf_part *part, uint64_t at) {
  uint32_t low = 0, high = part->nlist; /* the last list that starts at or before `at` */
  while (high - low > 1) {
    uint32_t middle = low + (high - low) / 2;
    if (part->list_starts[middle] <= at)
      low = middle;
    else
      high = middle;
  }
  return low;
}

static int by_rank(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return (x > y) - (x < y);
}

static ty_status ask(calibration *m, const ty_ivf_part *part, const ty_filter *filter, uint64_t at, int kind,
                     uint64_t *seed, ty_error *err) {
  ty_scored *truth = NULL;
  uint64_t count = 0;
  ty_scan counts = {0};
  ty_range range = {m->base, filter->first, filter->count};
  make_question(m, at, kind, seed);
  ty_status status =
      ty_scan_top(m->k, (uint32_t)m->dim, m->query, NEIGHBOURS + 1, filter, &range, 1, &truth, &count, &counts, err);
  if (status != TY_OK) goto done;
  m->k->dot_f32(m->query, part->centroids, part->nlist, (size_t)m->dim, m->scores);
  uint32_t ranks[NEIGHBOURS + 1], n = 0;
  for (uint64_t i = 0; i < count && n < NEIGHBOURS; i++) {
    if (truth[i].ref.at == at) continue;
    uint32_t list = list_of(part, truth[i].ref.at), rank = 0;
    for (uint32_t l = 0; l < part->nlist; l++)
      rank += m->scores[l] > m->scores[list] || (m->scores[l] == m->scores[list] && l < list);
    ranks[n++] = rank;
  }
  qsort(ranks, n, sizeof *ranks, by_rank);
  for (uint32_t i = 0; i < n; i++) {
    m->gain[ranks[i]] += 1.0 / n;
    m->gain_square[ranks[i]] += (2.0 * i + 1) / ((double)n * n); /* ((i + 1)^2 - i^2) / n^2 */
  }
done:
  free(truth);
  return status;
}

static uint32_t smallest_nprobe(const calibration *m, uint32_t nlist, double questions, double target) {
  double sum = 0, squares = 0;
  for (uint32_t i = 0; i < nlist; i++) {
    sum += m->gain[i];
    squares += m->gain_square[i];
    double mean = sum / questions;
    double variance = squares / questions - mean * mean;
    double error = variance > 0 ? sqrt(variance / questions) : 0;
    if (mean - CONFIDENCE * error >= target - 1e-9) return i + 1;
  }
  return nlist;
}

static ty_status calibrate_part(calibration *m, const ty_rebase *r, ty_ivf_part *part, uint64_t *done, uint64_t total,
                                ty_error *err) {
  const ty_span *span = &r->spans[part->span];
  ty_filter filter;
  ty_filter_span(&filter, span->first, span->count);
  uint64_t questions = (span->count < QUESTIONS ? span->count : QUESTIONS) / QUESTION_KINDS, width = span->count;
  if (questions == 0) questions = 1;
  width /= questions;
  uint64_t seed = 0xca11b7a7eull ^ span->count;
  part->nprobe = 1;
  for (int kind = 0; kind < QUESTION_KINDS; kind++) {
    memset(m->gain, 0, (size_t)part->nlist * sizeof *m->gain);
    memset(m->gain_square, 0, (size_t)part->nlist * sizeof *m->gain_square);
    for (uint64_t i = 0; i < questions; i++) {
      if (ty_cancelled(r->progress))
        return ty_fail(err, TY_CANCELLED, "the calibration of the IVF index was cancelled");
      /* One question from each of equal runs of rows: every region of the partition is asked about. */
      ty_status status = ask(m, part, &filter, span->first + width * i + ty_random(&seed) % width, kind, &seed, err);
      if (status != TY_OK) return status;
      ty_progress_set(r->progress, ++*done, total);
    }
    uint32_t nprobe = smallest_nprobe(m, part->nlist, (double)questions, r->ivf->target_recall);
    if (nprobe > part->nprobe) part->nprobe = nprobe;
  }
  return TY_OK;
}

ty_status ty_ivf_calibrate(ty_rebase *r, const ty_segment *base, ty_error *err) {
  if (r->ivf == NULL || !r->retrain_ivf) return TY_OK; /* kept centroids keep their nprobe */
  uint32_t most = 1;
  for (uint32_t i = 0; i < r->ivf->count; i++) most = r->ivf->parts[i].nlist > most ? r->ivf->parts[i].nlist : most;
  ty_status status = TY_OK;
  calibration m = {.k = r->c->env->kernel, .base = base, .dim = r->c->dim};
  m.query = malloc((size_t)m.dim * sizeof *m.query);
  m.scores = malloc((size_t)most * sizeof *m.scores);
  m.gain = malloc((size_t)most * sizeof *m.gain);
  m.gain_square = malloc((size_t)most * sizeof *m.gain_square);
  if (m.query == NULL || m.scores == NULL || m.gain == NULL || m.gain_square == NULL) {
    status = ty_fail(err, TY_NO_MEMORY, "not enough memory to calibrate the IVF index");
    goto done;
  }
  uint64_t done = 0, total = (uint64_t)r->ivf->count * QUESTIONS;
  for (uint32_t i = 0; i < r->ivf->count && status == TY_OK; i++)
    status = calibrate_part(&m, r, &r->ivf->parts[i], &done, total, err);
done:
  free(m.query);
  free(m.scores);
  free(m.gain);
  free(m.gain_square);
  return status;
}

/* The nearest of many centroids for each of many rows, which is most of what building an index would cost.
 *
 * Centroids are grouped around pivots, about the square root of their number. A row looks at the groups of its nearest pivots until it saw a
 * part of the centroids, by 8-bit codes; the best few of these are measured in f32. That may miss the nearest centroid by one that is hardly
 * farther, which is all the same for an index: radii and the calibration are taken from the lists as they are. Five such passes over 60,000 x
 * 784 images and their samples take 0.6 s of CPU; comparing with all centroids in f32 they take 2.2. (To compare with the neighbours of a row's
 * last centroid only, as Wang et al. do, 2012, is no help for a row that comes for the first time, and a compaction would find other lists than
 * the training did.)
 *
 * Codes, their products and sq_l2 are equal to the bit everywhere; so are the lists, unless a pivot's group is decided by a tie in f32.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ivf_near.h"

/* Fewer are one group. */
#define GROUPED_LEAST 64u
#define GROUPS_MAX    256u
#define PIVOT_STEPS   3u
/* Measured in f32. */
#define CANDIDATES 4u
/* Codes multiplied in one call. */
#define AT_ONCE 256u
/* A row looks at one in so many centroids, at least: the first of these with which the squared distances of TRIAL_ROWS rows grow by at most
 * LOSS_MOST. With one in eight questions to images read 1 % more rows. */
static const uint32_t shares[] = {4, 2, 1};
#define TRIAL_ROWS 256u
#define LOSS_MOST  0.002

struct ty_ivf_near {
  const ame_kernel *k;
  size_t dim, stride;
  uint32_t nlist, groups, share;
  const float *centroids;
  uint32_t *order, *starts;    /* lists by group; where a group starts in that order */
  int8_t *codes, *pivot_codes; /* of the lists in that order; of the pivots */
  /* A centroid's value is <x, c> - |c|^2 / 2, the largest for the nearest: scale times the product of codes, plus bias. */
  float *scale, *bias, *pivot_scale, *pivot_bias;
};

static ty_status no_memory(const ty_ivf_near *n, ty_error *err) {
  return ty_fail(err, TY_NO_MEMORY, "not enough memory to compare rows with %u IVF lists", (unsigned)n->nlist);
}

static uint32_t groups_for(uint32_t nlist) {
  uint32_t groups = nlist < GROUPED_LEAST ? 1 : (uint32_t)sqrt((double)nlist);
  return groups > GROUPS_MAX ? GROUPS_MAX : groups;
}

/* Lists by group, in a group by number. */
static void sort_lists(ty_ivf_near *n, const uint32_t *assign) {
  memset(n->starts, 0, ((size_t)n->groups + 2) * sizeof *n->starts);
  for (uint32_t l = 0; l < n->nlist; l++) n->starts[assign[l] + 2]++;
  for (uint32_t g = 0; g < n->groups; g++) n->starts[g + 2] += n->starts[g + 1];
  for (uint32_t l = 0; l < n->nlist; l++) n->order[n->starts[assign[l] + 1]++] = l;
}

static void encode(const ty_ivf_near *n, const float *centroid, float half_norm, uint32_t at, int8_t *codes, float *scale, float *bias) {
  ame_code_info info;
  n->k->quantize_i8(centroid, 1, n->dim, codes + at * n->stride, &info);
  scale[at] = info.scale;
  bias[at] = -half_norm;
}

/* Groups the centroids and codes them. */
static ty_status make_groups(ty_ivf_near *n, const ty_ivf_builder *b, const float *half_norms, ty_error *err) {
  size_t pivots = n->groups, dim = n->dim;
  float *pivot = malloc(pivots * dim * sizeof *pivot), *pivot_norms = malloc(pivots * sizeof *pivot_norms);
  float *distance = malloc((size_t)n->nlist * sizeof *distance);
  uint32_t *assign = calloc(n->nlist, sizeof *assign);
  double *sums = malloc(pivots * dim * sizeof *sums);
  uint64_t *counts = malloc(pivots * sizeof *counts);
  ty_status status = TY_OK;
  if (pivot == NULL || pivot_norms == NULL || distance == NULL || assign == NULL || sums == NULL || counts == NULL) {
    status = no_memory(n, err);
    goto done;
  }
  n->k->kmeans_seed(n->centroids, n->nlist, dim, pivots, 1, pivot, distance);
  for (uint32_t step = 0; step < PIVOT_STEPS; step++) {
    if (ty_cancelled(b->crew.progress)) {
      status = ty_fail(err, TY_CANCELLED, "cancelled; the last saved state stands");
      goto done;
    }
    n->k->kmeans_half_norms(pivot, pivots, dim, pivot_norms);
    n->k->kmeans_assign(n->centroids, n->nlist, dim, pivot, pivot_norms, pivots, assign, NULL);
    n->k->kmeans_update(n->centroids, n->nlist, dim, assign, NULL, pivots, pivot, sums, counts);
  }
  sort_lists(n, assign);
  n->k->kmeans_half_norms(pivot, pivots, dim, pivot_norms);
  for (uint32_t g = 0; g < n->groups; g++)
    encode(n, pivot + g * dim, pivot_norms[g], g, n->pivot_codes, n->pivot_scale, n->pivot_bias);
  for (uint32_t i = 0; i < n->nlist; i++) {
    uint32_t l = n->order[i];
    encode(n, n->centroids + l * dim, half_norms[l], i, n->codes, n->scale, n->bias);
  }
done:
  free(pivot);
  free(pivot_norms);
  free(distance);
  free(assign);
  free(sums);
  free(counts);
  return status;
}

void ty_ivf_near_close(ty_ivf_near *n) {
  if (n == NULL) return;
  free(n->order);
  free(n->starts);
  free(n->codes);
  free(n->scale);
  free(n->bias);
  free(n->pivot_codes);
  free(n->pivot_scale);
  free(n->pivot_bias);
  free(n);
}

typedef struct shortlist {
  double value[CANDIDATES], least; /* falling; the last of them, -infinity while there is room */
  uint32_t list[CANDIDATES], count;
} shortlist;

static void enter(shortlist *s, double value, uint32_t list) {
  uint32_t i = s->count < CANDIDATES ? s->count++ : CANDIDATES - 1;
  for (; i > 0 && s->value[i - 1] < value; i--) {
    s->value[i] = s->value[i - 1];
    s->list[i] = s->list[i - 1];
  }
  s->value[i] = value;
  s->list[i] = list;
  if (s->count == CANDIDATES) s->least = s->value[CANDIDATES - 1];
}

/* In a loop of its own, which compilers turn into vector instructions. In doubles: products of two scales overflow a float. */
static void values_of(const ty_ivf_asked *x, const float *scale, const float *bias, const int32_t *dots, uint32_t count, double *out) {
  for (uint32_t i = 0; i < count; i++) out[i] = x->scale * (double)scale[i] * (double)dots[i] + (double)bias[i];
}

/* Marks the groups that a row looks at. */
static void choose_groups(const ty_ivf_near *n, const ty_ivf_asked *x, uint32_t row, uint32_t *wanted) {
  int32_t dots[GROUPS_MAX];
  double value[GROUPS_MAX];
  uint32_t group[GROUPS_MAX], left = n->groups, enough = (n->nlist + n->share - 1) / n->share;
  n->k->dot_i8(x->codes, n->pivot_codes, n->groups, n->stride, dots);
  values_of(x, n->pivot_scale, n->pivot_bias, dots, n->groups, value);
  for (uint32_t g = 0; g < n->groups; g++) group[g] = g;
  for (uint32_t looked = 0; looked < enough && left > 0;) {
    uint32_t best = 0;
    for (uint32_t i = 1; i < left; i++) best = value[i] > value[best] ? i : best;
    wanted[group[best]] |= (uint32_t)1 << row;
    looked += n->starts[group[best] + 1] - n->starts[group[best]];
    value[best] = value[--left];
    group[best] = group[left];
  }
}

static void look(const ty_ivf_near *n, const ty_ivf_asked *x, uint32_t group, shortlist *s) {
  int32_t dots[AT_ONCE];
  double value[AT_ONCE];
  for (uint32_t from = n->starts[group]; from < n->starts[group + 1]; from += AT_ONCE) {
    uint32_t left = n->starts[group + 1] - from, count = left < AT_ONCE ? left : AT_ONCE;
    n->k->dot_i8(x->codes, n->codes + from * n->stride, count, n->stride, dots);
    values_of(x, n->scale + from, n->bias + from, dots, count, value);
    for (uint32_t i = 0; i < count; i++) {
      if (value[i] > s->least) enter(s, value[i], n->order[from + i]);
    }
  }
}

/* The nearest by f32; ties: the lowest. Without a candidate, where all values overflow, any list will do. */
static void measure(const ty_ivf_near *n, const ty_ivf_asked *x, const shortlist *s, uint32_t *list, float *square) {
  *list = s->count == 0 ? 0 : s->list[0];
  n->k->sq_l2(x->row, n->centroids + (size_t)*list * n->dim, 1, n->dim, square);
  for (uint32_t i = 1; i < s->count; i++) {
    float other;
    n->k->sq_l2(x->row, n->centroids + (size_t)s->list[i] * n->dim, 1, n->dim, &other);
    if (other > *square || (other == *square && s->list[i] > *list)) continue;
    *square = other;
    *list = s->list[i];
  }
}

void ty_ivf_near_find(const ty_ivf_near *n, const ty_ivf_asked *rows, uint32_t count, uint32_t *lists, float *squares) {
  shortlist found[TY_IVF_NEAR_ROWS];
  uint32_t wanted[GROUPS_MAX] = {0}, all = UINT32_MAX >> (TY_IVF_NEAR_ROWS - count); /* a bit a row */
  for (uint32_t i = 0; i < count; i++) {
    found[i] = (shortlist){.least = -INFINITY};
    if (n->share > 1) choose_groups(n, &rows[i], i, wanted);
  }
  /* Group by group, so that its codes are in the cache for all rows that want it. */
  for (uint32_t g = 0; g < n->groups; g++) {
    for (uint32_t bits = n->share > 1 ? wanted[g] : all; bits != 0; bits &= bits - 1) {
      uint32_t i = (uint32_t)__builtin_ctz(bits);
      look(n, &rows[i], g, &found[i]);
    }
  }
  for (uint32_t i = 0; i < count; i++) measure(n, &rows[i], &found[i], &lists[i], &squares[i]);
}

/* ---- How much to look at --------------------------------------------------------------------------------------------*/

/* Where centroids lie about as far from each other as from anything, the nearest pivots of a row say little: 100,000 x 384 rows of 1,000
 * clusters in random directions, which looked at a half of the centroids, were spread so that questions read 11,576 rows instead of 131. */
static ty_status choose_share(ty_ivf_near *n, const ty_ivf_builder *b, const ty_span *span, ty_error *err) {
  enum { SHARES = sizeof shares / sizeof *shares };
  double sums[SHARES] = {0};
  ty_ivf_asker asker;
  uint32_t rows = span->count < TRIAL_ROWS ? (uint32_t)span->count : TRIAL_ROWS;
  bool fits = ty_ivf_asker_open(b, &asker);
  for (uint32_t at = 0; at < rows && fits && n->groups > 1; at += TY_IVF_NEAR_ROWS) {
    ty_ivf_asked asked[TY_IVF_NEAR_ROWS];
    uint32_t lists[TY_IVF_NEAR_ROWS], count = rows - at < TY_IVF_NEAR_ROWS ? rows - at : TY_IVF_NEAR_ROWS;
    float squares[SHARES][TY_IVF_NEAR_ROWS];
    for (uint32_t i = 0; i < count; i++)
      asked[i] = ty_ivf_ask(b, &asker, i, span->first + span->count * (at + i) / rows);
    for (uint32_t s = 0; s < SHARES; s++) {
      n->share = shares[s];
      ty_ivf_near_find(n, asked, count, lists, squares[s]);
    }
    for (uint32_t i = 0; i < count; i++) {
      bool counts = isfinite(squares[SHARES - 1][i]); /* all else would be lost in an infinite sum */
      for (uint32_t s = 0; s < SHARES && counts; s++) sums[s] += (double)squares[s][i];
    }
  }
  ty_ivf_asker_close(&asker);
  for (uint32_t s = 0; s < SHARES; s++) {
    n->share = shares[s];
    if (sums[s] <= sums[SHARES - 1] * (1 + LOSS_MOST)) break;
  }
  return fits ? TY_OK : no_memory(n, err);
}

ty_status ty_ivf_near_open(const ty_ivf_builder *b, const ty_span *span, const float *centroids, const float *half_norms,
                           uint32_t nlist, ty_ivf_near **out, ty_error *err) {
  ty_ivf_near *n = *out = calloc(1, sizeof *n);
  if (n == NULL) return ty_fail(err, TY_NO_MEMORY, "not enough memory to compare rows with IVF lists");
  *n = (ty_ivf_near){.k = b->k, .dim = (size_t)b->dim, .stride = AME_CODE_STRIDE(b->dim), .nlist = nlist, .share = 1};
  n->groups = groups_for(nlist);
  n->centroids = centroids;
  n->order = malloc((size_t)nlist * sizeof *n->order);
  n->starts = malloc(((size_t)n->groups + 2) * sizeof *n->starts);
  n->codes = aligned_alloc(64, (size_t)nlist * n->stride);
  n->scale = malloc((size_t)nlist * sizeof *n->scale);
  n->bias = malloc((size_t)nlist * sizeof *n->bias);
  n->pivot_codes = aligned_alloc(64, (size_t)n->groups * n->stride);
  n->pivot_scale = malloc((size_t)n->groups * sizeof *n->pivot_scale);
  n->pivot_bias = malloc((size_t)n->groups * sizeof *n->pivot_bias);
  bool fits = n->order != NULL && n->starts != NULL && n->codes != NULL && n->scale != NULL && n->bias != NULL &&
              n->pivot_codes != NULL && n->pivot_scale != NULL && n->pivot_bias != NULL;
  ty_status status = fits ? make_groups(n, b, half_norms, err) : no_memory(n, err);
  return status == TY_OK ? choose_share(n, b, span, err) : status;
}

/* Prepares centroids: groups, codes, and the share of them that rows are compared with. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ivf/near_state.h"

/* Fewer are one group. */
#define GROUPED_LEAST 64u
#define PIVOT_STEPS   3u
/* A row is compared with at least one in so many centroids, or with all in f32: the first of these with which the
 * squared distances of TRIAL_ROWS rows are at most LOSS_MOST above those with the last. With one in eight, queries to
 * images read 1 % more rows. */
static const uint32_t shares[] = {4, 2, 1, TY_IVF_IN_F32};
#define ONE_GROUP  2u /* index of the first share that makes sense with one group */
#define TRIAL_ROWS 256u
#define LOSS_MOST  0.002

static ty_status no_memory(const ty_ivf_near *n, ty_error *err) {
  return ty_fail(err, TY_NO_MEMORY, "not enough memory to compare rows with %u IVF lists", (unsigned)n->nlist);
}

static uint32_t groups_for(uint32_t nlist) {
  uint32_t groups = nlist < GROUPED_LEAST ? 1 : (uint32_t)sqrt((double)nlist);
  return groups > TY_IVF_GROUPS_MAX ? TY_IVF_GROUPS_MAX : groups;
}

/* Sorts the lists by group, then by number. */
static void sort_lists(ty_ivf_near *n, const uint32_t *assign) {
  memset(n->starts, 0, ((size_t)n->groups + 2) * sizeof *n->starts);
  for (uint32_t l = 0; l < n->nlist; l++) n->starts[assign[l] + 2]++;
  for (uint32_t g = 0; g < n->groups; g++) n->starts[g + 2] += n->starts[g + 1];
  for (uint32_t l = 0; l < n->nlist; l++) n->order[n->starts[assign[l] + 1]++] = l;
}

static void mean_of(const ty_ivf_near *n, float *mean) {
  memset(mean, 0, n->dim * sizeof *mean);
  for (uint32_t l = 0; l < n->nlist; l++) {
    for (size_t d = 0; d < n->dim; d++) mean[d] += n->centroids[l * n->dim + d] / (float)n->nlist;
  }
  if (!n->k->all_finite(mean, n->dim)) memset(mean, 0, n->dim * sizeof *mean);
}

/* `apart` is scratch of dim floats. A difference that overflows is coded as 0; the trial then chooses f32. */
static void encode(const ty_ivf_near *n, const float *centroid, const float *mean, float *apart, float half_norm,
                   uint32_t at, int8_t *codes, float *scale, float *bias) {
  ame_code_info info;
  for (size_t d = 0; d < n->dim; d++) {
    apart[d] = centroid[d] - mean[d];
    if (!isfinite(apart[d])) apart[d] = 0;
  }
  n->k->quantize_i8(apart, 1, n->dim, codes + at * n->stride, &info);
  scale[at] = info.scale;
  bias[at] = -half_norm;
}

/* Groups the centroids and codes them. */
static ty_status make_groups(ty_ivf_near *n, const ty_ivf_builder *b, ty_error *err) {
  size_t pivots = n->groups, dim = n->dim;
  ty_arena memory = {0};
  float *mean = ty_arena_take(&memory, dim * 2, sizeof *mean);
  float *pivot = ty_arena_take(&memory, pivots * dim, sizeof *pivot);
  float *pivot_norms = ty_arena_take(&memory, pivots, sizeof *pivot_norms);
  float *distance = ty_arena_take(&memory, n->nlist, sizeof *distance);
  uint32_t *assign = ty_arena_zero(&memory, n->nlist, sizeof *assign);
  double *sums = ty_arena_take(&memory, pivots * dim, sizeof *sums);
  uint64_t *counts = ty_arena_take(&memory, pivots, sizeof *counts);
  ty_status status = TY_OK;
  if (memory.failed) {
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
  mean_of(n, mean);
  for (uint32_t g = 0; g < n->groups; g++)
    encode(n, pivot + g * dim, mean, mean + dim, pivot_norms[g], g, n->pivot_codes, n->pivot_scale, n->pivot_bias);
  for (uint32_t i = 0; i < n->nlist; i++) {
    uint32_t l = n->order[i];
    encode(n, n->centroids + l * dim, mean, mean + dim, n->half_norms[l], i, n->codes, n->scale, n->bias);
  }
done:
  ty_arena_free(&memory);
  return status;
}

void ty_ivf_near_close(ty_ivf_near *n) {
  if (n == NULL) return;
  ty_arena_free(&n->memory);
  free(n);
}

/* ---- The share of centroids to compare with ---- */

/* The loss is measured against f32, not against the codes of all centroids: rows that are nearly alike have nearly
 * equal codes.
 *
 * Where centroids are about equally far from each other, a row's nearest pivots do not predict its nearest centroid:
 * 100,000 x 384 rows of 1,000 clusters in random directions, compared with half of the centroids, were spread so that
 * queries read 11,576 rows instead of 131. */
static ty_status choose_share(ty_ivf_near *n, const ty_ivf_builder *b, const ty_span *span, ty_error *err) {
  enum { SHARES = sizeof shares / sizeof *shares };
  double sums[SHARES] = {0};
  ty_arena memory = {0};
  ty_ivf_asker asker = ty_ivf_asker_open(b, &memory);
  bool fits = !memory.failed;
  uint32_t rows = span->count < TRIAL_ROWS ? (uint32_t)span->count : TRIAL_ROWS;
  uint32_t first = n->groups > 1 ? 0 : ONE_GROUP;
  for (uint32_t at = 0; at < rows && fits; at += TY_IVF_NEAR_ROWS) {
    ty_ivf_asked asked[TY_IVF_NEAR_ROWS];
    uint32_t lists[TY_IVF_NEAR_ROWS], count = rows - at < TY_IVF_NEAR_ROWS ? rows - at : TY_IVF_NEAR_ROWS;
    float squares[SHARES][TY_IVF_NEAR_ROWS];
    for (uint32_t i = 0; i < count; i++)
      asked[i] = ty_ivf_ask(b, &asker, i, span->first + span->count * (at + i) / rows);
    for (uint32_t s = first; s < SHARES; s++) {
      n->share = shares[s];
      ty_ivf_near_find(n, asked, count, lists, squares[s], NULL);
    }
    for (uint32_t i = 0; i < count; i++) {
      bool counts = isfinite(squares[SHARES - 1][i]); /* an infinite sum would hide all others */
      for (uint32_t s = first; s < SHARES && counts; s++) sums[s] += (double)squares[s][i];
    }
  }
  ty_arena_free(&memory);
  for (uint32_t s = first; s < SHARES; s++) {
    n->share = shares[s];
    if (sums[s] <= sums[SHARES - 1] * (1 + LOSS_MOST)) break;
  }
  return fits ? TY_OK : no_memory(n, err);
}

ty_status ty_ivf_near_open(const ty_ivf_builder *b, const ty_span *span, const float *centroids,
                           const float *half_norms, uint32_t nlist, ty_ivf_near **out, ty_error *err) {
  ty_ivf_near *n = *out = calloc(1, sizeof *n);
  if (n == NULL) return ty_fail(err, TY_NO_MEMORY, "not enough memory to compare rows with IVF lists");
  *n = (ty_ivf_near){.k = b->k, .dim = (size_t)b->dim, .stride = AME_CODE_STRIDE(b->dim), .nlist = nlist, .share = 1};
  n->groups = groups_for(nlist);
  n->centroids = centroids;
  n->half_norms = half_norms;
  ty_arena *memory = &n->memory;
  n->order = ty_arena_take(memory, nlist, sizeof *n->order);
  n->starts = ty_arena_take(memory, (uint64_t)n->groups + 2, sizeof *n->starts);
  n->codes = ty_arena_align(memory, nlist, n->stride);
  n->scale = ty_arena_take(memory, nlist, sizeof *n->scale);
  n->bias = ty_arena_take(memory, nlist, sizeof *n->bias);
  n->pivot_codes = ty_arena_align(memory, n->groups, n->stride);
  n->pivot_scale = ty_arena_take(memory, n->groups, sizeof *n->pivot_scale);
  n->pivot_bias = ty_arena_take(memory, n->groups, sizeof *n->pivot_bias);
  ty_status status = memory->failed ? no_memory(n, err) : make_groups(n, b, err);
  return status == TY_OK ? choose_share(n, b, span, err) : status;
}

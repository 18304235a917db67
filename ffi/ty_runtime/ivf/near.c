/* The nearest of many centroids for each of many rows, otherwise most of the cost of building an index.
 *
 * Centroids are grouped around pivots, about the square root of their number. A row is compared by 8-bit codes with the
 * groups of its nearest pivots, up to a share of all centroids, and then in f32 with the best few. The result may be a
 * centroid that is slightly farther than the nearest, which does not harm an index: radii and calibration are measured
 * on the lists as they are. Five such passes over 60,000 x 784 images and their samples take 0.6 s of CPU; with all
 * centroids in f32 they take 2.2. (Comparing only with the neighbours of a row's last centroid, as Wang et al. do,
 * 2012, does not help for new rows, and a compaction would find other lists than the training.)
 *
 * Codes, their products and sq_l2 are equal to the bit everywhere; so are the lists, unless a tie in f32 decides a
 * pivot's group. */
#include <math.h>

#include "ivf/near_state.h"

/* Measured in f32. */
#define CANDIDATES 4u
/* Products in one call. */
#define AT_ONCE 256u

typedef struct shortlist {
  double value[CANDIDATES], least; /* descending; the least of them, -infinity until full */
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

/* A loop of its own, which compilers vectorise. In doubles: products of two scales overflow a float. */
static void values_of(const ty_ivf_asked *x, const float *scale, const float *bias, const int32_t *dots, uint32_t count,
                      double *out) {
  for (uint32_t i = 0; i < count; i++) out[i] = x->scale * (double)scale[i] * (double)dots[i] + (double)bias[i];
}

/* Marks the groups that a row is compared with. */
static void choose_groups(const ty_ivf_near *n, const ty_ivf_asked *x, uint32_t row, uint32_t *wanted) {
  int32_t dots[TY_IVF_GROUPS_MAX];
  double value[TY_IVF_GROUPS_MAX];
  uint32_t group[TY_IVF_GROUPS_MAX], left = n->groups, enough = (n->nlist + n->share - 1) / n->share;
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

static void look_in_f32(const ty_ivf_near *n, const ty_ivf_asked *x, uint32_t from, shortlist *s) {
  float dots[AT_ONCE];
  uint32_t left = n->nlist - from, count = left < AT_ONCE ? left : AT_ONCE;
  n->k->dot_f32(x->row, n->centroids + from * n->dim, count, n->dim, dots);
  for (uint32_t i = 0; i < count; i++) {
    double value = (double)dots[i] - (double)n->half_norms[from + i];
    if (value > s->least) enter(s, value, from + i);
  }
}

/* The nearest in f32, the lowest of ties; any list if there is no candidate, as all values overflow. */
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
  uint32_t wanted[TY_IVF_GROUPS_MAX] = {0}, all = UINT32_MAX >> (TY_IVF_NEAR_ROWS - count); /* a bit a row */
  for (uint32_t i = 0; i < count; i++) {
    found[i] = (shortlist){.least = -INFINITY};
    if (n->share > 1) choose_groups(n, &rows[i], i, wanted);
  }
  for (uint32_t from = 0; from < n->nlist && n->share == TY_IVF_IN_F32; from += AT_ONCE) {
    for (uint32_t i = 0; i < count; i++) look_in_f32(n, &rows[i], from, &found[i]);
  }
  /* By group, so that its codes are in the cache for all rows compared with it. */
  for (uint32_t g = 0; g < n->groups && n->share != TY_IVF_IN_F32; g++) {
    for (uint32_t bits = n->share > 1 ? wanted[g] : all; bits != 0; bits &= bits - 1) {
      uint32_t i = (uint32_t)__builtin_ctz(bits);
      look(n, &rows[i], g, &found[i]);
    }
  }
  for (uint32_t i = 0; i < count; i++) measure(n, &rows[i], &found[i], &lists[i], &squares[i]);
}

/* The nearest of many centroids for each of many rows, otherwise most of the cost of building an index.
 *
 * Centroids are grouped around pivots, about the square root of their number. A row is compared by 8-bit codes with the
 * groups of its nearest pivots, up to a share of all centroids, and then in f32 with the best few. The result may be a
 * centroid that is slightly farther than the nearest, which does not harm an index: radii and calibration are measured
 * on the lists as they are. With all centroids in f32 they take several times as long. (Comparing only with the
 * neighbours of a row's last centroid, as Wang et al. do, 2012, does not help for new rows, and a compaction would find
 * other lists than the training, whose last steps do about that.)
 *
 * Codes, their products and sq_l2 are equal to the bit everywhere; so are the lists, unless a tie in f32 decides a
 * pivot's group. */
#include <math.h>

#include "ivf/near_state.h"

/* Of the lists kept the best by codes, whose distance is measured in f32: with four the lists of images and of
 * clustered rows are no better. */
#define MEASURED 2u
/* Products in one call. */
#define AT_ONCE 256u

typedef struct shortlist {
  float value[TY_IVF_NEAR_KEPT], least; /* descending; the least of them, -infinity until full */
  uint32_t list[TY_IVF_NEAR_KEPT], count;
} shortlist;

static void enter(shortlist *s, float value, uint32_t list) {
  uint32_t i = s->count < TY_IVF_NEAR_KEPT ? s->count++ : TY_IVF_NEAR_KEPT - 1;
  for (; i > 0 && s->value[i - 1] < value; i--) {
    s->value[i] = s->value[i - 1];
    s->list[i] = s->list[i - 1];
  }
  s->value[i] = value;
  s->list[i] = list;
  if (s->count == TY_IVF_NEAR_KEPT) s->least = s->value[TY_IVF_NEAR_KEPT - 1];
}

/* A loop of its own, which compilers vectorise. A value that overflows is infinite or NaN, which the trial of the open
 * finds. */
static void values_of(const ty_ivf_asked *x, const float *scale, const float *bias, const int32_t *dots, uint32_t count,
                      float *out) {
  float own = (float)x->scale;
  for (uint32_t i = 0; i < count; i++) out[i] = own * (scale[i] * (float)dots[i]) + bias[i];
}

/* Rows as bits, by group. */
typedef struct grouping {
  uint32_t first[TY_IVF_GROUPS_MAX]; /* rows of which this is the most promising group */
  uint32_t other[TY_IVF_GROUPS_MAX]; /* rows that are compared with it as well */
} grouping;

/* Marks the groups that a row is compared with. */
static void choose_groups(const ty_ivf_near *n, const ty_ivf_asked *x, uint32_t row, grouping *out) {
  int32_t dots[TY_IVF_GROUPS_MAX];
  float value[TY_IVF_GROUPS_MAX];
  uint32_t group[TY_IVF_GROUPS_MAX], left = n->groups, enough = (n->nlist + n->share - 1) / n->share, looked = 0;
  n->k->dot_i8(x->codes, n->pivot_codes, n->groups, n->stride, dots);
  values_of(x, n->pivot_scale, n->pivot_bias, dots, n->groups, value);
  for (uint32_t g = 0; g < n->groups; g++) group[g] = g;
  for (bool first = true; looked < enough && left > 0; first = false) {
    uint32_t best = 0;
    for (uint32_t i = 1; i < left && (first || n->share > 1); i++) best = value[i] > value[best] ? i : best;
    (first ? out->first : out->other)[group[best]] |= (uint32_t)1 << row;
    looked += n->starts[group[best] + 1] - n->starts[group[best]];
    value[best] = value[--left];
    group[best] = group[left];
  }
}

static void look(const ty_ivf_near *n, const ty_ivf_asked *x, uint32_t group, shortlist *s) {
  int32_t dots[AT_ONCE];
  float value[AT_ONCE];
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
    float value = dots[i] - n->half_norms[from + i];
    if (value > s->least) enter(s, value, from + i);
  }
}

/* The nearest in f32, the lowest of ties; any list if there is no candidate, as all values overflow. */
static void measure(const ty_ivf_near *n, const ty_ivf_asked *x, const shortlist *s, uint32_t *list, float *square) {
  *list = s->count == 0 ? 0 : s->list[0];
  n->k->sq_l2(x->row, n->centroids + (size_t)*list * n->dim, 1, n->dim, square);
  for (uint32_t i = 1; i < s->count && i < MEASURED; i++) {
    float other;
    n->k->sq_l2(x->row, n->centroids + (size_t)s->list[i] * n->dim, 1, n->dim, &other);
    if (other > *square || (other == *square && s->list[i] > *list)) continue;
    *square = other;
    *list = s->list[i];
  }
}

/* By group, so that its codes are in the cache for all rows compared with it. */
static void look_by_group(const ty_ivf_near *n, const ty_ivf_asked *rows, const uint32_t *marks, shortlist *found) {
  for (uint32_t g = 0; g < n->groups; g++) {
    for (uint32_t bits = marks[g]; bits != 0; bits &= bits - 1) {
      uint32_t i = (uint32_t)__builtin_ctz(bits);
      look(n, &rows[i], g, &found[i]);
    }
  }
}

void ty_ivf_near_find(const ty_ivf_near *n, const ty_ivf_asked *rows, uint32_t count, uint32_t *lists, float *squares,
                      uint32_t *kept) {
  shortlist found[TY_IVF_NEAR_ROWS];
  for (uint32_t i = 0; i < count; i++) found[i] = (shortlist){.least = -INFINITY};
  if (n->share == TY_IVF_IN_F32) {
    for (uint32_t from = 0; from < n->nlist; from += AT_ONCE) {
      for (uint32_t i = 0; i < count; i++) look_in_f32(n, &rows[i], from, &found[i]);
    }
  } else {
    /* The most promising group first: then few lists of the others enter a shortlist. */
    grouping marks = {0};
    for (uint32_t i = 0; i < count; i++) choose_groups(n, &rows[i], i, &marks);
    look_by_group(n, rows, marks.first, found);
    look_by_group(n, rows, marks.other, found);
  }
  for (uint32_t i = 0; i < count; i++) measure(n, &rows[i], &found[i], &lists[i], &squares[i]);
  for (uint32_t i = 0; i < count && kept != NULL; i++) {
    for (uint32_t j = 0; j < TY_IVF_NEAR_KEPT; j++)
      kept[i * TY_IVF_NEAR_KEPT + j] = j < found[i].count ? found[i].list[j] : lists[i];
  }
}

void ty_ivf_near_again(const ty_ivf_builder *b, const float *centroids, const uint32_t *kept, const float *row,
                       uint32_t *list, float *square) {
  for (uint32_t j = 0; j < TY_IVF_NEAR_KEPT; j++) {
    float other;
    b->k->sq_l2(row, centroids + kept[j] * b->dim, 1, (size_t)b->dim, &other);
    if (j > 0 && (other > *square || (other == *square && kept[j] > *list))) continue;
    *list = kept[j];
    *square = other;
  }
}

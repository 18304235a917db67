/* Queries to signs. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "ivf/signs.h"
#include "rows/block.h"

/* A query's codes of four dimensions may add up to at most half an entry in size, so that no entry is below 0 or above
 * AME_SIGN_ENTRY. They are scaled to this before they are rounded; rounding adds at most a half to each. */
#define CODES_MOST (AME_SIGN_ENTRY / 2 - 2)
/* An estimate is above the value by so many standard deviations of its error, and so rarely too low. */
#define CENTROID_MARGIN 2.5
/* The error of the query's codes counts with f, that of the signs with z, some 0.6 f. So, beside |v|^2 in units of z^2,
 * it counts 1 / 0.6^2 times: about three. */
#define LOST_WEIGHT 3
/* Blocks of centroids that are screened at a time. */
#define AT_ONCE 32u

/* <a, b> in four sums, which the processor adds side by side. The order is the same on every machine. */
static double inner(const float *a, const float *b, uint32_t dim) {
  double sum[4] = {0, 0, 0, 0};
  uint32_t i = 0;
  for (; i + 4 <= dim; i += 4) {
    for (uint32_t l = 0; l < 4; l++) sum[l] += (double)a[i + l] * (double)b[i + l];
  }
  for (; i < dim; i++) sum[0] += (double)a[i] * (double)b[i];
  return (sum[0] + sum[2]) + (sum[1] + sum[3]);
}

static void fill_table(uint8_t *table, const int32_t code[4]) {
  table[0] = (uint8_t)((int32_t)AME_SIGN_ENTRY / 2 - code[0] - code[1] - code[2] - code[3]);
  for (uint32_t b = 0; b < 4; b++) {
    for (uint32_t v = 0; v < 1u << b; v++) table[v | 1u << b] = (uint8_t)(table[v] + 2 * code[b]);
  }
}

void ty_sign_tables(ty_ivf_question *q, const float *rotated) {
  uint32_t dim = q->c->dim;
  float most = 0;
  for (uint32_t i = 0; i < dim; i += 4) {
    float size = 0;
    for (uint32_t d = i; d < dim && d < i + 4; d++) size += fabsf(rotated[d]);
    most = size > most ? size : most;
  }
  float step = most / (float)CODES_MOST, inverse = most > 0 ? (float)CODES_MOST / most : 0;
  q->sign_scale = step;
  q->sign_lost = 0;
  for (uint32_t i = 0; i < 32 * AME_SIGN_LINES(dim); i += 4) {
    int32_t code[4] = {0, 0, 0, 0};
    for (uint32_t d = i; d < dim && d < i + 4; d++) {
      float t = rotated[d] * inverse;
      code[d - i] = (int32_t)(t < 0 ? t - 0.5f : t + 0.5f);
      double lost = (double)rotated[d] - (double)step * code[d - i];
      q->sign_lost += lost * lost;
    }
    fill_table(q->tables + 128 * (i / 32) + 16 * (i % 32 / 8) + 64 * (i % 8 / 4), code);
  }
}

bool ty_signs_usable(const ty_ivf_question *q, const ty_ivf_part *part) {
  const ty_ivf_signs *s = &part->signs;
  if (q->tables == NULL || s->mean == NULL) return false;
  if (s->intact == NULL) return true;
  const uint8_t *first = (const uint8_t *)s->mean;
  return ty_is_intact(s->intact, (uint64_t)(first - s->intact->data), (uint64_t)(s->rows - first));
}

/* How far a value by signs may be off, in units of the third column: `margin` times the length of the part of the query
 * that is orthogonal to a centre. */
static double across_of(const ty_ivf_question *q, double along, double product, double squares, double margin) {
  double across = q->squares - 2 * along * product + along * along * squares;
  if (!(fabs(across) <= DBL_MAX)) return INFINITY;
  return margin * sqrt((across > 0 ? across : 0) + LOST_WEIGHT * q->sign_lost);
}

/* Estimates <q, c> of all centroids, each with its margin. */
static void estimate_middles(const ty_ivf_question *q, const ty_ivf_part *part, float *middle) {
  uint32_t dim = q->c->dim;
  double product = inner(q->query, part->signs.mean, dim), squares = inner(part->signs.mean, part->signs.mean, dim);
  double along = squares > 0 ? product / squares : 0;
  ame_sign_query query = {q->tables, q->sign_scale, (float)along,
                          (float)across_of(q, along, product, squares, CENTROID_MARGIN)};
  for (uint32_t from = 0; from < part->nlist; from += AT_ONCE * AME_BLOCK_ROWS) {
    const uint8_t *blocks = part->signs.centroids + from / AME_BLOCK_ROWS * AME_SIGN_BLOCK_BYTES(dim);
    uint32_t n = part->nlist - from < AT_ONCE * AME_BLOCK_ROWS ? part->nlist - from : AT_ONCE * AME_BLOCK_ROWS;
    uint16_t marks[AT_ONCE];
    float value[AT_ONCE * AME_BLOCK_ROWS];
    q->c->env->kernel->screen_signs(&query, blocks, ty_block_count(n), dim, -INFINITY, marks, value);
    for (uint32_t i = 0; i < n; i++) middle[from + i] = (float)product + value[i];
  }
}

void ty_sign_estimate(const ty_ivf_question *q, const ty_ivf_part *part, float *middle, float *spread) {
  float norm = (float)q->norm, squares = (float)q->squares;
  const float *rms = part->rms, *half = part->half_norms;
  estimate_middles(q, part, middle);
  if (q->c->metric == TY_L2) {
    for (uint32_t i = 0; i < part->nlist; i++) {
      float square = squares - 2 * (middle[i] - half[i]);
      middle[i] -= half[i] + rms[i] * rms[i] / 2;
      spread[i] = rms[i] * sqrtf(square > 0 ? square : 0);
    }
  } else {
    for (uint32_t i = 0; i < part->nlist; i++) spread[i] = norm * rms[i];
  }
  for (uint32_t i = 0; i < part->nlist; i++) {
    bool known = fabsf(middle[i]) <= FLT_MAX && spread[i] <= FLT_MAX; /* false for NaN */
    middle[i] = known ? middle[i] : INFINITY;
    spread[i] = known ? spread[i] : 0;
  }
}

ame_sign_query ty_sign_question(const ty_ivf_question *q, const ty_ivf_part *part, uint32_t list, ty_ivf_product p,
                                double threshold, float *least) {
  double squares = 2 * (double)part->half_norms[list];
  double along = q->c->metric == TY_L2 ? 1 : squares > 0 ? p.middle / squares : 0;
  *least = nextafterf((float)(threshold - p.middle - p.width - q->slack), -INFINITY);
  return (ame_sign_query){q->tables, q->sign_scale, (float)along,
                          (float)across_of(q, along, p.middle, squares, TY_SIGN_MARGIN)};
}

bool ty_sign_excludes(const ty_ivf_question *q, const ty_ivf_part *part, uint32_t list, const float *row,
                      double threshold, float *scratch) {
  uint32_t dim = q->c->dim;
  const ame_kernel *k = q->c->env->kernel;
  const float *centre = part->centroids + (uint64_t)list * dim;
  float *residual = scratch, *rotated = scratch + dim, least;
  uint8_t *block = (uint8_t *)(scratch + 2 * dim);
  double squares = 0;
  for (uint32_t d = 0; d < dim; d++) {
    residual[d] = row[d] - centre[d];
    squares += (double)row[d] * (double)row[d];
  }
  memcpy(rotated, centre, dim * sizeof *rotated);
  k->rotate(rotated, 1, dim);
  memset(block, 0, AME_SIGN_BLOCK_BYTES(dim));
  ty_sign_put(k, dim, centre, rotated, q->c->metric == TY_L2 ? -squares / 2 : 0, residual, block, 0);
  int32_t dot;
  size_t stride = AME_CODE_STRIDE(dim);
  k->dot_i8(q->codes, part->codes + list * stride, 1, stride, &dot);
  ame_sign_query query = ty_sign_question(q, part, list, ty_ivf_product_of(q, part, list, dot), threshold, &least);
  uint16_t marks;
  k->screen_signs(&query, block, 1, dim, least, &marks, NULL);
  return (marks & 1) == 0;
}

/* A query against vertical codes (rows/vertical.h): its codes in the dimensions in which it is not zero, and the
 * factors of the bounds.
 *
 * With the query q = q^ + d, of which t elements are not zero, and a row x = x^ + e, x^ its decoded codes:
 *
 *   |<q, x> - <q^, x^>|  <=  |<d, x^>| + |<q, e>|
 *   |<d, x^>|            <=  min(width * sum of all |d_j|, |d| * the largest |x^| of the segment)
 *   |<q, e>|             <=  |q| * |e|
 *
 * where width is the largest size that a decoded element can have: 127 * |scale|, or |offset| + 15 |scale|. <q^, x^> is
 * an integer times the scales (with four bits of offset and scale). For a question of three words the first of the two
 * is smaller, for a row taken as a query the second one.
 *
 * Decoding an element rounds it by at most 2^-24 of itself, with four bits also by 2^-24 of its level, which is below
 * width: the first factor has 2^-23 times the sum of all |q_j| for that, the second one 2^-22 * |q|, and with four bits
 * 2^-23 * |q| * sqrt(t) of the width are added. The score that ranks is an f32 sum, off by at most t * 2^-22 * |q| *
 * |x|: products with 0 and their sums are exact, so of the kernel's contract only t of the dimensions count; |x| <=
 * width * sqrt(t) over these. That also is why a row needs to be decoded in these dimensions only to get the same score
 * to the bit.
 *
 * There are two levels. q^ is first the query's 8-bit codes, for all rows, bounded in f32: rounded up by 2^-20 of the
 * sizes of the terms. For the lines with rows that survive, which still are in the cache, it is these and 8-bit codes
 * of what they miss, bounded in doubles and 254 times as narrow, so that hardly more rows are scored than are wanted.
 * With the first level alone 1,000 of 20,000 passages were scored for a question of 150 words and top 100, at 900
 * scattered bytes each. */

#include <string.h>

#include "scan/inside.h"

/* Largest of norms, widths and query for which the arithmetic in f32 neither overflows nor loses what matters. */
#define PROVED 0x1p50

/* The next float above a double. */
static float above(double value) { return nextafterf((float)value, INFINITY); }

/* Factors for a row's width and for its norm. */
static double width_factor(const ty_scanner *s, const scan_missed *m) {
  const double t = (double)s->lines.count;
  return (m->sum + s->lines.length * 0x1p-23 + t * 0x1p-22 * s->norm * sqrt(t) + m->size * 0x1p-36) * (1 + 0x1p-30);
}
static double norm_factor(const ty_scanner *s, const scan_missed *m) {
  const double t = (double)s->lines.count;
  return (m->length + (t * 0x1p-22 + 0x1p-22) * s->norm + m->size * 0x1p-36) * (1 + 0x1p-30);
}

ame_line_bound scan_lines_bound(const ty_scanner *s, const ty_segment *segment, const scan_missed *m) {
  const scan_lines_query *q = &s->lines;
  const ty_vertical *v = &segment->vertical;
  const double by_width = width_factor(s, m), by_norm = norm_factor(s, m), size = m->size;
  const double up = 1 + 0x1p-18;
  bool narrow = v->offsets != NULL;
  /* Four bits: the terms' sizes are at most size * (|offset| + 45 |scale|). */
  double per_width = (by_width + 3 * size * 0x1p-20) * up;
  double width = (double)v->width_most * (narrow ? 1 : 127.0 / 15); /* width_most has 15 |scale| */
  double most = (by_norm * (double)v->norm_most + (3 * size * 0x1p-20 + q->per_level) * width) * up;
  return (ame_line_bound){.by = (float)s->scale,
                          .by_offset = (float)(s->scale * (double)q->query.sum),
                          .per_scale = above(narrow ? per_width : 127 * per_width),
                          .most = above(most),
                          .each = above((q->per_err * (double)v->err_most + s->slack) * up),
                          .sum = q->query.sum};
}

/* Whether the bounds of a segment's rows are proved. */
static bool is_proved(const ty_scanner *s, const ty_segment *segment) {
  const ty_vertical *v = &segment->vertical;
  return s->norm <= PROVED && s->norm >= 1 / PROVED && (double)v->norm_most <= PROVED &&
         (double)v->width_most <= PROVED && (double)v->err_most <= PROVED;
}

/* The code of what the first level misses of an element, in steps of a 254th of its scale. */
static int8_t fine_code(double rest, double step) {
  double code = step > 0 ? nearbyint(rest / step) : 0;
  return (int8_t)(code > 127 ? 127 : code < -127 ? -127 : code);
}

static void add(scan_missed *m, double rest, double size) {
  m->sum += fabs(rest);
  m->length += rest * rest;
  m->size += size;
}

/* Which bucket an element of the query belongs to: eight for each halving of its size, the largest elements first. The
 * difference of the bits of two positive floats is nearly the logarithm of their quotient. `largest` has the bits of
 * the largest element. */
#define BUCKETS 256u
static uint32_t bucket_of(float x, uint32_t largest) {
  const float size = fabsf(x);
  uint32_t bits;
  memcpy(&bits, &size, sizeof bits);
  bits = (largest - bits) >> 20;
  return bits < BUCKETS - 1 ? bits : BUCKETS - 1;
}

/* Lists the dimensions in which the query is not zero, by buckets, and returns how many there are. */
static uint64_t list_dims(const float *query, uint32_t dim, uint32_t *dims) {
  uint32_t starts[BUCKETS + 1] = {0}, bits;
  float largest = 0;
  uint64_t count = 0;
  for (uint32_t d = 0; d < dim; d++) largest = fabsf(query[d]) > largest ? fabsf(query[d]) : largest;
  memcpy(&bits, &largest, sizeof bits);
  for (uint32_t d = 0; d < dim; d++) {
    if (query[d] == 0) continue;
    starts[bucket_of(query[d], bits) + 1]++;
    count++;
  }
  for (uint32_t i = 1; i < BUCKETS; i++) starts[i] += starts[i - 1];
  for (uint32_t d = 0; d < dim; d++) {
    if (query[d] != 0) dims[starts[bucket_of(query[d], bits)]++] = d;
  }
  return count;
}

/* Sums of 65,536 doubles are good to 2^-36. */
bool scan_lines_prepare(ty_scanner *s) {
  scan_lines_query *q = &s->lines;
  uint64_t room = (uint64_t)s->dim + AME_LINE_TOGETHER;
  q->dims = ty_arena_take(&s->memory, room, sizeof *q->dims);
  q->codes = ty_arena_take(&s->memory, room, 1);
  q->fine_codes = ty_arena_take(&s->memory, room, 1);
  q->row = ty_arena_zero(&s->memory, s->dim, sizeof *q->row);
  if (s->memory.failed) return false;
  scan_missed coarse = {0}, fine = {0};
  int32_t sum = 0, fine_sum = 0;
  q->fine_scale = s->scale / 254;
  q->count = list_dims(s->query, s->dim, q->dims);
  for (uint64_t i = 0; i < q->count; i++) {
    const uint32_t d = q->dims[i];
    int8_t code = s->query_codes[d];
    double rest = (double)s->query[d] - s->scale * code;
    int8_t low = fine_code(rest, q->fine_scale);
    add(&coarse, rest, s->scale * abs(code));
    add(&fine, rest - q->fine_scale * low, s->scale * abs(code) + q->fine_scale * abs(low));
    q->length += fabs((double)s->query[d]);
    sum += code;
    fine_sum += low;
    q->fine_codes[i] = low;
    q->codes[i] = code;
  }
  q->whole = s->base->checks == NULL || ty_line_sums_whole(&s->base->checks->lines, q->dims, q->count);
  uint64_t filled = q->count;
  for (; filled % AME_LINE_TOGETHER != 0; filled++) {
    q->dims[filled] = q->dims[q->count - 1];
    q->codes[filled] = q->fine_codes[filled] = 0;
  }
  q->query = (ame_line_query){.dims = q->dims, .codes = q->codes, .count = (size_t)filled, .sum = sum};
  q->fine = (ame_line_query){.dims = q->dims, .codes = q->fine_codes, .count = (size_t)filled, .sum = fine_sum};
  if (!scan_part_prepare(s)) return false;
  coarse.length = sqrt(coarse.length);
  fine.length = sqrt(fine.length);
  q->per_level = s->c->dtype == TY_INT4 ? s->norm * sqrt((double)q->count) * 0x1p-23 : 0;
  q->per_width = width_factor(s, &fine);
  q->per_norm = norm_factor(s, &fine);
  q->per_err = s->norm * (1 + (double)q->count * 0x1p-22) * (1 + 0x1p-30);
  const ty_segment *segments[] = {s->base, s->delta};
  for (int i = 0; i < 2 && segments[i] != NULL; i++) {
    q->bound[i] = scan_lines_bound(s, segments[i], &coarse);
    q->proved[i] = is_proved(s, segments[i]);
  }
  return true;
}

/* Scanning vertical codes (rows/vertical.h): one level, of the dimensions in which the query is not zero.
 *
 * With the query q = q^ + d, of which t elements are not zero, and a row x = x^ + e, x^ its decoded codes:
 *
 *   |<q, x> - <q^, x^>| <= |<d, x^>| + |<q, e>|,   |<d, x^>| <= min(width * sum |d_j|, |d| * |x^|),   |<q, e>| <= |q|
 * |e|
 *
 * where width is the largest size that a decoded element can have: 127 * |scale|, or |offset| + 15 |scale|. <q^, x^> is
 * an integer times the scales (with four bits of offset and scale). For a question of three words the first of the two
 * is smaller, for a row taken as a query the second one.
 *
 * Decoding an element rounds it once or twice, by at most 2^-23 * width together: |q|_1 * 2^-23 in the first factor
 * covers it, and 2^-22 * |q| in the second. The score that ranks is an f32 sum, off by at most t * 2^-22 * |q| * |x|:
 * products with 0 and their sums are exact, so of the kernel's contract only t of the dimensions count; |x| <= width *
 * sqrt(t) over these. That also is why a row needs to be decoded in these dimensions only to get the same score to the
 * bit.
 *
 * The kernel's upper bound is in f32 and so rounded up by 2^-20 of its terms' sizes; rows that survive it are bounded
 * in doubles. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rows/vector.h"
#include "rows/vertical.h"
#include "scan/inside.h"

/* Largest of norms, widths and query for which the arithmetic in f32 neither overflows nor loses what matters. */
#define PROVED 0x1p50
#define MASKS  (TY_RUN_ROWS / 64)

/* The next float above a double. */
static float above(double value) { return nextafterf((float)value, INFINITY); }

/* The kernel's factors for a segment. `size` is the sum of the sizes of the codes, times the scale. */
static void bound_segment(ty_scanner *s, int which, const ty_segment *segment, double size) {
  scan_lines_query *q = &s->lines;
  const ty_vertical *v = &segment->vertical;
  const double up = 1 + 0x1p-18;
  bool narrow = v->offsets != NULL;
  /* Four bits: the terms' sizes are at most size * (|offset| + 45 |scale|). */
  double per_width = (q->per_width + 3 * size * 0x1p-20) * up;
  double most =
      (q->per_norm * (double)v->norm_most + 3 * size * (double)v->width_most * 0x1p-20 * (narrow ? 1 : 127)) * up;
  q->bound[which] = (ame_line_bound){.by = (float)s->scale,
                                     .by_offset = (float)(s->scale * (double)q->query.sum),
                                     .per_scale = above(narrow ? per_width : 127 * per_width),
                                     .most = above(most),
                                     .each = above((q->per_err * (double)v->err_most + s->slack) * up),
                                     .sum = q->query.sum};
  q->proved[which] = s->norm <= PROVED && s->norm >= 1 / PROVED && (double)v->norm_most <= PROVED &&
                     (double)v->width_most <= PROVED && (double)v->err_most <= PROVED;
}

bool scan_lines_prepare(ty_scanner *s, const ame_code_info *info) {
  scan_lines_query *q = &s->lines;
  uint64_t room = (uint64_t)s->dim + AME_LINE_TOGETHER;
  q->dims = malloc((size_t)room * sizeof *q->dims);
  q->codes = malloc((size_t)room);
  q->row = calloc(s->dim, sizeof *q->row);
  if (q->dims == NULL || q->codes == NULL || q->row == NULL) return false;
  double missed = 0, length = 0, size = 0;
  int32_t sum = 0;
  for (uint32_t d = 0; d < s->dim; d++) {
    if (s->query[d] == 0) continue;
    int8_t code = s->query_codes[d];
    missed += fabs((double)s->query[d] - s->scale * code);
    length += fabs((double)s->query[d]);
    size += abs(code);
    sum += code;
    q->dims[q->count] = d;
    q->codes[q->count++] = code;
  }
  uint64_t filled = q->count;
  for (; filled % AME_LINE_TOGETHER != 0; filled++) {
    q->dims[filled] = q->dims[q->count - 1];
    q->codes[filled] = 0;
  }
  q->query = (ame_line_query){.dims = q->dims, .codes = q->codes, .count = (size_t)filled, .sum = sum};
  size *= s->scale;
  /* Sums of 65,536 doubles are good to 2^-36. */
  const double t = (double)q->count, sum_error = t * 0x1p-22, up = 1 + 0x1p-30;
  q->per_width = (missed + length * 0x1p-23 + sum_error * s->norm * sqrt(t) + size * 0x1p-36) * up;
  q->per_norm = ((double)info->err + (sum_error + 0x1p-22) * s->norm + size * 0x1p-36) * up;
  q->per_err = s->norm * (1 + sum_error) * up;
  bound_segment(s, 0, s->base, size);
  if (s->delta != NULL) bound_segment(s, 1, s->delta, size);
  return true;
}

void scan_lines_close(ty_scanner *s) {
  free(s->lines.dims);
  free(s->lines.codes);
  free(s->lines.row);
}

/* Bounds a survivor, of which the products of codes are known. */
static void note(ty_scanner *s, const ty_segment *segment, uint64_t at, int32_t product) {
  const scan_lines_query *q = &s->lines;
  const ty_vertical *v = &segment->vertical;
  double scale = (double)v->scales[at], offset = 0, width = 127 * fabs(scale), middle, half;
  double err = v->errs == NULL ? 0 : (double)v->errs[at];
  if (v->offsets == NULL) {
    middle = s->scale * scale * (double)product;
  } else {
    offset = (double)v->offsets[at];
    width = fabs(offset) + 15 * fabs(scale);
    middle = s->scale * (offset * (double)q->query.sum + scale * (2 * (double)product - 15 * (double)q->query.sum));
  }
  double by_width = q->per_width * width, by_norm = q->per_norm * (double)v->norms[at];
  half = (by_width < by_norm ? by_width : by_norm) + q->per_err * err + s->slack + fabs(middle) * 0x1p-40;
  /* With four bits the middle is a difference of larger numbers. */
  half += s->scale * width * fabs((double)q->query.sum) * 0x1p-40;
  scan_note(s, at | (segment->is_base ? 0 : DELTA_BIT), middle, half, -INFINITY, INFINITY);
}

/* The rows to look at, of n from `first` on, as bits; false where there are none. */
static bool select_rows(const ty_scanner *s, const ty_segment *segment, uint64_t first, uint32_t n, uint64_t *wanted) {
  uint16_t offsets[TY_RUN_ROWS];
  uint32_t found = ty_filter_select(s->filter, segment, first, n, offsets);
  memset(wanted, 0, MASKS * sizeof *wanted);
  for (uint32_t i = 0; i < found; i++) wanted[offsets[i] / 64] |= (uint64_t)1 << offsets[i] % 64;
  return found > 0;
}

/* Whether one of n rows from `at` on is wanted. */
static bool any_wanted(const uint64_t *wanted, uint32_t at, uint32_t n) {
  for (uint32_t i = at; i < at + n; i++) {
    if (wanted[i / 64] >> i % 64 & 1) return true;
  }
  return false;
}

/* Rows within one block, at most TY_RUN_ROWS of them. */
static void scan_some(ty_scanner *s, const ty_segment *segment, uint64_t first, uint32_t n) {
  int32_t products[TY_RUN_ROWS + AME_LINE_ROWS(4)];
  uint64_t survivors[MASKS], wanted[MASKS];
  const ty_vertical *v = &segment->vertical;
  const scan_lines_query *q = &s->lines;
  const int which = segment->is_base ? 0 : 1;
  const uint32_t rows = ty_line_rows(s->c);
  bool live_only = ty_filter_live_only(s->filter, segment);
  if (!live_only && !select_rows(s, segment, first, n, wanted)) return;
  ty_line_place place = ty_line_place_of(s->c, v->run, segment->count, first);
  uint32_t skip = (uint32_t)((first - place.first) % rows), lines = (skip + n + rows - 1) / rows;
  uint64_t line = (first - place.first) / rows, next = place.run * s->dim;
  const uint8_t *block = v->lines + place.block;
  void (*dot)(const ame_line_query *, const uint8_t *, size_t, size_t, size_t, size_t, int32_t *) =
      ty_line_bits(s->c) == 8 ? s->k->dot_lines : s->k->dot_lines_i4;
  if (live_only) {
    dot(&q->query, block, place.run, line, lines, next, products);
  } else {
    for (uint32_t i = 0; i < lines; i++) {
      uint32_t from = i == 0 ? 0 : i * rows - skip, end = (i + 1) * rows - skip < n ? (i + 1) * rows - skip : n;
      if (any_wanted(wanted, from, end - from))
        dot(&q->query, block, place.run, line + i, 1, next, products + i * rows);
      else memset(products + i * rows, 0, rows * sizeof *products);
    }
  }
  float threshold = q->proved[which] && s->bounds.threshold > -FLT_MAX
                        ? nextafterf((float)s->bounds.threshold, -INFINITY)
                        : -INFINITY;
  s->k->screen_lines(&q->bound[which], products + skip, v->scales + first,
                     v->offsets == NULL ? NULL : v->offsets + first, n, threshold, survivors);
  for (uint32_t m = 0; m < (n + 63) / 64; m++) {
    uint64_t bits = live_only ? survivors[m] : survivors[m] & wanted[m];
    for (; bits != 0; bits &= bits - 1) {
      uint32_t i = m * 64 + (uint32_t)__builtin_ctzll(bits);
      if (segment->dead[first + i] == 0) note(s, segment, first + i, products[skip + i]);
    }
    s->counts.screened += live_only ? 0 : (uint64_t)__builtin_popcountll(wanted[m]);
  }
  if (live_only) s->counts.screened += n;
}

ty_status scan_lines(ty_scanner *s, const ty_range *range, ty_error *err) {
  const ty_segment *segment = range->segment;
  for (uint64_t at = range->first, end = range->first + range->count; at < end;) {
    ty_line_place place = ty_line_place_of(s->c, segment->vertical.run, segment->count, at);
    uint64_t n = place.first + place.rows - at, most = (uint64_t)s->chunk * ty_line_rows(s->c);
    if (n > end - at) n = end - at;
    if (n > most) n = most - (at - place.first + most) % ty_line_rows(s->c);
    if (!candidates_reserve(&s->candidates, n, s->bounds.threshold))
      return ty_fail(err, TY_NO_MEMORY, "not enough memory for the candidates of a search");
    scan_some(s, segment, at, (uint32_t)n);
    at += n;
    if (s->chunk < CHUNK_BLOCKS) s->chunk *= 2;
  }
  return TY_OK;
}

const float *scan_lines_row(ty_scanner *s, const ty_segment *segment, uint64_t at) {
  const ty_vertical *v = &segment->vertical;
  if (v->errs != NULL && v->errs[at] > 0) return ty_row_vector(s->c, segment, at, s->row);
  ty_line_decode_some(s->c, segment, at, s->lines.dims, s->lines.count, s->lines.row);
  return s->lines.row;
}

void scan_lines_prefetch(const ty_scanner *s, const ty_segment *segment, uint64_t at) {
  ty_line_place p = ty_line_place_of(s->c, segment->vertical.run, segment->count, at);
  const uint8_t *line = segment->vertical.lines + p.block + (at - p.first) / ty_line_rows(s->c) * AME_LINE;
  for (uint64_t i = 0; i < s->lines.count; i++) __builtin_prefetch(line + s->lines.dims[i] * p.run);
}

/* Scanning vertical codes (rows/vertical.h), of the dimensions in which the query is not zero.
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

/* What one level misses of the query: the sum of the sizes of the elements of d, and its length; and the sum of the
 * sizes of the elements of q^. */
typedef struct missed {
  double sum, length, size;
} missed;

/* Factors for a row's width and for its norm. */
static double width_factor(const ty_scanner *s, const missed *m, double length) {
  const double t = (double)s->lines.count;
  return (m->sum + length * 0x1p-23 + t * 0x1p-22 * s->norm * sqrt(t) + m->size * 0x1p-36) * (1 + 0x1p-30);
}
static double norm_factor(const ty_scanner *s, const missed *m) {
  const double t = (double)s->lines.count;
  return (m->length + (t * 0x1p-22 + 0x1p-22) * s->norm + m->size * 0x1p-36) * (1 + 0x1p-30);
}

/* The kernel's factors for a segment. `size` is that of the first level. */
static void bound_segment(ty_scanner *s, int which, const ty_segment *segment, double by_width, double by_norm,
                          double size) {
  scan_lines_query *q = &s->lines;
  const ty_vertical *v = &segment->vertical;
  const double up = 1 + 0x1p-18;
  bool narrow = v->offsets != NULL;
  /* Four bits: the terms' sizes are at most size * (|offset| + 45 |scale|). */
  double per_width = (by_width + 3 * size * 0x1p-20) * up;
  double most =
      (by_norm * (double)v->norm_most + 3 * size * (double)v->width_most * 0x1p-20 * (narrow ? 1 : 127.0 / 15)) * up;
  q->bound[which] = (ame_line_bound){.by = (float)s->scale,
                                     .by_offset = (float)(s->scale * (double)q->query.sum),
                                     .per_scale = above(narrow ? per_width : 127 * per_width),
                                     .most = above(most),
                                     .each = above((q->per_err * (double)v->err_most + s->slack) * up),
                                     .sum = q->query.sum};
  q->proved[which] = s->norm <= PROVED && s->norm >= 1 / PROVED && (double)v->norm_most <= PROVED &&
                     (double)v->width_most <= PROVED && (double)v->err_most <= PROVED;
}

/* The code of what the first level misses of an element, in steps of a 254th of its scale. */
static int8_t fine_code(double rest, double step) {
  double code = step > 0 ? nearbyint(rest / step) : 0;
  return (int8_t)(code > 127 ? 127 : code < -127 ? -127 : code);
}

static void add(missed *m, double rest, double size) {
  m->sum += fabs(rest);
  m->length += rest * rest;
  m->size += size;
}

/* Sums of 65,536 doubles are good to 2^-36. */
bool scan_lines_prepare(ty_scanner *s) {
  scan_lines_query *q = &s->lines;
  uint64_t room = (uint64_t)s->dim + AME_LINE_TOGETHER;
  q->dims = malloc((size_t)room * sizeof *q->dims);
  q->codes = malloc((size_t)room);
  q->fine_codes = malloc((size_t)room);
  q->row = calloc(s->dim, sizeof *q->row);
  if (q->dims == NULL || q->codes == NULL || q->fine_codes == NULL || q->row == NULL) return false;
  double length = 0;
  missed coarse = {0}, fine = {0};
  int32_t sum = 0, fine_sum = 0;
  q->fine_scale = s->scale / 254;
  for (uint32_t d = 0; d < s->dim; d++) {
    if (s->query[d] == 0) continue;
    int8_t code = s->query_codes[d];
    double rest = (double)s->query[d] - s->scale * code;
    int8_t low = fine_code(rest, q->fine_scale);
    add(&coarse, rest, s->scale * abs(code));
    add(&fine, rest - q->fine_scale * low, s->scale * abs(code) + q->fine_scale * abs(low));
    length += fabs((double)s->query[d]);
    sum += code;
    fine_sum += low;
    q->dims[q->count] = d;
    q->fine_codes[q->count] = low;
    q->codes[q->count++] = code;
  }
  uint64_t filled = q->count;
  for (; filled % AME_LINE_TOGETHER != 0; filled++) {
    q->dims[filled] = q->dims[q->count - 1];
    q->codes[filled] = q->fine_codes[filled] = 0;
  }
  q->query = (ame_line_query){.dims = q->dims, .codes = q->codes, .count = (size_t)filled, .sum = sum};
  q->fine = (ame_line_query){.dims = q->dims, .codes = q->fine_codes, .count = (size_t)filled, .sum = fine_sum};
  coarse.length = sqrt(coarse.length);
  fine.length = sqrt(fine.length);
  q->per_width = width_factor(s, &fine, length);
  q->per_norm = norm_factor(s, &fine);
  q->per_err = s->norm * (1 + (double)q->count * 0x1p-22) * (1 + 0x1p-30);
  double by_width = width_factor(s, &coarse, length), by_norm = norm_factor(s, &coarse);
  bound_segment(s, 0, s->base, by_width, by_norm, coarse.size);
  if (s->delta != NULL) bound_segment(s, 1, s->delta, by_width, by_norm, coarse.size);
  return true;
}

void scan_lines_close(ty_scanner *s) {
  free(s->lines.dims);
  free(s->lines.codes);
  free(s->lines.fine_codes);
  free(s->lines.row);
}

/* Bounds a survivor by both levels' products of codes. */
static void note(ty_scanner *s, const ty_segment *segment, uint64_t at, int32_t coarse, int32_t fine) {
  const scan_lines_query *q = &s->lines;
  const ty_vertical *v = &segment->vertical;
  double scale = (double)v->scales[at], offset = 0, width = 127 * fabs(scale), sum = 0;
  double err = v->errs == NULL ? 0 : (double)v->errs[at];
  double middle = s->scale * (double)coarse + q->fine_scale * (double)fine;
  if (v->offsets == NULL) {
    middle *= scale;
  } else {
    offset = (double)v->offsets[at];
    width = fabs(offset) + 15 * fabs(scale);
    sum = s->scale * (double)q->query.sum + q->fine_scale * (double)q->fine.sum;
    middle = offset * sum + scale * (2 * middle - 15 * sum);
  }
  double by_width = q->per_width * width, by_norm = q->per_norm * (double)v->norms[at];
  double half = (by_width < by_norm ? by_width : by_norm) + q->per_err * err + s->slack + fabs(middle) * 0x1p-40;
  half += width * fabs(sum) * 0x1p-40; /* with four bits the middle is a difference of larger numbers */
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

/* Some rows within one block: from position `first`, the `skip`-th row of line `line`. */
typedef struct piece {
  const ty_segment *segment;
  const uint8_t *block;
  uint64_t run, next, first, line;
  uint32_t n, skip, lines;
  void (*dot)(const ame_line_query *q, const uint8_t *block, size_t run, size_t first, size_t n, size_t next,
              int32_t *dots);
} piece;

/* The products of lines with wanted rows; of the others zero. */
static void products_of(const ty_scanner *s, const piece *p, const uint64_t *wanted, int32_t *products) {
  const uint32_t rows = ty_line_rows(s->c);
  const ame_line_query *q = &s->lines.query;
  if (wanted == NULL) {
    p->dot(q, p->block, p->run, p->line, p->lines, p->next, products);
    return;
  }
  for (uint32_t i = 0; i < p->lines; i++) {
    uint32_t from = i == 0 ? 0 : i * rows - p->skip, end = (i + 1) * rows - p->skip;
    if (any_wanted(wanted, from, (end < p->n ? end : p->n) - from))
      p->dot(q, p->block, p->run, p->line + i, 1, p->next, products + i * rows);
    else memset(products + i * rows, 0, rows * sizeof *products);
  }
}

/* Bounds the survivors, whose lines still are in the cache, by the second level too. */
static void refine(ty_scanner *s, const piece *p, const uint64_t *survivors, const int32_t *products) {
  const uint32_t rows = ty_line_rows(s->c);
  int32_t fine[AME_LINE_ROWS(4)];
  uint32_t have = UINT32_MAX; /* the line that `fine` is of */
  for (uint32_t m = 0; m < (p->n + 63) / 64; m++) {
    for (uint64_t bits = survivors[m]; bits != 0; bits &= bits - 1) {
      uint32_t i = m * 64 + (uint32_t)__builtin_ctzll(bits), line = (p->skip + i) / rows;
      if (p->segment->dead[p->first + i]) continue;
      if (line != have) p->dot(&s->lines.fine, p->block, p->run, p->line + line, 1, 0, fine);
      have = line;
      note(s, p->segment, p->first + i, products[p->skip + i], fine[(p->skip + i) % rows]);
    }
  }
}

/* Rows within one block, at most TY_RUN_ROWS of them. */
static void scan_some(ty_scanner *s, const ty_segment *segment, uint64_t first, uint32_t n) {
  int32_t products[TY_RUN_ROWS + AME_LINE_ROWS(4)];
  uint64_t survivors[MASKS], wanted[MASKS];
  const ty_vertical *v = &segment->vertical;
  const scan_lines_query *q = &s->lines;
  const int which = segment->is_base ? 0 : 1;
  bool all = ty_filter_live_only(s->filter, segment); /* that are live, which is checked for the survivors only */
  if (!all && !select_rows(s, segment, first, n, wanted)) return;
  const uint32_t rows = ty_line_rows(s->c);
  ty_line_place place = ty_line_place_of(s->c, v->run, segment->count, first);
  piece p = {.segment = segment,
             .block = v->lines + place.block,
             .run = place.run,
             .next = place.run * s->dim,
             .first = first,
             .line = (first - place.first) / rows,
             .n = n,
             .skip = (uint32_t)((first - place.first) % rows),
             .dot = ty_line_bits(s->c) == 8 ? s->k->dot_lines : s->k->dot_lines_i4};
  p.lines = (p.skip + n + rows - 1) / rows;
  products_of(s, &p, all ? NULL : wanted, products);
  bool bounded = q->proved[which] && s->bounds.threshold > -FLT_MAX;
  float threshold = bounded ? nextafterf((float)s->bounds.threshold, -INFINITY) : -INFINITY;
  s->k->screen_lines(&q->bound[which], products + p.skip, v->scales + first,
                     v->offsets == NULL ? NULL : v->offsets + first, n, threshold, survivors);
  s->counts.screened += all ? n : 0;
  for (uint32_t m = 0; m < (n + 63) / 64 && !all; m++) {
    survivors[m] &= wanted[m];
    s->counts.screened += (uint64_t)__builtin_popcountll(wanted[m]);
  }
  refine(s, &p, survivors, products);
}

ty_status scan_lines(ty_scanner *s, const ty_range *range, ty_error *err) {
  const ty_segment *segment = range->segment;
  const uint64_t end = range->first + range->count;
  for (uint64_t at = range->first; (at = ty_filter_next(s->filter, segment, at, end)) < end;) {
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

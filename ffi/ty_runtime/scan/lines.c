/* Scanning vertical codes (rows/vertical.h) in the dimensions in which the query is not zero. lines_query.c describes
 * the two levels of bounds, and why no row is lost. */
#include <string.h>

#include "os/plant.h"
#include "rows/vector.h"
#include "rows/vertical.h"
#include "scan/inside.h"

/* Words of a bit for each row of a block, dense or sparse. */
#define MASKS (TY_SPARSE_ROWS / 64)
_Static_assert(TY_RUN_ROWS <= TY_SPARSE_ROWS && AME_SPARSE_LINES <= 64, "masks of rows, and of lines");

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
  /* The largest norm, not the row's own: reading that misses the cache, and texts have unit length. */
  double by_width = q->per_width * width, by_norm = q->per_norm * (double)v->norm_most;
  double half = (by_width < by_norm ? by_width : by_norm) + q->per_level * width + q->per_err * err + s->slack;
  half +=
      (fabs(middle) + width * fabs(sum)) * 0x1p-40; /* with four bits the middle is a difference of larger numbers */
  scan_note(s, at | (segment->is_base ? 0 : DELTA_BIT), middle, half, -INFINITY, INFINITY);
}

/* Sets a bit for each of n rows from `first` on that the filter allows; false if there is none. n is at most
 * TY_SPARSE_ROWS. */
static bool select_rows(const ty_scanner *s, const ty_segment *segment, uint64_t first, uint32_t n, uint64_t *wanted) {
  uint16_t offsets[TY_SPARSE_ROWS];
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

/* n rows within one block, from position `first` on. That row is row `skip` of line `line` of the block, and the rows
 * lie in `lines` lines. */
typedef struct piece {
  const ty_segment *segment;
  uint64_t first, line;
  uint32_t n, skip, lines;
  /* Of a dense block; `next` is how far from it the next one lies. */
  const uint8_t *block;
  uint64_t run, next;
  void (*dot)(const ame_line_query *q, const uint8_t *block, size_t run, size_t first, size_t n, size_t next,
              int32_t *dots);
  /* The sparse block, NULL if the block is dense; and the sparse block after it, to be prefetched, or NULL. */
  const ame_sparse_block *sparse, *after;
} piece;

/* A bit for each of n lines from `first` on, n at least 1; first + n is at most 64. */
static uint64_t line_bits(uint64_t first, uint64_t n) { return (n == 64 ? ~0ull : (1ull << n) - 1) << first; }

/* The lines of a sparse block in which rows are wanted, as bits. */
static uint64_t wanted_lines(const piece *p, const uint64_t *wanted) {
  uint64_t lines = 0;
  for (uint32_t i = 0; i < p->lines; i++) {
    const uint32_t from = i == 0 ? 0 : i * AME_LINE - p->skip, end = (i + 1) * AME_LINE - p->skip;
    if (any_wanted(wanted, from, (end < p->n ? end : p->n) - from)) lines |= 1ull << (p->line + i);
  }
  return lines;
}

/* Computes the products with `q`, all of the query or its first part, of the lines of a piece in which rows are wanted
 * (NULL: in all of them); those of other lines are set to zero. `products` begins with the piece's first line. */
static void products_of(const ty_scanner *s, const piece *p, const ame_line_query *q, const uint64_t *wanted,
                        int32_t *products) {
  const uint32_t rows = ty_line_rows(s->c);
  if (p->sparse != NULL) {
    const uint64_t lines = wanted == NULL ? line_bits(p->line, p->lines) : wanted_lines(p, wanted);
    if (wanted != NULL) memset(products, 0, p->lines * AME_LINE * sizeof *products);
    /* The kernel counts from the first line of the block, and writes nothing of lines before those of the piece. */
    (void)s->k->dot_sparse(q, p->sparse, lines, p->after, products - p->line * AME_LINE);
    return;
  }
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

/* The lines of a sparse block with survivors that are not dead. */
static uint64_t surviving_lines(const piece *p, const uint64_t *survivors) {
  uint64_t lines = 0;
  for (uint32_t m = 0; m < (p->n + 63) / 64; m++)
    for (uint64_t bits = survivors[m]; bits != 0; bits &= bits - 1) {
      const uint32_t i = m * 64 + (uint32_t)__builtin_ctzll(bits);
      if (!p->segment->dead[p->first + i]) lines |= 1ull << (p->line + (p->skip + i) / AME_LINE);
    }
  return lines;
}

/* Bounds the survivors of a sparse block by the second level. All their lines are read in one call, because each call
 * goes through the runs from their beginning. */
static void refine_sparse(ty_scanner *s, const piece *p, const uint64_t *survivors, const int32_t *products) {
  int32_t fine[TY_SPARSE_ROWS];
  const uint64_t lines = surviving_lines(p, survivors);
  if (lines == 0) return;
  (void)s->k->dot_sparse(&s->lines.fine, p->sparse, lines, NULL, fine);
  for (uint32_t m = 0; m < (p->n + 63) / 64; m++)
    for (uint64_t bits = survivors[m]; bits != 0; bits &= bits - 1) {
      const uint32_t i = m * 64 + (uint32_t)__builtin_ctzll(bits);
      if (!p->segment->dead[p->first + i])
        note(s, p->segment, p->first + i, products[p->skip + i], fine[p->line * AME_LINE + p->skip + i]);
    }
}

/* Bounds the survivors of a dense block by the second level, line by line: their lines are still in the cache. */
static void refine(ty_scanner *s, const piece *p, const uint64_t *survivors, const int32_t *products) {
  const uint32_t rows = ty_line_rows(s->c);
  int32_t fine[AME_LINE_ROWS(4)];
  uint32_t have = UINT32_MAX; /* the line whose products are in `fine` */
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

/* The rows of the block of the row at a position, and how many of them are before that row. */
static uint64_t block_rows(const ty_segment *segment, uint64_t at, uint64_t *before) {
  const ty_vertical *v = &segment->vertical;
  const uint64_t rows = ty_is_sparse(segment, at) ? TY_SPARSE_ROWS : v->run;
  *before = (ty_is_sparse(segment, at) ? at : at - v->sparse_rows) % rows;
  return rows;
}

/* Finds n rows of one block from a position on. */
static piece piece_of(const ty_scanner *s, const ty_segment *segment, uint64_t first, uint32_t n) {
  const uint32_t rows = ty_line_rows(s->c);
  const ty_vertical *v = &segment->vertical;
  uint64_t before, block = block_rows(segment, first, &before);
  piece p = {.segment = segment, .first = first, .line = before / rows, .n = n, .skip = (uint32_t)(before % rows)};
  p.lines = (p.skip + n + rows - 1) / rows;
  if (ty_is_sparse(segment, first)) {
    p.sparse = ty_sparse_block_at(segment, first);
    p.after = ty_is_sparse(segment, first - before + block) ? p.sparse + 1 : NULL;
  } else {
    const ty_line_place place = ty_line_place_of(s->c, v->run, segment->count - v->sparse_rows, first - v->sparse_rows);
    p.dot = ty_line_bits(s->c) == 8 ? s->k->dot_lines : s->k->dot_lines_i4;
    p.block = v->lines + place.block;
    p.run = place.run;
    p.next = place.run * s->dim;
  }
  return p;
}

/* Whether the runs of a piece in these dimensions are good. If not, its rows are left out. */
static bool runs_good(ty_scanner *s, const piece *p, const uint32_t *dims, uint64_t count) {
  if (!p->segment->is_base || s->lines.whole || p->segment->checks == NULL) return true;
  if (ty_line_sums_good(&p->segment->checks->lines, p->first, dims, count)) return true;
  scan_leave_out_all(s, p->first, p->n);
  return false;
}

/* Sets the bits of the rows of a piece whose upper bound reaches the threshold; only of those that are wanted (NULL:
 * all are) and were not scored before the scan. */
static void screen(const ty_scanner *s, const piece *p, const ame_line_bound *bound, const int32_t *products,
                   const uint64_t *wanted, float threshold, uint64_t *survivors) {
  const ty_vertical *v = &p->segment->vertical;
  s->k->screen_lines(bound, products + p->skip, v->scales + p->first, v->offsets == NULL ? NULL : v->offsets + p->first,
                     p->n, threshold, survivors);
  for (uint32_t m = 0; wanted != NULL && m < (p->n + 63) / 64; m++) survivors[m] &= wanted[m];
  scan_expected_drop(s, p->segment, p->first, p->n, survivors);
}

/* Adds the products in the rest of the dimensions, for the lines in which rows survived the part, and screens these
 * rows again. False if the block is damaged in these dimensions. */
static bool screen_rest(ty_scanner *s, const piece *p, float threshold, int32_t *products, uint64_t *survivors) {
  const scan_lines_query *q = &s->lines;
  const float *scales = p->segment->vertical.scales + p->first;
  const uint64_t lines = surviving_lines(p, survivors);
  scan_part_adjust(s, (uint64_t)__builtin_popcountll(lines), p->lines);
  s->counts.parted_lines += p->lines;
  s->counts.rest_lines += (uint64_t)__builtin_popcountll(lines);
  if (lines == 0) {
    memset(survivors, 0, MASKS * sizeof *survivors);
    return true;
  }
  if (!runs_good(s, p, q->rest.dims, q->rest.count)) return false;
  if (!TY_PLANTED(PART_UNREAD)) (void)s->k->dot_sparse(&q->rest, p->sparse, lines, NULL, products - p->line * AME_LINE);
  for (uint32_t m = 0; m < (p->n + 63) / 64; m++) {
    uint64_t reach;
    if (survivors[m] == 0) continue;
    s->k->screen_lines(&q->bound[0], products + p->skip + m * 64, scales + m * 64, NULL,
                       p->n - m * 64 < 64 ? p->n - m * 64 : 64, threshold, &reach);
    survivors[m] &= reach;
  }
  return true;
}

/* Scans n rows of one block, at most TY_SPARSE_ROWS. False: out of memory. The candidates get room for the survivors,
 * not for all rows: memory that a query takes and returns to the system costs it a fault for each page. */
static bool scan_some(ty_scanner *s, const ty_segment *segment, uint64_t first, uint32_t n) {
  int32_t of_block[TY_SPARSE_ROWS + AME_LINE_ROWS(4)];
  uint64_t survivors[MASKS], wanted[MASKS];
  const ty_vertical *v = &segment->vertical;
  const scan_lines_query *q = &s->lines;
  const int which = segment->is_base ? 0 : 1;
  /* Live rows; whether a row is live is checked for survivors only. */
  bool all = ty_filter_live_only(s->filter, segment);
  if (!all && !select_rows(s, segment, first, n, wanted)) return true;
  const piece p = piece_of(s, segment, first, n);
  const bool bounded = q->proved[which] && s->bounds.threshold > -FLT_MAX;
  if (bounded && segment->is_base && p.sparse != NULL && q->sampled == NULL &&
      !scan_part_measure(s, p.sparse, first - p.line * AME_LINE - p.skip))
    return false;
  const bool parted = bounded && segment->is_base && p.sparse != NULL && scan_part_choose(s);
  const ame_line_query *read = parted ? &q->part : &q->query;
  if (!runs_good(s, &p, read->dims, read->count)) return true;
  /* Prefetches the scales, which are needed after the products. The hardware does not: they are at most 16 KB in
   * succession. */
  for (uint32_t i = 0; i < n; i += AME_LINE / sizeof *v->scales) __builtin_prefetch(v->scales + first + i);
  int32_t *products = of_block + (p.sparse != NULL ? p.line * AME_LINE : 0);
  products_of(s, &p, read, all ? NULL : wanted, products);
  const float threshold = bounded ? nextafterf((float)s->bounds.threshold, -INFINITY) : -INFINITY;
  screen(s, &p, parted ? &q->part_bound : &q->bound[which], products, all ? NULL : wanted, threshold, survivors);
  if (parted && !screen_rest(s, &p, threshold, products, survivors)) return true;
  s->counts.screened += all ? n : 0;
  uint64_t survived = 0;
  for (uint32_t m = 0; m < (n + 63) / 64; m++) {
    if (!all) s->counts.screened += (uint64_t)__builtin_popcountll(wanted[m]);
    survived += (uint64_t)__builtin_popcountll(survivors[m]);
  }
  if (!candidates_reserve(&s->candidates, survived, s->bounds.threshold)) return false;
  if (p.sparse != NULL) refine_sparse(s, &p, survivors, products);
  else refine(s, &p, survivors, products);
  return true;
}

ty_status scan_lines(ty_scanner *s, const ty_range *range, ty_error *err) {
  const ty_segment *segment = range->segment;
  const uint64_t end = range->first + range->count;
  if (s->lines.count == 0) return scan_lines_zero(s, range, err);
  if (s->bounds.threshold > -FLT_MAX) s->chunk = AME_SPARSE_LINES;
  for (uint64_t at = range->first; (at = ty_filter_next(s->filter, segment, at, end)) < end;) {
    uint64_t into, n = block_rows(segment, at, &into), most = (uint64_t)s->chunk * ty_line_rows(s->c);
    n -= into;
    if (n > end - at) n = end - at;
    if (n > most) n = most - (into + most) % ty_line_rows(s->c);
    if (!scan_some(s, segment, at, (uint32_t)n))
      return ty_fail(err, TY_NO_MEMORY, "not enough memory for the candidates of a search");
    at += n;
    if (s->chunk < AME_SPARSE_LINES) s->chunk *= 2;
  }
  return scan_whole(s, err);
}

const float *scan_lines_row(ty_scanner *s, const ty_segment *segment, uint64_t at) {
  const ty_vertical *v = &segment->vertical;
  if (v->errs != NULL && v->errs[at] > 0) return ty_row_vector(s->c, segment, at, s->row);
  ty_line_decode_some(s->c, segment, at, s->lines.dims, s->lines.count, s->lines.row);
  return s->lines.row;
}

void scan_lines_prefetch(const ty_scanner *s, const ty_segment *segment, uint64_t at) {
  if (ty_is_sparse(segment, at)) return; /* the places of its codes are known only after its runs are read */
  const uint64_t sparse = segment->vertical.sparse_rows;
  ty_line_place p = ty_line_place_of(s->c, segment->vertical.run, segment->count - sparse, at - sparse);
  const uint8_t *line = segment->vertical.lines + p.block + (at - sparse - p.first) / ty_line_rows(s->c) * AME_LINE;
  for (uint64_t i = 0; i < s->lines.count; i++) __builtin_prefetch(line + s->lines.dims[i] * p.run);
}

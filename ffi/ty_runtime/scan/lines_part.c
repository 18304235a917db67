/* Choosing the dimensions of sparse blocks that are read of all rows.
 *
 * A weighted query is large in some dimensions and small in many. So a scan first reads a part of the dimensions, those
 * in which the query is largest, and bounds all rows of a block by these: the codes of the query in the rest are taken
 * as 0, and what that misses makes the bound wider (lines_query.c), so that no row is lost. The rest of the dimensions
 * is read only of lines that have a row whose bound reaches the threshold. If the threshold is known early
 * (expected.c), questions of 6 words over 1,000,000 notes read two thirds of their dimensions of nearly all rows, and
 * questions of 12 words a third. The dimensions that are left out are the expensive ones, in which most codes are not
 * zero.
 *
 * A part is large enough if few lines reach the threshold: the half width of its bound plus the largest products of
 * rows with it have to be below the threshold. These products are measured with a sample of rows, times a margin that
 * is adjusted after each block. */
#include "os/plant.h"
#include "scan/inside.h"

/* The margin at the beginning of a scan, and its limits. */
#define MARGIN_FIRST 1.4
#define MARGIN_LEAST 0.5
#define MARGIN_MOST  3.0
/* Shares of a block's lines that are read in the rest of the dimensions: above LINES_MANY the margin grows, and with it
 * the part; below LINES_FEW it shrinks. Already for one line all runs of its block have to be gone through, which takes
 * half as long as to read all lines. */
#define LINES_MANY 0.015
#define LINES_FEW  0.003
/* If the rest would have fewer dimensions, there is no part. */
#define REST_LEAST 8u
/* Lines of the sample, and how many dimensions are added from one measurement to the next. */
#define SAMPLED 8u
#define STEP    (2 * AME_LINE_TOGETHER)

bool scan_part_prepare(ty_scanner *s) {
  scan_lines_query *q = &s->lines;
  const uint64_t steps = q->count / AME_LINE_TOGETHER;
  q->margin = MARGIN_FIRST;
  q->missed = ty_arena_take(&s->memory, steps + 1, sizeof *q->missed);
  if (s->memory.failed) return false;
  scan_missed all = {0};
  for (uint64_t i = q->count; i-- > 0;) {
    const bool left_out = TY_PLANTED(PART_NO_REST) || (TY_PLANTED(PART_NO_LAST) && i + 1 == q->count);
    const double x = left_out ? 0 : (double)s->query[q->dims[i]];
    all.sum += fabs(x);
    all.length += x * x;
    if (i % AME_LINE_TOGETHER == 0 && i / AME_LINE_TOGETHER <= steps) q->missed[i / AME_LINE_TOGETHER] = all;
  }
  if (q->count % AME_LINE_TOGETHER == 0) q->missed[steps] = (scan_missed){0};
  scan_missed read = {0};
  for (uint64_t i = 0; i <= q->count; i++) {
    if (i % AME_LINE_TOGETHER == 0) {
      scan_missed *m = &q->missed[i / AME_LINE_TOGETHER];
      *m = (scan_missed){read.sum + m->sum, sqrt(read.length + m->length), read.size};
      if (TY_PLANTED(PART_NARROW_SUM)) m->sum *= 0.999;
      if (TY_PLANTED(PART_NARROW_LENGTH)) m->length *= 0.999;
    }
    if (i == q->count) break;
    const double rest = TY_PLANTED(PART_NO_READ) ? 0 : (double)s->query[q->dims[i]] - s->scale * q->codes[i];
    read.sum += fabs(rest);
    read.length += rest * rest;
    read.size += s->scale * abs(q->codes[i]);
  }
  return true;
}

/* The largest product of each line of the sample, of these the median, in the scale of scores. With a median, a few
 * rows that are like the query do not count. */
static float typical_largest(const ty_scanner *s, const int32_t *products, const float *scales) {
  float sorted[SAMPLED];
  for (uint32_t l = 0; l < SAMPLED; l++) {
    float most = 0;
    uint32_t at = l;
    for (uint32_t i = l * AME_LINE; i < (l + 1) * AME_LINE; i++) {
      const float x = scales[i] * (float)products[i];
      most = x > most ? x : most;
    }
    for (; at > 0 && sorted[at - 1] > most; at--) sorted[at] = sorted[at - 1];
    sorted[at] = most;
  }
  return (float)s->scale * sorted[SAMPLED / 2];
}

bool scan_part_measure(ty_scanner *s, const ame_sparse_block *block, uint64_t first) {
  scan_lines_query *q = &s->lines;
  int32_t products[SAMPLED * AME_LINE];
  const uint64_t steps = q->query.count / AME_LINE_TOGETHER;
  if (s->base->count < s->c->env->parted_least || s->base->count - first < SAMPLED * AME_LINE || q->count <= REST_LEAST)
    return true;
  q->sampled = ty_arena_take(&s->memory, steps + 2, sizeof *q->sampled);
  if (s->memory.failed) return false;
  for (uint64_t i = 0; i < q->query.count; i += STEP) {
    const uint64_t n = q->query.count - i < STEP ? q->query.count - i : STEP, step = i / AME_LINE_TOGETHER;
    const ame_line_query some = {
        .dims = q->query.dims + i, .codes = q->query.codes + i, .count = (size_t)n, .adds = i > 0};
    (void)s->k->dot_sparse(&some, block, (1ull << SAMPLED) - 1, NULL, products);
    q->sampled[step + 1] = q->sampled[step + 2] = typical_largest(s, products, s->base->vertical.scales + first);
  }
  return true;
}

/* Makes the part from the first `count` dimensions. */
static void set_part(ty_scanner *s, uint64_t count) {
  scan_lines_query *q = &s->lines;
  const ame_line_query *all = &q->query;
  q->part = (ame_line_query){.dims = all->dims, .codes = all->codes, .count = (size_t)count};
  q->rest = (ame_line_query){
      .dims = all->dims + count, .codes = all->codes + count, .count = all->count - (size_t)count, .adds = 1};
  for (uint64_t i = 0; i < all->count; i++) *(i < count ? &q->part.sum : &q->rest.sum) += all->codes[i];
  q->part_bound = scan_lines_bound(s, s->base, &q->missed[count / AME_LINE_TOGETHER]);
}

bool scan_part_choose(ty_scanner *s) {
  scan_lines_query *q = &s->lines;
  const ty_vertical *v = &s->base->vertical;
  const double width = (double)v->width_most * (127.0 / 15), norm = (double)v->norm_most;
  if (!q->proved[0] || q->sampled == NULL) return false;
  const uint64_t most = (q->count - REST_LEAST) / AME_LINE_TOGETHER;
  for (uint64_t i = 1; i <= most; i++) {
    const double by_width = q->missed[i].sum * width, by_norm = q->missed[i].length * norm;
    const double half = by_width < by_norm ? by_width : by_norm;
    if (half + q->margin * (double)q->sampled[i] > s->bounds.threshold) continue;
    if (i * AME_LINE_TOGETHER != q->part.count) set_part(s, i * AME_LINE_TOGETHER);
    return true;
  }
  return false;
}

void scan_part_adjust(ty_scanner *s, uint64_t lines, uint64_t of) {
  scan_lines_query *q = &s->lines;
  const double share = of == 0 ? 0 : (double)lines / (double)of;
  if (share > LINES_MANY) q->margin += share < 0.2 ? 0.05 : 0.2;
  if (share < LINES_FEW) q->margin -= 0.03;
  if (q->margin < MARGIN_LEAST) q->margin = MARGIN_LEAST;
  if (q->margin > MARGIN_MOST) q->margin = MARGIN_MOST;
}

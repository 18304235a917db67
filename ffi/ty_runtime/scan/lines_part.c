/* Which dimensions of sparse blocks are read of all rows.
 *
 * A weighted query is large in some dimensions and small in many. So all rows of a block are bounded by a first part of
 * the dimensions, in which the query is largest, as if its codes were 0 in the rest: the rest of the query counts as
 * what the first level misses (lines_query.c), and no row is lost. Only lines with a row whose bound reaches the
 * threshold are read in the rest. Where the threshold is known early (expected.c), questions of 6 words over 1,000,000
 * notes need two thirds of their dimensions of nearly all rows, those of 12 words a third, and the rest are those of
 * which most codes are not zero.
 *
 * The best part leaves few lines: its bound's half width and the largest products with it have to be below the
 * threshold. These are measured with a sample of rows, and corrected from block to block. */
#include "scan/inside.h"

/* What the largest product of a line of the sample is multiplied by: at first, and the limits. */
#define APART_FIRST 1.4
#define APART_LEAST 0.5
#define APART_MOST  3.0
/* Of a block's lines, those that are read in all dimensions: from so many on the part is enlarged, and below so many it
 * gets smaller. Where one line is read all runs of its block have to be gone through, which takes half as long as to
 * read them. */
#define LINES_MANY 0.015
#define LINES_FEW  0.003
/* A smaller rest is read at once. */
#define REST_LEAST 8u
/* Lines of the sample, and dimensions between its measures. */
#define SAMPLED 8u
#define STEP    (2 * AME_LINE_TOGETHER)

bool scan_part_prepare(ty_scanner *s) {
  scan_lines_query *q = &s->lines;
  const uint64_t steps = q->count / AME_LINE_TOGETHER;
  q->apart = APART_FIRST;
  q->missed = ty_arena_take(&s->memory, steps + 1, sizeof *q->missed);
  if (s->memory.failed) return false;
  scan_missed all = {0};
  for (uint64_t i = q->count; i-- > 0;) {
    const double x = (double)s->query[q->dims[i]];
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
    }
    if (i == q->count) break;
    const double rest = (double)s->query[q->dims[i]] - s->scale * q->codes[i];
    read.sum += fabs(rest);
    read.length += rest * rest;
    read.size += s->scale * abs(q->codes[i]);
  }
  return true;
}

/* The median over lines of the largest product of each, in the scale of scores. The lines of rows that are like the
 * query do not count so. */
static float largest(const ty_scanner *s, const int32_t *products, const float *scales) {
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
  q->reach = ty_arena_take(&s->memory, steps + 2, sizeof *q->reach);
  if (s->memory.failed) return false;
  for (uint64_t i = 0; i < q->query.count; i += STEP) {
    const uint64_t n = q->query.count - i < STEP ? q->query.count - i : STEP, step = i / AME_LINE_TOGETHER;
    const ame_line_query some = {
        .dims = q->query.dims + i, .codes = q->query.codes + i, .count = (size_t)n, .adds = i > 0};
    (void)s->k->dot_sparse(&some, block, (1ull << SAMPLED) - 1, NULL, products);
    q->reach[step + 1] = q->reach[step + 2] = largest(s, products, s->base->vertical.scales + first);
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
  if (!q->proved[0] || q->reach == NULL) return false;
  const uint64_t most = (q->count - REST_LEAST) / AME_LINE_TOGETHER;
  for (uint64_t i = 1; i <= most; i++) {
    const double by_width = q->missed[i].sum * width, by_norm = q->missed[i].length * norm;
    const double half = by_width < by_norm ? by_width : by_norm;
    if (half + q->apart * (double)q->reach[i] > s->bounds.threshold) continue;
    if (i * AME_LINE_TOGETHER != q->part.count) set_part(s, i * AME_LINE_TOGETHER);
    return true;
  }
  return false;
}

void scan_part_learn(ty_scanner *s, uint64_t lines, uint64_t of) {
  scan_lines_query *q = &s->lines;
  const double share = of == 0 ? 0 : (double)lines / (double)of;
  if (share > LINES_MANY) q->apart += share < 0.2 ? 0.05 : 0.2;
  if (share < LINES_FEW) q->apart -= 0.03;
  if (q->apart < APART_LEAST) q->apart = APART_LEAST;
  if (q->apart > APART_MOST) q->apart = APART_MOST;
}

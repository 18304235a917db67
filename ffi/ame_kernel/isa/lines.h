/* Vertical codes, on every path but the scalar one. A path defines before it includes this:
 *
 *   bytes, LINE_PARTS     a vector of bytes, and how many of them a line is
 *   take(x)               bytes from memory
 *   interleave(x, out)    within 16 bytes each: of bytes 4 i .. 4 i + 3 of four vectors, vector i of four
 *   low_four, high_four   of each byte
 *   line_start(q)         what a sum of times8 starts with
 *   times8, times4        adds to each 32-bit lane four products of bytes by the query's four codes
 *   every(x)              counts that are all x
 *   put_counts(out, x)    counts to memory
 *   take_counts, numbers  counts from memory; counts as floats
 *   lanes, LANES, all, load, load_some, absolute, smaller, not_below, steps   as in rows.h and screen_i4.h */
#pragma once

#include "isa/i4.h"

/* Lines prefetched ahead, into the second cache: 94,528 rows and 76 dimensions take 0.34 ms like this, 0.37 two lines
 * ahead, 0.53 eight ahead, 0.46 with none or with a prefetch into the first cache. */
#define LINES_AHEAD 3

#define LINE_PART (AME_LINE / LINE_PARTS)

/* How far from this block the line lies that is wanted LINES_AHEAD lines from now. */
ISA_INLINE size_t ahead_of(size_t line, size_t lines, size_t next) {
  size_t at = line + LINES_AHEAD;
  if (at < lines || next == 0) return at * AME_LINE;
  return at / lines * next + at % lines * AME_LINE;
}

/* The rows of one line, in eight bits or (`narrow`) four. Sums stay in registers over all dimensions: to add four
 * dimensions at a time to sums in memory is 1.1 times slower from 200 dimensions on. In four bits AVX2 has too few
 * registers for them: half a line at a time is 1.2 times slower from memory from 200 dimensions on. */
ISA_INLINE void dot_line(const ame_line_query *q, int32_t start, const uint8_t *block, size_t run, size_t line,
                         size_t ahead, int narrow, int32_t *dots) {
  counts sums[2][LINE_PARTS][4];
  ISA_UNROLL
  for (int h = 0; h <= narrow; h++) {
    ISA_UNROLL
    for (int p = 0; p < LINE_PARTS; p++) {
      for (int i = 0; i < 4; i++) sums[h][p][i] = every(start);
    }
  }
  const uint8_t *at = block + line * AME_LINE;
  for (size_t d = 0; d < q->count; d += AME_LINE_TOGETHER) {
    const int32_t quad = i4_four(q->codes + d);
    const size_t from[4] = {q->dims[d] * run, q->dims[d + 1] * run, q->dims[d + 2] * run, q->dims[d + 3] * run};
    for (int i = 0; i < 4; i++) __builtin_prefetch((const void *)((uintptr_t)block + ahead + from[i]), 0, 2);
    ISA_UNROLL
    for (int p = 0; p < LINE_PARTS; p++) {
      bytes x[4], rows[4];
      for (int i = 0; i < 4; i++) x[i] = take(at + from[i] + (size_t)p * LINE_PART);
      interleave(x, rows);
      for (int i = 0; i < 4; i++) {
        if (narrow) {
          sums[0][p][i] = times4(sums[0][p][i], low_four(rows[i]), quad);
          sums[1][p][i] = times4(sums[1][p][i], high_four(rows[i]), quad);
        } else {
          sums[0][p][i] = times8(sums[0][p][i], rows[i], quad);
        }
      }
    }
  }
  ISA_UNROLL
  for (int h = 0; h <= narrow; h++) {
    ISA_UNROLL
    for (int p = 0; p < LINE_PARTS; p++) {
      for (int i = 0; i < 4; i++) put_counts(dots + 64 * h + 16 * i + p * (16 / LINE_PARTS), sums[h][p][i]);
    }
  }
}

ISA_INLINE void dot_some(const ame_line_query *q, const uint8_t *block, size_t run, size_t first, size_t n, size_t next,
                         int narrow, int32_t *dots) {
  const int32_t start = narrow ? 0 : line_start(q);
  for (size_t i = 0; i < n; i++, dots += AME_LINE_ROWS(narrow ? 4 : 8))
    dot_line(q, start, block, run, first + i, ahead_of(first + i, run / AME_LINE, next), narrow, dots);
}

static void dot_lines(const ame_line_query *q, const uint8_t *block, size_t run, size_t first, size_t n, size_t next,
                      int32_t *dots) {
  dot_some(q, block, run, first, n, next, 0, dots);
}

static void dot_lines_i4(const ame_line_query *q, const uint8_t *block, size_t run, size_t first, size_t n, size_t next,
                         int32_t *dots) {
  dot_some(q, block, run, first, n, next, 1, dots);
}

/* Upper bounds of LANES rows: see ame_line_bound. */
ISA_INLINE lanes line_bounds(const ame_line_bound *b, counts products, lanes scale, const lanes *offset) {
  if (offset == NULL)
    return scale * (all(b->by) * numbers(products)) + smaller(scale * all(b->per_scale), all(b->most)) + all(b->each);
  lanes width = (absolute(*offset) + all(15) * scale) * all(b->per_scale);
  return *offset * all(b->by_offset) + scale * (all(b->by) * steps(products, 15 * b->sum)) +
         smaller(width, all(b->most)) + all(b->each);
}

static void screen_lines(const ame_line_bound *b, const int32_t *dots, const float *scales, const float *offsets,
                         size_t n, float threshold, uint64_t *survivors) {
  for (size_t first = 0; first < n; first += 64) {
    uint64_t mask = 0;
    for (size_t r = 0; r < 64 && first + r < n; r += LANES) {
      const size_t at = first + r, left = n - at < LANES ? n - at : LANES;
      int32_t last[LANES] = {0};
      if (left < LANES) memcpy(last, dots + at, left * sizeof *dots);
      lanes offset = offsets == NULL ? (lanes){0} : load_some(offsets + at, left);
      lanes upper = line_bounds(b, take_counts(left < LANES ? last : dots + at), load_some(scales + at, left),
                                offsets == NULL ? NULL : &offset);
      mask |= (uint64_t)not_below(upper, threshold) << r;
    }
    if (n - first < 64) mask &= ((uint64_t)1 << (n - first)) - 1;
    survivors[first / 64] = mask;
  }
}

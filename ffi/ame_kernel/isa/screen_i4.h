/* Four-bit screening on the paths that have vector registers. A path's file includes this after it has defined, beside
 * the lanes, load and absolute of rows.h,
 *
 *   counts                      a register of 32-bit sums of LANES rows
 *   all(x)                      x in every lane
 *   above(v, least)             the larger of both, `least` where v is not a number
 *   root(v), smaller(a, b)      of each lane
 *   not_below(v, least)         bit l: lane l is not below `least`, or is not a number
 *   dots(q, block, groups, ahead, dot)
 *                               inner products of a block's codes, LANES rows in each of dot[SHARES]; for each line
 *                               that it reads, it prefetches the line `ahead` bytes later; 0: none
 *   steps(dot, sum15)           2 dot - sum15, as floats */
#pragma once

#include "isa/i4.h"

#define SHARES ((int)AME_BLOCK_ROWS / LANES)

/* How many bytes ahead of what is read a prefetch is, if so many follow. By itself a CPU reads ahead as far as its
 * window of instructions reaches: about a block of 384 dimensions, which is too little to keep memory busy. 1,000,000 x
 * 384 take 5.8 ms with the prefetch, as long as only reading them, and 8.9 without. 100,000 of them, in the L3 cache,
 * take 0.35 ms, and 0.43 without. 1, 2 and 4 KB ahead are slower, and so is prefetching the lines of a block together,
 * or only into the L2 cache. With blocks of fewer bytes than I4_LONG, which is 128 dimensions, a prefetch gains nothing
 * from memory, and loses 6 % from the L3 cache. */
#define I4_AHEAD ((size_t)8192)
#define I4_LONG  ((size_t)1536)

/* The terms of the bounds of LANES rows. */
typedef struct share {
  lanes product, middle, err, norm, rest, size;
} share;

ISA_INLINE share share_of(const i4_screen *s, const float *columns, lanes step) {
  share r;
  lanes bias = load(columns + I4_BIAS);
  r.err = load(columns + I4_ERR);
  r.norm = load(columns + I4_NORM);
  r.product = all(s->scale) * (load(columns + I4_OFFSET) * all(s->sum) + load(columns + I4_SCALE) * step);
  r.middle = r.product + bias;
  r.rest = r.norm * all(s->per_norm);
  r.size = absolute(bias) * all(s->per_bias);
  return r;
}

ISA_INLINE lanes half_of(const i4_screen *s, const share *r, lanes across) {
  return r->err * (across + all(s->per_err)) + r->rest + r->size;
}

static void screen_i4(const ame_i4_query *q, const uint8_t *blocks, size_t n, size_t next, size_t dim, float threshold,
                      uint16_t *survivors, float *middle, float *half) {
  const size_t groups = (dim + 7) / 8, bytes = AME_BLOCK_BYTES(dim);
  const i4_screen s = i4_screen_of(q, threshold);
  for (size_t i = 0; i < n; i++) {
    const uint8_t *block = blocks + i * bytes;
    const float *columns = (const float *)(const void *)(block + 64 * groups);
    counts dot[SHARES];
    const size_t left = (n - i - 1 + next) * bytes;
    if (bytes >= I4_LONG && left >= I4_AHEAD) {
      for (size_t c = 0; c < 5; c++) __builtin_prefetch(block + 64 * (groups + c) + I4_AHEAD);
      dots(q->codes, block, groups, I4_AHEAD, dot);
    } else {
      dots(q->codes, block, groups, 0, dot);
    }
    share r[SHARES];
    uint32_t mask = 0;
    for (int h = 0; h < SHARES; h++) {
      r[h] = share_of(&s, columns + LANES * h, steps(dot[h], s.sum15));
      /* With `rest` instead of `across` the width is at least the exact one, also in f32, as every step is monotone. So
       * the root and the division are computed only for blocks in which a row passes this test. */
      mask |= not_below(r[h].middle + half_of(&s, &r[h], all(s.rest)), s.threshold);
    }
    if (mask) {
      lanes width[SHARES];
      mask = 0;
      for (int h = 0; h < SHARES; h++) {
        lanes along = r[h].product / r[h].norm;
        lanes across = root(above(all(s.square) - along * along, s.floor));
        width[h] = half_of(&s, &r[h], smaller(across, all(s.rest)));
        mask |= not_below(r[h].middle + width[h], s.threshold) << LANES * h;
      }
      for (int h = 0; mask && h < SHARES; h++) {
        memcpy(middle + i * AME_BLOCK_ROWS + LANES * h, &r[h].middle, sizeof(lanes));
        memcpy(half + i * AME_BLOCK_ROWS + LANES * h, &width[h], sizeof(lanes));
      }
    }
    survivors[i] = (uint16_t)mask;
  }
}

/* Screening by signs on the paths that have vector registers. A path's file includes this after it has defined, beside
 * what screen_i4.h needs,
 *
 *   sign_tile(tables, lines, n, sums)  adds what n lines of 64 bytes select to the sums of sixteen rows, n at most
 *                                      SIGN_LINES
 *
 * Two tables' entries are added in a byte, and a path may add a row's sums in 16 bits before it widens them. */
#pragma once

#include "isa/isa.h"

#define SIGN_LINES ((size_t)64)
_Static_assert(2 * AME_SIGN_ENTRY < 256 && 2 * AME_SIGN_ENTRY * 4 * SIGN_LINES < 65536, "sums fit 16 bits");

static void screen_signs(const ame_sign_query *q, const uint8_t *blocks, size_t n, size_t dim, float threshold,
                         uint16_t *survivors, float *values) {
  const size_t lines = AME_SIGN_LINES(dim);
  const lanes scale = all(q->scale), along = all(q->along), across = all(q->across);
  for (size_t i = 0; i < n; i++) {
    const uint8_t *block = blocks + i * AME_SIGN_BLOCK_BYTES(dim);
    const float *columns = (const float *)(const void *)(block + 64 * lines);
    counts sums[SHARES];
    uint32_t mask = 0;
    for (int h = 0; h < SHARES; h++) sums[h] = every(-(int32_t)(AME_SIGN_ENTRY / 2 * 8 * lines));
    for (size_t from = 0; from < lines; from += SIGN_LINES)
      sign_tile(q->tables + 128 * from, block + 64 * from, lines - from < SIGN_LINES ? lines - from : SIGN_LINES, sums);
    for (int h = 0; h < SHARES; h++) {
      const float *x = columns + LANES * h;
      lanes value = along * load(x) + scale * load(x + 16) * numbers(sums[h]) + across * load(x + 32);
      mask |= not_below(value, threshold) << LANES * h;
      if (values != NULL) memcpy(values + i * AME_BLOCK_ROWS + LANES * h, &value, sizeof value);
    }
    survivors[i] = (uint16_t)mask;
  }
}

/* A row without its zeros, on every path but the scalar one. sparse.h lists what a path defines before it includes
 * this. `squeeze` writes and `spread_zero` reads 64 bytes, however few they need: the last ones go through a copy. */
#pragma once

#include "sparse/sparse.h"

static void squeeze_row(const int8_t *codes, size_t dim, size_t count, uint8_t *bits, uint8_t *out) {
  for (size_t first = 0; first < dim; first += AME_LINE) {
    const size_t wide = dim - first < AME_LINE ? dim - first : AME_LINE;
    const uint8_t *from = (const uint8_t *)codes + first;
    uint8_t some[AME_LINE];
    if (wide < AME_LINE) {
      memset(some, 0, sizeof some);
      memcpy(some, from, wide);
      from = some;
    }
    const uint64_t mask = occupied(from);
    size_t filled = (size_t)__builtin_popcountll(mask);
    memcpy(bits + first / 8, &mask, (wide + 7) / 8);
    if (count >= AME_LINE) {
      squeeze(from, 0, mask, out);
    } else {
      uint8_t last[AME_LINE];
      squeeze(from, 0, mask, last);
      filled = filled < count ? filled : count;
      memcpy(out, last, filled);
    }
    out += filled;
    count -= filled;
  }
}

static void spread_row(const uint8_t *bits, const uint8_t *packed, size_t count, size_t dim, int8_t *codes) {
  uint8_t last[2 * AME_LINE] = {0}; /* the last codes, and zeros in place of those that are missing */
  int copied = 0;
  for (size_t first = 0; first < dim; first += AME_LINE) {
    const size_t wide = dim - first < AME_LINE ? dim - first : AME_LINE;
    uint64_t mask = 0;
    memcpy(&mask, bits + first / 8, (wide + 7) / 8);
    if (wide < AME_LINE) mask &= ((uint64_t)1 << wide) - 1;
    if (!copied && count < AME_LINE) {
      memcpy(last, packed, count);
      packed = last;
      copied = 1;
    }
    const size_t filled = (size_t)__builtin_popcountll(mask);
    if (wide == AME_LINE) {
      spread_zero(packed, mask, (uint8_t *)codes + first);
    } else {
      uint8_t some[AME_LINE];
      spread_zero(packed, mask, some);
      memcpy(codes + first, some, wide);
    }
    const size_t taken = filled < count ? filled : count;
    packed += taken;
    count -= taken;
    if (copied && count == 0) packed = last + AME_LINE;
  }
}

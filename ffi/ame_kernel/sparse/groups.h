/* Spreading and squeezing by a table, eight or sixteen bytes at a time. A path defines before it includes this:
 *
 *   half                          sixteen bytes
 *   put_half(out, x)              writes them to memory
 *   spread16(p, bits, flip)       spreads bytes of p, each ^ flip, by sixteen bits, between zeros; reads 16 bytes
 *   squeeze8(x, flip, bits, to)   squeezes eight bytes, each ^ flip, by eight bits; writes eight bytes */
#pragma once

#include "sparse/sparse.h"

ISA_INLINE void spread_zero(const uint8_t *p, uint64_t mask, uint8_t *out) {
  for (int i = 0; i < 4; i++) {
    const uint32_t bits = mask >> 16 * i & 0xffff;
    put_half(out + 16 * i, spread16(p, bits, 0));
    p += __builtin_popcount(bits);
  }
}

/* The codes are spread between zeros; then 128 is added to every byte, as in a line. */
ISA_INLINE void put_spread(const uint8_t **p, uint64_t mask, uint8_t *out) {
  uint8_t codes[AME_LINE];
  for (int i = 0; i < 4; i++) {
    const uint32_t bits = mask >> 16 * i & 0xffff;
    put_half(codes + 16 * i, spread16(*p, bits, 0x80));
    *p += __builtin_popcount(bits);
  }
  for (size_t i = 0; i < AME_LINE; i++) out[i] = codes[i] ^ 0x80;
}

ISA_INLINE void squeeze(const uint8_t *x, uint8_t flip, uint64_t mask, uint8_t *to) {
  for (int i = 0; i < 8; i++) {
    const uint32_t bits = mask >> 8 * i & 255;
    squeeze8(x + 8 * i, flip, bits, to);
    to += __builtin_popcount(bits);
  }
}

ISA_INLINE size_t count_masks(const uint64_t masks[8], size_t from, size_t end) {
  size_t count = 0;
  for (size_t i = from; i < end; i++) count += (size_t)__builtin_popcountll(masks[i]);
  return count;
}

/* Sparse lines by NEON: this one source is compiled into neon.c and into neon_dot.c, as isa/neon.h is. */
#pragma once

#include "isa/bytes_neon.h"
#include "sparse/sparse.h"

#define SPARSE_TOGETHER 1
#define SPARSE_SCATTER  16

typedef uint8x16_t half;
ISA_INLINE void put_half(uint8_t *out, half x) { vst1q_u8(out, x); }

/* The second eight places take their codes after those of the first eight, so that many are added to the table's
 * numbers. 0x80 plus at most eight still selects no byte. */
ISA_INLINE half spread16(const uint8_t *p, uint32_t bits, uint8_t flip) {
  const uint32_t low = bits & 255;
  const uint8x8_t more = vdup_n_u8((uint8_t)__builtin_popcount(low));
  const uint8x8_t high = vadd_u8(vld1_u8(sparse_groups.spread[bits >> 8]), more);
  return vqtbl1q_u8(veorq_u8(vld1q_u8(p), vdupq_n_u8(flip)), vcombine_u8(vld1_u8(sparse_groups.spread[low]), high));
}

ISA_INLINE bytes spread(const uint8_t **p, uint64_t mask, int part) {
  const uint32_t bits = mask >> 16 * part & 0xffff;
  const bytes x = spread16(*p, bits, 0x80);
  *p += __builtin_popcount(bits);
  return x;
}
/* `spread` has made the codes themselves, signed, which `times4` takes. */
ISA_INLINE counts spread_times(counts acc, bytes x, int32_t quad) { return times4(acc, x, quad); }

ISA_INLINE void put_places(uint16_t *out, const uint8_t *x, uint32_t first) {
  vst1q_u16(out, vaddw_u8(vdupq_n_u16((uint16_t)first), vld1_u8(x)));
}
ISA_INLINE uint64_t occupied(const uint8_t *x) {
  static const uint8_t bits[16] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
  uint64_t mask = 0;
  for (int i = 0; i < 8; i += 2) {
    uint8x16_t v = take(x + 8 * i), there = vandq_u8(vtstq_u8(v, v), vld1q_u8(bits));
    mask |= (uint64_t)vaddv_u8(vget_low_u8(there)) << 8 * i | (uint64_t)vaddv_u8(vget_high_u8(there)) << (8 * i + 8);
  }
  return mask;
}
ISA_INLINE void squeeze8(const uint8_t *x, uint8_t flip, uint32_t bits, uint8_t *to) {
  vst1_u8(to, vtbl1_u8(veor_u8(vld1_u8(x), vdup_n_u8(flip)), vld1_u8(sparse_groups.squeeze[bits])));
}

/* Interleaving row i with row i + 8, four times, transposes sixteen rows of sixteen bytes. */
ISA_INLINE void transpose16(const uint8_t *const in[16], uint8_t *out) {
  uint8x16_t x[16], y[16];
  for (int i = 0; i < 16; i++) x[i] = vld1q_u8(in[i]);
  for (int round = 0; round < 4; round++) {
    for (int i = 0; i < 8; i++) {
      y[2 * i] = vzip1q_u8(x[i], x[i + 8]);
      y[2 * i + 1] = vzip2q_u8(x[i], x[i + 8]);
    }
    memcpy(x, y, sizeof x);
  }
  for (int i = 0; i < 16; i++) vst1q_u8(out + 64 * i, x[i]);
}

#include "sparse/groups.h"
#include "sparse/put.h"

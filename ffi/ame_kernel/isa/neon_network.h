/* What network.h needs of NEON. Included by neon.h, after dot16. */
#pragma once

#include "isa/i4.h"

#include <arm_neon.h>

typedef int8_t code;
#define GROUPS 1

/* Weights are 128 too large each: with the highest bit turned they are signed. */
#if defined(__ARM_FEATURE_DOTPROD)
#define TOKENS 4
ISA_INLINE void linear_sums(const uint8_t *weights, size_t in, const code *codes, const isa_token *info, int count,
                            int32_t out[TOKENS][16 * GROUPS]) {
  (void)info;
  int32x4_t acc[TOKENS][4];
  for (int i = 0; i < count; i++) {
    for (int c = 0; c < 4; c++) acc[i][c] = vdupq_n_s32(0);
  }
  for (size_t k = 0; k < in; k += 4) {
    int8x16_t w[4];
    for (int c = 0; c < 4; c++)
      w[c] = vreinterpretq_s8_u8(veorq_u8(vld1q_u8(weights + 16 * k + 16 * (size_t)c), vdupq_n_u8(0x80)));
    for (int i = 0; i < count; i++) {
      int8x16_t x = vreinterpretq_s8_s32(vdupq_n_s32(i4_four(codes + (size_t)i * in + k)));
      for (int c = 0; c < 4; c++) acc[i][c] = vdotq_s32(acc[i][c], w[c], x);
    }
  }
  for (int i = 0; i < count; i++) {
    for (int c = 0; c < 4; c++) vst1q_s32(out[i] + 4 * c, acc[i][c]);
  }
}
#else
#define TOKENS 2
/* Two products of at most 127 x 127 fit 16 bits. A register has two columns, two sums each. */
ISA_INLINE void linear_sums(const uint8_t *weights, size_t in, const code *codes, const isa_token *info, int count,
                            int32_t out[TOKENS][16 * GROUPS]) {
  (void)info;
  int32x4_t acc[TOKENS][8];
  for (int i = 0; i < count; i++) {
    for (int c = 0; c < 8; c++) acc[i][c] = vdupq_n_s32(0);
  }
  for (size_t k = 0; k < in; k += 8) {
    int8x8_t x0[TOKENS], x1[TOKENS];
    for (int i = 0; i < count; i++) {
      x0[i] = vreinterpret_s8_s32(vdup_n_s32(i4_four(codes + (size_t)i * in + k)));
      x1[i] = vreinterpret_s8_s32(vdup_n_s32(i4_four(codes + (size_t)i * in + k + 4)));
    }
    for (int c = 0; c < 8; c++) {
      const uint8_t *at = weights + 16 * k + 8 * (size_t)c;
      int8x8_t w0 = vreinterpret_s8_u8(veor_u8(vld1_u8(at), vdup_n_u8(0x80)));
      int8x8_t w1 = vreinterpret_s8_u8(veor_u8(vld1_u8(at + 64), vdup_n_u8(0x80)));
      for (int i = 0; i < count; i++) acc[i][c] = vpadalq_s16(acc[i][c], vmlal_s8(vmull_s8(w0, x0[i]), w1, x1[i]));
    }
  }
  for (int i = 0; i < count; i++) {
    for (int c = 0; c < 8; c += 2) vst1q_s32(out[i] + 2 * c, vpaddq_s32(acc[i][c], acc[i][c + 1]));
  }
}
#endif

ISA_INLINE void record_products(const int8_t *q, const uint8_t *const rows[4], int32_t out[4]) {
  int32x4_t acc[4];
  for (int r = 0; r < 4; r++) acc[r] = vdupq_n_s32(0);
  for (size_t j = 0; j < 128; j += 16) {
    int8x16_t v = vld1q_s8(q + j);
    for (int r = 0; r < 4; r++) acc[r] = dot16(acc[r], v, vreinterpretq_s8_u8(vld1q_u8(rows[r] + j)));
  }
  for (int r = 0; r < 4; r++) out[r] = vaddvq_s32(acc[r]);
}

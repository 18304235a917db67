/* NEON: this one source is compiled into neon.c for every AArch64 CPU and into neon_dot.c for those with the int8
 * product instruction, which have the CRC one as well. Without it bytes are multiplied into 16 bits. */
#pragma once

#include "isa/bytes_neon.h"
#include "isa/document.h"
#include "isa/i4.h"
#include "isa/quantize_i4.h"
#include "isa/rotate.h"

#include <arm_neon.h>
#if defined(__ARM_FEATURE_CRC32)
#include <arm_acle.h>
#endif

typedef float32x4_t lanes;
#define LANES 4
#define TILE  4
#define BLOCK 4

ISA_INLINE lanes all(float x) { return vdupq_n_f32(x); }
ISA_INLINE lanes load(const float *x) { return vld1q_f32(x); }
ISA_INLINE lanes load_some(const float *x, size_t left) {
  float t[4] = {0, 0, 0, 0};
  memcpy(t, x, (left < 4 ? left : 4) * sizeof(float));
  return vld1q_f32(t);
}
ISA_INLINE lanes load_halves(const uint16_t *x) { return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(x))); }
ISA_INLINE lanes fused(lanes a, lanes b, lanes sum) { return vfmaq_f32(sum, a, b); }
ISA_INLINE lanes absolute(lanes v) { return vabsq_f32(v); }
ISA_INLINE lanes larger(lanes a, lanes b) { return vmaxq_f32(a, b); }
ISA_INLINE lanes smaller(lanes a, lanes b) { return vminq_f32(a, b); }
ISA_INLINE lanes above(lanes v, float least) {
  return vbslq_f32(vcgtq_f32(v, vdupq_n_f32(least)), v, vdupq_n_f32(least));
}
ISA_INLINE lanes root(lanes v) { return vsqrtq_f32(v); }
ISA_INLINE float total(lanes v) {
  float32x2_t s = vadd_f32(vget_low_f32(v), vget_high_f32(v));
  return vget_lane_f32(s, 0) + vget_lane_f32(s, 1);
}
ISA_INLINE float largest(lanes v) { return vmaxvq_f32(v); }
ISA_INLINE uint32_t not_below(lanes v, float least) {
  static const uint32_t bits[4] = {1, 2, 4, 8};
  return vaddvq_u32(vbicq_u32(vld1q_u32(bits), vcltq_f32(v, vdupq_n_f32(least))));
}

ISA_INLINE int32x4_t dot16(int32x4_t acc, int8x16_t a, int8x16_t b) {
#if defined(__ARM_FEATURE_DOTPROD)
  return vdotq_s32(acc, a, b);
#else
  /* Two products of at most 127 x 127 fit 16 bits. */
  int16x8_t p = vmull_s8(vget_low_s8(a), vget_low_s8(b));
  p = vmlal_high_s8(p, a, b);
  return vpadalq_s16(acc, p);
#endif
}

ISA_INLINE void dot_i8_block(const int8_t *q, const int8_t *codes, size_t stride, int count, int32_t *out) {
  int32x4_t a[4], b[4];
  for (int r = 0; r < count; r++) a[r] = b[r] = vdupq_n_s32(0);
  for (size_t j = 0; j < stride; j += 32) {
    int8x16_t q0 = vld1q_s8(q + j), q1 = vld1q_s8(q + j + 16);
    for (int r = 0; r < count; r++) {
      const int8_t *c = codes + (size_t)r * stride + j;
      a[r] = dot16(a[r], q0, vld1q_s8(c));
      b[r] = dot16(b[r], q1, vld1q_s8(c + 16));
    }
  }
  for (int r = 0; r < count; r++) out[r] = vaddvq_s32(vaddq_s32(a[r], b[r]));
}

/* Two codes as int64, and their squared errors added to acc. Every step is the scalar one, lane by lane. */
ISA_INLINE int64x2_t code2(float64x2_t x, float64x2_t inverse, float64x2_t step, float64x2_t *acc) {
  const uint64x2_t sign = vdupq_n_u64((uint64_t)1 << 63);
  float64x2_t t = vmulq_f64(x, inverse);
  float64x2_t half = vbslq_f64(sign, t, vdupq_n_f64(0.5));
  int64x2_t c = vcvtq_s64_f64(vaddq_f64(t, half));
  float64x2_t d = vsubq_f64(x, vmulq_f64(step, vcvtq_f64_s64(c)));
  *acc = vaddq_f64(*acc, vmulq_f64(d, d));
  return c;
}

static size_t code_row(const float *row, size_t dim, isa_scale s, int8_t *codes, double *lane, int64_t *squares) {
  float64x2_t inverse = vdupq_n_f64(s.inverse), step = vdupq_n_f64(s.step);
  float64x2_t acc[4];
  for (int h = 0; h < 4; h++) acc[h] = vdupq_n_f64(0);
  int32x4_t sum = vdupq_n_s32(0);
  size_t j = 0;
  for (; j + 8 <= dim; j += 8) {
    float32x4_t x0 = load(row + j), x1 = load(row + j + 4);
    int32x4_t c0 = vcombine_s32(vmovn_s64(code2(vcvt_f64_f32(vget_low_f32(x0)), inverse, step, &acc[0])),
                                vmovn_s64(code2(vcvt_high_f64_f32(x0), inverse, step, &acc[1])));
    int32x4_t c1 = vcombine_s32(vmovn_s64(code2(vcvt_f64_f32(vget_low_f32(x1)), inverse, step, &acc[2])),
                                vmovn_s64(code2(vcvt_high_f64_f32(x1), inverse, step, &acc[3])));
    sum = vmlaq_s32(vmlaq_s32(sum, c0, c0), c1, c1);
    vst1_s8(codes + j, vmovn_s16(vcombine_s16(vmovn_s32(c0), vmovn_s32(c1))));
  }
  memcpy(lane, acc, sizeof acc);
  *squares = vaddlvq_s32(sum);
  return j;
}

static uint32_t crc32c(uint32_t crc, const void *data, size_t bytes) {
#if defined(__ARM_FEATURE_CRC32)
  const uint8_t *p = data;
  uint32_t c = ~crc;
  for (; bytes >= 8; bytes -= 8, p += 8) {
    uint64_t v;
    memcpy(&v, p, 8);
    c = __crc32cd(c, v);
  }
  for (; bytes; bytes--, p++) c = __crc32cb(c, *p);
  return ~c;
#else
  return isa_scalar.crc32c(crc, data, bytes);
#endif
}

ISA_INLINE int32x4_t add_products(int32x4_t sum, int16x8_t a, int16x8_t b) {
  return vmlal_high_s16(vmlal_s16(sum, vget_low_s16(a), vget_low_s16(b)), a, b);
}

static void i4_count(const int16_t *z, size_t padded, i4_grid grid, int32_t out[3]) {
  const uint16x8_t first = vdupq_n_u16(grid.first), per = vdupq_n_u16(grid.per), most = vdupq_n_u16(4095);
  int32x4_t sum = vdupq_n_s32(0), squares = sum, cross = sum;
  for (size_t j = 0; j < padded; j += 8) {
    int16x8_t x = vld1q_s16(z + j);
    uint16x8_t above = vqsubq_u16(vreinterpretq_u16_s16(x), first);
    uint32x4_t low = vmull_u16(vget_low_u16(above), vget_low_u16(per)), high = vmull_high_u16(above, per);
    uint16x8_t t = vuzp2q_u16(vreinterpretq_u16_u32(low), vreinterpretq_u16_u32(high));
    int16x8_t f = vreinterpretq_s16_u16(vshrq_n_u16(vminq_u16(t, most), 8));
    sum = vpadalq_s16(sum, f);
    squares = add_products(squares, f, f);
    cross = add_products(cross, f, x);
  }
  out[0] = vaddvq_s32(sum);
  out[1] = vaddvq_s32(squares);
  out[2] = vaddvq_s32(cross);
}

ISA_INLINE int8x16_t four(const int8_t *q) { return vreinterpretq_s8_s32(vdupq_n_s32(i4_four(q))); }

/* Adds the products of `count` groups (at most 8) to the sums of rows 4h .. 4h + 3. */
ISA_INLINE void add_groups(const int8_t *q, const uint8_t *groups, int count, size_t ahead, int32x4_t dot[4]) {
  const uint8x16_t mask = vdupq_n_u8(15);
#if defined(__ARM_FEATURE_DOTPROD)
  /* The high codes have sums of their own: each product depends on the sum before it, and a group has two products a
   * row. */
  int32x4_t upper[4];
  for (int h = 0; h < 4; h++) upper[h] = vdupq_n_s32(0);
  for (int g = 0; g < count; g++) {
    int8x16_t a = four(q + 8 * g), b = four(q + 8 * g + 4);
    if (ahead > 0) __builtin_prefetch(groups + 64 * g + ahead);
    for (int h = 0; h < 4; h++) {
      uint8x16_t x = vld1q_u8(groups + 64 * g + 16 * h);
      dot[h] = vdotq_s32(dot[h], vreinterpretq_s8_u8(vandq_u8(x, mask)), a);
      upper[h] = vdotq_s32(upper[h], vreinterpretq_s8_u8(vshrq_n_u8(x, 4)), b);
    }
  }
  for (int h = 0; h < 4; h++) dot[h] = vaddq_s32(dot[h], upper[h]);
#else
  /* A product is at most 15 * 127 = 1,905: the sixteen of eight groups stay below 2^15. */
  int16x8_t left[4], right[4];
  for (int h = 0; h < 4; h++) left[h] = right[h] = vdupq_n_s16(0);
  for (int g = 0; g < count; g++) {
    int8x16_t a = four(q + 8 * g), b = four(q + 8 * g + 4);
    if (ahead > 0) __builtin_prefetch(groups + 64 * g + ahead);
    for (int h = 0; h < 4; h++) {
      uint8x16_t x = vld1q_u8(groups + 64 * g + 16 * h);
      int8x16_t low = vreinterpretq_s8_u8(vandq_u8(x, mask)), high = vreinterpretq_s8_u8(vshrq_n_u8(x, 4));
      left[h] = vmlal_s8(vmlal_s8(left[h], vget_low_s8(low), vget_low_s8(a)), vget_low_s8(high), vget_low_s8(b));
      right[h] = vmlal_high_s8(vmlal_high_s8(right[h], low, a), high, b);
    }
  }
  for (int h = 0; h < 4; h++) dot[h] = vaddq_s32(dot[h], vpaddq_s32(vpaddlq_s16(left[h]), vpaddlq_s16(right[h])));
#endif
}

ISA_INLINE void dots(const int8_t *q, const uint8_t *block, size_t groups, size_t ahead, counts dot[4]) {
  for (int h = 0; h < 4; h++) dot[h] = vdupq_n_s32(0);
  size_t g = 0;
  for (; g + 8 <= groups; g += 8) add_groups(q + 8 * g, block + 64 * g, 8, ahead, dot);
  for (; g < groups; g++) add_groups(q + 8 * g, block + 64 * g, 1, ahead, dot);
}

ISA_INLINE lanes steps(counts dot, int32_t sum15) {
  return vcvtq_f32_s32(vsubq_s32(vaddq_s32(dot, dot), vdupq_n_s32(sum15)));
}

ISA_INLINE lanes numbers(counts x) { return vcvtq_f32_s32(x); }

/* The rows of a byte's place are apart already: a register has sixteen. */
ISA_INLINE void sign_tile(const uint8_t *tables, const uint8_t *lines, size_t n, counts sums[4]) {
  uint16x8_t first = vdupq_n_u16(0), second = first;
  for (size_t j = 0; j < 4 * n; j++) {
    const uint8_t *low = tables + 128 * (j / 4) + 16 * (j % 4);
    uint8x16_t x = vld1q_u8(lines + 16 * j);
    uint8x16_t both = vaddq_u8(vqtbl1q_u8(vld1q_u8(low), low_four(x)), vqtbl1q_u8(vld1q_u8(low + 64), high_four(x)));
    first = vaddw_u8(first, vget_low_u8(both));
    second = vaddw_high_u8(second, both);
  }
  sums[0] = vaddq_s32(sums[0], vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(first))));
  sums[1] = vaddq_s32(sums[1], vreinterpretq_s32_u32(vmovl_high_u16(first)));
  sums[2] = vaddq_s32(sums[2], vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(second))));
  sums[3] = vaddq_s32(sums[3], vreinterpretq_s32_u32(vmovl_high_u16(second)));
}

#include "isa/lines.h"
#include "isa/neon_network.h"
#include "isa/network.h"
#include "isa/rows.h"
#include "isa/screen_i4.h"
#include "isa/screen_signs.h"

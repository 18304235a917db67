/* Four-bit codes and halves with NEON: as with neon.h, one source for two paths. */
#ifndef AME_ISA_NEON_I4_H
#define AME_ISA_NEON_I4_H

#include "isa/i4.h"
#include "isa/quantize_i4.h"
#include "isa/rotate.h"

#include <arm_neon.h>

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

static void quantize_i4(const float *rows, size_t n, size_t dim, uint8_t *codes, ame_i4_info *info) {
  i4_quantize(rows, n, dim, codes, info);
}

static void rotate(float *rows, size_t n, size_t dim) { rotate_rows(rows, n, dim); }

/* Four query bytes in every lane. */
ISA_INLINE int8x16_t four(const int8_t *q) {
  int32_t v;
  memcpy(&v, q, sizeof v);
  return vreinterpretq_s8_s32(vdupq_n_s32(v));
}

/* Adds the products of `count` groups (at most 8) to the sums of rows 4h .. 4h + 3. */
ISA_INLINE void add_groups(const int8_t *q, const uint8_t *groups, int count, int32x4_t dot[4]) {
  const uint8x16_t mask = vdupq_n_u8(15);
#if defined(__ARM_FEATURE_DOTPROD)
  /* Sums of their own for the high codes: a product waits for the sum before it, and one group has two products a
   * row. */
  int32x4_t upper[4];
  for (int h = 0; h < 4; h++) upper[h] = vdupq_n_s32(0);
  for (int g = 0; g < count; g++) {
    int8x16_t a = four(q + 8 * g), b = four(q + 8 * g + 4);
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

/* What the bounds of four rows are made of. */
typedef struct rows4 {
  float32x4_t product, middle, err, norm, rest, size;
} rows4;

ISA_INLINE rows4 rows_of(const i4_screen *s, const float *c, int32x4_t dot) {
  rows4 r;
  dot = vsubq_s32(vaddq_s32(dot, dot), vdupq_n_s32(s->sum15));
  float32x4_t bias = vld1q_f32(c + I4_BIAS);
  r.err = vld1q_f32(c + I4_ERR);
  r.norm = vld1q_f32(c + I4_NORM);
  float32x4_t levels = vmulq_f32(vld1q_f32(c + I4_SCALE), vcvtq_f32_s32(dot));
  float32x4_t offsets = vmulq_f32(vld1q_f32(c + I4_OFFSET), vdupq_n_f32(s->sum));
  r.product = vmulq_f32(vdupq_n_f32(s->scale), vaddq_f32(offsets, levels));
  r.middle = vaddq_f32(r.product, bias);
  r.rest = vmulq_f32(r.norm, vdupq_n_f32(s->per_norm));
  r.size = vmulq_f32(vabsq_f32(bias), vdupq_n_f32(s->per_bias));
  return r;
}

ISA_INLINE float32x4_t half_of(const i4_screen *s, const rows4 *r, float32x4_t across) {
  float32x4_t h = vmulq_f32(r->err, vaddq_f32(across, vdupq_n_f32(s->per_err)));
  return vaddq_f32(vaddq_f32(h, r->rest), r->size);
}

/* Bits 0 .. 3: not below the threshold, or not a number. */
ISA_INLINE uint32_t passing(const i4_screen *s, const rows4 *r, float32x4_t half) {
  static const uint32_t bits[4] = {1, 2, 4, 8};
  uint32x4_t below = vcltq_f32(vaddq_f32(r->middle, half), vdupq_n_f32(s->threshold));
  return vaddvq_u32(vbicq_u32(vld1q_u32(bits), below));
}

static void screen_i4(const ame_i4_query *q, const uint8_t *blocks, size_t n, size_t dim, float threshold,
                      uint16_t *survivors, float *middle, float *half) {
  const size_t groups = (dim + 7) / 8, bytes = AME_BLOCK_BYTES(dim);
  const i4_screen s = i4_screen_of(q, threshold);
  for (size_t i = 0; i < n; i++) {
    const uint8_t *block = blocks + i * bytes;
    int32x4_t dot[4];
    for (int h = 0; h < 4; h++) dot[h] = vdupq_n_s32(0);
    size_t g = 0;
    for (; g + 8 <= groups; g += 8) add_groups(q->codes + 8 * g, block + 64 * g, 8, dot);
    for (; g < groups; g++) add_groups(q->codes + 8 * g, block + 64 * g, 1, dot);
    rows4 r[4];
    uint32_t mask = 0;
    for (int h = 0; h < 4; h++) {
      r[h] = rows_of(&s, (const float *)(const void *)(block + 64 * groups) + 4 * h, dot[h]);
      /* With rest in place of across the width is not below the true one, in f32 either: every step is monotone. */
      mask |= passing(&s, &r[h], half_of(&s, &r[h], vdupq_n_f32(s.rest)));
    }
    if (mask) {
      float32x4_t width[4], floor = vdupq_n_f32(s.floor);
      mask = 0;
      for (int h = 0; h < 4; h++) {
        float32x4_t along = vdivq_f32(r[h].product, r[h].norm);
        float32x4_t square = vsubq_f32(vdupq_n_f32(s.square), vmulq_f32(along, along));
        square = vbslq_f32(vcgtq_f32(square, floor), square, floor); /* the floor where the square is not a number */
        width[h] = half_of(&s, &r[h], vminq_f32(vsqrtq_f32(square), vdupq_n_f32(s.rest)));
        mask |= passing(&s, &r[h], width[h]) << 4 * h;
      }
      for (int h = 0; mask && h < 4; h++) {
        vst1q_f32(middle + i * AME_BLOCK_ROWS + 4 * h, r[h].middle);
        vst1q_f32(half + i * AME_BLOCK_ROWS + 4 * h, width[h]);
      }
    }
    survivors[i] = (uint16_t)mask;
  }
}

static void f16_to_f32(const uint16_t *x, size_t n, float *out) {
  size_t i = 0;
  for (; i + 4 <= n; i += 4) vst1q_f32(out + i, vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(x + i))));
  isa_scalar_f16_to_f32(x + i, n - i, out + i);
}

#define NEON_I4_PATH {quantize_i4, rotate, screen_i4, f16_to_f32}

#endif

/* Vectors with NEON: this one source is compiled into neon.c for every AArch64 CPU and into neon_dot.c for
 * those with the int8 product instruction, which have the CRC one as well. Without it bytes are multiplied into 16
 * bits. */
#ifndef AME_ISA_NEON_H
#define AME_ISA_NEON_H

#include "isa/isa.h"

#include <arm_neon.h>
#include <string.h>
#if defined(__ARM_FEATURE_CRC32)
#include <arm_acle.h>
#endif

/* Up to four floats, the rest zero. */
ISA_INLINE float32x4_t load_tail(const float *x, size_t left) {
  float t[4] = {0, 0, 0, 0};
  memcpy(t, x, (left < 4 ? left : 4) * sizeof(float));
  return vld1q_f32(t);
}

ISA_INLINE void dot_block(const float *q, const float *rows, size_t dim, int count, float *out) {
  float32x4_t a[4], b[4];
  for (int r = 0; r < count; r++) a[r] = b[r] = vdupq_n_f32(0);
  size_t j = 0;
  for (; j + 8 <= dim; j += 8) {
    float32x4_t q0 = vld1q_f32(q + j), q1 = vld1q_f32(q + j + 4);
    for (int r = 0; r < count; r++) {
      const float *x = rows + (size_t)r * dim + j;
      a[r] = vfmaq_f32(a[r], q0, vld1q_f32(x));
      b[r] = vfmaq_f32(b[r], q1, vld1q_f32(x + 4));
    }
  }
  for (; j < dim; j += 4) {
    float32x4_t q0 = load_tail(q + j, dim - j);
    for (int r = 0; r < count; r++) a[r] = vfmaq_f32(a[r], q0, load_tail(rows + (size_t)r * dim + j, dim - j));
  }
  for (int r = 0; r < count; r++) out[r] = vaddvq_f32(vaddq_f32(a[r], b[r]));
}

static void dot_f32(const float *q, const float *rows, size_t n, size_t dim, float *out) {
  size_t i = 0;
  for (; i + 4 <= n; i += 4) dot_block(q, rows + i * dim, dim, 4, out + i);
  for (; i < n; i++) dot_block(q, rows + i * dim, dim, 1, out + i);
}

ISA_INLINE void tile_block(const float *const q[4], const float *rows, size_t dim, int count, float *out, size_t k) {
  float32x4_t acc[4][4];
  for (int i = 0; i < 4; i++) {
    for (int r = 0; r < count; r++) acc[i][r] = vdupq_n_f32(0);
  }
  size_t j = 0;
  for (; j + 4 <= dim; j += 4) {
    float32x4_t x[4];
    for (int r = 0; r < count; r++) x[r] = vld1q_f32(rows + (size_t)r * dim + j);
    for (int i = 0; i < 4; i++) {
      float32x4_t v = vld1q_f32(q[i] + j);
      for (int r = 0; r < count; r++) acc[i][r] = vfmaq_f32(acc[i][r], v, x[r]);
    }
  }
  if (j < dim) {
    for (int i = 0; i < 4; i++) {
      float32x4_t v = load_tail(q[i] + j, dim - j);
      for (int r = 0; r < count; r++)
        acc[i][r] = vfmaq_f32(acc[i][r], v, load_tail(rows + (size_t)r * dim + j, dim - j));
    }
  }
  for (int i = 0; i < 4; i++) {
    for (int r = 0; r < count; r++) out[(size_t)i * k + (size_t)r] = vaddvq_f32(acc[i][r]);
  }
}

static void dot_f32_tile(const float *const q[4], const float *rows, size_t k, size_t dim, float *out) {
  size_t j = 0;
  for (; j + 4 <= k; j += 4) tile_block(q, rows + j * dim, dim, 4, out + j, k);
  for (; j < k; j++) tile_block(q, rows + j * dim, dim, 1, out + j, k);
}

static void sq_l2(const float *q, const float *rows, size_t n, size_t dim, float *out) {
  for (size_t i = 0; i < n; i++) {
    const float *row = rows + i * dim;
    float32x4_t acc[4];
    for (int h = 0; h < 4; h++) acc[h] = vdupq_n_f32(0);
    size_t j = 0;
    for (; j + 16 <= dim; j += 16) {
      for (int h = 0; h < 4; h++) {
        float32x4_t d = vsubq_f32(vld1q_f32(q + j + 4 * h), vld1q_f32(row + j + 4 * h));
        acc[h] = vaddq_f32(acc[h], vmulq_f32(d, d));
      }
    }
    for (int h = 0; j < dim; j += 4, h++) {
      float32x4_t d = vsubq_f32(load_tail(q + j, dim - j), load_tail(row + j, dim - j));
      acc[h] = vaddq_f32(acc[h], vmulq_f32(d, d));
    }
    float lane[ISA_L2_LANES];
    for (int h = 0; h < 4; h++) vst1q_f32(lane + 4 * h, acc[h]);
    out[i] = isa_sum16(lane);
  }
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

static void dot_i8(const int8_t *q, const int8_t *codes, size_t n, size_t stride, int32_t *out) {
  size_t i = 0;
  for (; i + 4 <= n; i += 4) dot_i8_block(q, codes + i * stride, stride, 4, out + i);
  for (; i < n; i++) dot_i8_block(q, codes + i * stride, stride, 1, out + i);
}

static float max_abs(const float *row, size_t dim) {
  float32x4_t m = vdupq_n_f32(0);
  for (size_t j = 0; j + 4 <= dim; j += 4) m = vmaxq_f32(m, vabsq_f32(vld1q_f32(row + j)));
  if (dim % 4) m = vmaxq_f32(m, vabsq_f32(load_tail(row + dim - dim % 4, dim % 4)));
  return vmaxvq_f32(m);
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

static void quantize_i8(const float *rows, size_t n, size_t dim, int8_t *codes, ame_code_info *info) {
  size_t stride = AME_CODE_STRIDE(dim);
  for (size_t i = 0; i < n; i++) {
    const float *row = rows + i * dim;
    int8_t *out = codes + i * stride;
    isa_scale s = isa_scale_of(max_abs(row, dim));
    float64x2_t inverse = vdupq_n_f64(s.inverse), step = vdupq_n_f64(s.step);
    float64x2_t acc[4];
    for (int h = 0; h < 4; h++) acc[h] = vdupq_n_f64(0);
    int32x4_t squares = vdupq_n_s32(0);
    size_t j = 0;
    for (; j + 8 <= dim; j += 8) {
      float32x4_t x0 = vld1q_f32(row + j), x1 = vld1q_f32(row + j + 4);
      int32x4_t c0 = vcombine_s32(vmovn_s64(code2(vcvt_f64_f32(vget_low_f32(x0)), inverse, step, &acc[0])),
                                  vmovn_s64(code2(vcvt_high_f64_f32(x0), inverse, step, &acc[1])));
      int32x4_t c1 = vcombine_s32(vmovn_s64(code2(vcvt_f64_f32(vget_low_f32(x1)), inverse, step, &acc[2])),
                                  vmovn_s64(code2(vcvt_high_f64_f32(x1), inverse, step, &acc[3])));
      squares = vmlaq_s32(vmlaq_s32(squares, c0, c0), c1, c1);
      vst1_s8(out + j, vmovn_s16(vcombine_s16(vmovn_s32(c0), vmovn_s32(c1))));
    }
    double lane[ISA_CODE_LANES];
    for (int h = 0; h < 4; h++) vst1q_f64(lane + 2 * h, acc[h]);
    int64_t sum = vaddlvq_s32(squares);
    sum += isa_quantize_tail(row, j, dim, s, out, lane);
    memset(out + dim, 0, stride - dim);
    info[i] = isa_code_info(s, lane, sum);
  }
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

/* The path of the file that includes this. */
#define NEON_PATH(name, supported, i4) {name, supported, dot_f32, dot_f32_tile, sq_l2, dot_i8, quantize_i8, crc32c, i4}

#endif

/* AVX-512 with VNNI. Built with -mavx512f -mavx512bw -mavx512vl -mavx512dq -mavx512vnni; runs only where isa.c has
 * found all of them. Tails are masked: a masked lane is not read. */
#include "isa/isa.h"

#if defined(__x86_64__)

#include <immintrin.h>
#include <string.h>

/* The first min(left, 16) lanes. */
ISA_INLINE __mmask16 tail_mask(size_t left) { return left >= 16 ? (__mmask16)0xffff : (__mmask16)((1u << left) - 1u); }

ISA_INLINE void dot_block(const float *q, const float *rows, size_t dim, int count, float *out) {
  __m512 a[4], b[4];
  for (int r = 0; r < count; r++) a[r] = b[r] = _mm512_setzero_ps();
  size_t j = 0;
  for (; j + 32 <= dim; j += 32) {
    __m512 q0 = _mm512_loadu_ps(q + j), q1 = _mm512_loadu_ps(q + j + 16);
    for (int r = 0; r < count; r++) {
      const float *x = rows + (size_t)r * dim + j;
      a[r] = _mm512_fmadd_ps(q0, _mm512_loadu_ps(x), a[r]);
      b[r] = _mm512_fmadd_ps(q1, _mm512_loadu_ps(x + 16), b[r]);
    }
  }
  for (; j < dim; j += 16) {
    __mmask16 m = tail_mask(dim - j);
    __m512 q0 = _mm512_maskz_loadu_ps(m, q + j);
    for (int r = 0; r < count; r++) {
      a[r] = _mm512_fmadd_ps(q0, _mm512_maskz_loadu_ps(m, rows + (size_t)r * dim + j), a[r]);
    }
  }
  for (int r = 0; r < count; r++) out[r] = _mm512_reduce_add_ps(_mm512_add_ps(a[r], b[r]));
}

static void dot_f32(const float *q, const float *rows, size_t n, size_t dim, float *out) {
  size_t i = 0;
  for (; i + 4 <= n; i += 4) dot_block(q, rows + i * dim, dim, 4, out + i);
  for (; i < n; i++) dot_block(q, rows + i * dim, dim, 1, out + i);
}

ISA_INLINE void tile_block(const float *const q[4], const float *rows, size_t dim, int count, float *out, size_t k) {
  __m512 acc[4][4];
  for (int i = 0; i < 4; i++) {
    for (int r = 0; r < count; r++) acc[i][r] = _mm512_setzero_ps();
  }
  for (size_t j = 0; j < dim; j += 16) {
    __mmask16 m = tail_mask(dim - j);
    __m512 x[4];
    for (int r = 0; r < count; r++) x[r] = _mm512_maskz_loadu_ps(m, rows + (size_t)r * dim + j);
    for (int i = 0; i < 4; i++) {
      __m512 v = _mm512_maskz_loadu_ps(m, q[i] + j);
      for (int r = 0; r < count; r++) acc[i][r] = _mm512_fmadd_ps(v, x[r], acc[i][r]);
    }
  }
  for (int i = 0; i < 4; i++) {
    for (int r = 0; r < count; r++) out[(size_t)i * k + (size_t)r] = _mm512_reduce_add_ps(acc[i][r]);
  }
}

/* Thirty-two registers allow a tile of 4 x 4. */
static void dot_f32_tile(const float *const q[4], const float *rows, size_t k, size_t dim, float *out) {
  size_t j = 0;
  for (; j + 4 <= k; j += 4) tile_block(q, rows + j * dim, dim, 4, out + j, k);
  for (; j < k; j++) tile_block(q, rows + j * dim, dim, 1, out + j, k);
}

static void sq_l2(const float *q, const float *rows, size_t n, size_t dim, float *out) {
  for (size_t i = 0; i < n; i++) {
    const float *row = rows + i * dim;
    __m512 acc = _mm512_setzero_ps();
    for (size_t j = 0; j < dim; j += 16) {
      __mmask16 m = tail_mask(dim - j);
      __m512 d = _mm512_sub_ps(_mm512_maskz_loadu_ps(m, q + j), _mm512_maskz_loadu_ps(m, row + j));
      acc = _mm512_add_ps(acc, _mm512_mul_ps(d, d));
    }
    float lane[ISA_L2_LANES];
    _mm512_storeu_ps(lane, acc);
    out[i] = isa_sum16(lane);
  }
}

/* dpbusd multiplies unsigned by signed bytes and adds four products to a 32-bit lane without saturation: |q| by the
 * code, negated where q is negative. A code is never -128, so that its negative exists. */
ISA_INLINE void dot_i8_block(const int8_t *q, const int8_t *codes, size_t stride, int count, int32_t *out) {
  const __m512i zero = _mm512_setzero_si512();
  __m512i acc[4];
  for (int r = 0; r < count; r++) acc[r] = zero;
  for (size_t j = 0; j < stride; j += 64) {
    __m512i v = _mm512_loadu_si512((const void *)(q + j));
    __m512i size = _mm512_abs_epi8(v);
    __mmask64 negative = _mm512_movepi8_mask(v);
    for (int r = 0; r < count; r++) {
      __m512i c = _mm512_loadu_si512((const void *)(codes + (size_t)r * stride + j));
      acc[r] = _mm512_dpbusd_epi32(acc[r], size, _mm512_mask_sub_epi8(c, negative, zero, c));
    }
  }
  for (int r = 0; r < count; r++) out[r] = _mm512_reduce_add_epi32(acc[r]);
}

static void dot_i8(const int8_t *q, const int8_t *codes, size_t n, size_t stride, int32_t *out) {
  size_t i = 0;
  for (; i + 4 <= n; i += 4) dot_i8_block(q, codes + i * stride, stride, 4, out + i);
  for (; i < n; i++) dot_i8_block(q, codes + i * stride, stride, 1, out + i);
}

static float max_abs(const float *row, size_t dim) {
  __m512 m = _mm512_setzero_ps();
  for (size_t j = 0; j < dim; j += 16)
    m = _mm512_max_ps(m, _mm512_abs_ps(_mm512_maskz_loadu_ps(tail_mask(dim - j), row + j)));
  return _mm512_reduce_max_ps(m);
}

static void quantize_i8(const float *rows, size_t n, size_t dim, int8_t *codes, ame_code_info *info) {
  size_t stride = AME_CODE_STRIDE(dim);
  const __m512d sign = _mm512_set1_pd(-0.0), half = _mm512_set1_pd(0.5);
  for (size_t i = 0; i < n; i++) {
    const float *row = rows + i * dim;
    int8_t *out = codes + i * stride;
    isa_scale s = isa_scale_of(max_abs(row, dim));
    __m512d inverse = _mm512_set1_pd(s.inverse), step = _mm512_set1_pd(s.step), acc = _mm512_setzero_pd();
    __m256i squares = _mm256_setzero_si256();
    size_t j = 0;
    for (; j + 8 <= dim; j += 8) {
      __m512d x = _mm512_cvtps_pd(_mm256_loadu_ps(row + j));
      __m512d t = _mm512_mul_pd(x, inverse);
      __m256i c = _mm512_cvttpd_epi32(_mm512_add_pd(t, _mm512_or_pd(_mm512_and_pd(t, sign), half)));
      __m512d d = _mm512_sub_pd(x, _mm512_mul_pd(step, _mm512_cvtepi32_pd(c)));
      acc = _mm512_add_pd(acc, _mm512_mul_pd(d, d));
      squares = _mm256_add_epi32(squares, _mm256_mullo_epi32(c, c));
      _mm_storel_epi64((__m128i *)(out + j), _mm256_cvtepi32_epi8(c));
    }
    double lane[ISA_CODE_LANES];
    int32_t part[8];
    _mm512_storeu_pd(lane, acc);
    _mm256_storeu_si256((__m256i *)part, squares);
    int64_t sum = 0;
    for (int l = 0; l < 8; l++) sum += part[l];
    sum += isa_quantize_tail(row, j, dim, s, out, lane);
    memset(out + dim, 0, stride - dim);
    info[i] = isa_code_info(s, lane, sum);
  }
}

static uint32_t crc32c(uint32_t crc, const void *data, size_t bytes) { return isa_avx2.crc32c(crc, data, bytes); }

const isa_path isa_avx512 = {"avx512", cpu_has_avx512, dot_f32, dot_f32_tile,  sq_l2,
                             dot_i8,   quantize_i8,    crc32c,  &isa_avx512_i4};

#else
typedef int isa_avx512_is_x86_only;
#endif

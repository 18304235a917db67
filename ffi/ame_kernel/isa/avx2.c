/* AVX2 and FMA, for x86-64 since about 2013. Built with -mavx2 -mfma -mf16c; runs only where isa.c has found them. */
#include "isa/isa.h"

#if defined(__x86_64__)

#include <immintrin.h>
#include <string.h>

/* The first `left` of eight lanes, for masked loads: they never touch memory beyond the row. */
ISA_INLINE __m256i tail_mask(size_t left) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)left), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

ISA_INLINE float sum8(__m256 v) {
  __m128 s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  s = _mm_add_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_add_ss(s, _mm_shuffle_ps(s, s, 1)));
}

/* `count` rows (1 or 4) against one query, two accumulators each: eight chains hide the latency of the multiply-add. */
ISA_INLINE void dot_block(const float *q, const float *rows, size_t dim, int count, float *out) {
  __m256 a[4], b[4];
  for (int r = 0; r < count; r++) a[r] = b[r] = _mm256_setzero_ps();
  size_t j = 0;
  for (; j + 16 <= dim; j += 16) {
    __m256 q0 = _mm256_loadu_ps(q + j), q1 = _mm256_loadu_ps(q + j + 8);
    for (int r = 0; r < count; r++) {
      const float *x = rows + (size_t)r * dim + j;
      a[r] = _mm256_fmadd_ps(q0, _mm256_loadu_ps(x), a[r]);
      b[r] = _mm256_fmadd_ps(q1, _mm256_loadu_ps(x + 8), b[r]);
    }
  }
  for (; j < dim; j += 8) {
    __m256i m = tail_mask(dim - j);
    __m256 q0 = _mm256_maskload_ps(q + j, m);
    for (int r = 0; r < count; r++) {
      a[r] = _mm256_fmadd_ps(q0, _mm256_maskload_ps(rows + (size_t)r * dim + j, m), a[r]);
    }
  }
  for (int r = 0; r < count; r++) out[r] = sum8(_mm256_add_ps(a[r], b[r]));
}

static void dot_f32(const float *q, const float *rows, size_t n, size_t dim, float *out) {
  size_t i = 0;
  for (; i + 4 <= n; i += 4) dot_block(q, rows + i * dim, dim, 4, out + i);
  for (; i < n; i++) dot_block(q, rows + i * dim, dim, 1, out + i);
}

ISA_INLINE void tile_block(const float *const q[4], const float *rows, size_t dim, int count, float *out, size_t k) {
  __m256 acc[4][2];
  for (int i = 0; i < 4; i++) {
    for (int r = 0; r < count; r++) acc[i][r] = _mm256_setzero_ps();
  }
  size_t j = 0;
  for (; j + 8 <= dim; j += 8) {
    __m256 x[2];
    for (int r = 0; r < count; r++) x[r] = _mm256_loadu_ps(rows + (size_t)r * dim + j);
    for (int i = 0; i < 4; i++) {
      __m256 v = _mm256_loadu_ps(q[i] + j);
      for (int r = 0; r < count; r++) acc[i][r] = _mm256_fmadd_ps(v, x[r], acc[i][r]);
    }
  }
  if (j < dim) {
    __m256i m = tail_mask(dim - j);
    for (int i = 0; i < 4; i++) {
      __m256 v = _mm256_maskload_ps(q[i] + j, m);
      for (int r = 0; r < count; r++) {
        acc[i][r] = _mm256_fmadd_ps(v, _mm256_maskload_ps(rows + (size_t)r * dim + j, m), acc[i][r]);
      }
    }
  }
  for (int i = 0; i < 4; i++) {
    for (int r = 0; r < count; r++) out[(size_t)i * k + (size_t)r] = sum8(acc[i][r]);
  }
}

static void dot_f32_tile(const float *const q[4], const float *rows, size_t k, size_t dim, float *out) {
  size_t j = 0;
  for (; j + 2 <= k; j += 2) tile_block(q, rows + j * dim, dim, 2, out + j, k);
  if (j < k) tile_block(q, rows + j * dim, dim, 1, out + j, k);
}

static void sq_l2(const float *q, const float *rows, size_t n, size_t dim, float *out) {
  for (size_t i = 0; i < n; i++) {
    const float *row = rows + i * dim;
    __m256 acc[2] = {_mm256_setzero_ps(), _mm256_setzero_ps()};
    size_t j = 0;
    for (; j + 16 <= dim; j += 16) {
      __m256 d0 = _mm256_sub_ps(_mm256_loadu_ps(q + j), _mm256_loadu_ps(row + j));
      __m256 d1 = _mm256_sub_ps(_mm256_loadu_ps(q + j + 8), _mm256_loadu_ps(row + j + 8));
      acc[0] = _mm256_add_ps(acc[0], _mm256_mul_ps(d0, d0));
      acc[1] = _mm256_add_ps(acc[1], _mm256_mul_ps(d1, d1));
    }
    for (int h = 0; j < dim; j += 8, h++) {
      __m256i m = tail_mask(dim - j);
      __m256 d = _mm256_sub_ps(_mm256_maskload_ps(q + j, m), _mm256_maskload_ps(row + j, m));
      acc[h] = _mm256_add_ps(acc[h], _mm256_mul_ps(d, d));
    }
    float lane[ISA_L2_LANES];
    _mm256_storeu_ps(lane, acc[0]);
    _mm256_storeu_ps(lane + 8, acc[1]);
    out[i] = isa_sum16(lane);
  }
}

/* maddubs multiplies unsigned by signed bytes: |q| by the code with q's sign. Two products are at most 2 x 127 x 127 =
 * 32,258, so that its saturation at 32,767 is never met. */
ISA_INLINE void dot_i8_block(const int8_t *q, const int8_t *codes, size_t stride, int count, int32_t *out) {
  const __m256i ones = _mm256_set1_epi16(1);
  __m256i acc[4];
  for (int r = 0; r < count; r++) acc[r] = _mm256_setzero_si256();
  for (size_t j = 0; j < stride; j += 32) {
    __m256i v = _mm256_loadu_si256((const __m256i *)(q + j));
    __m256i size = _mm256_abs_epi8(v);
    for (int r = 0; r < count; r++) {
      __m256i c = _mm256_loadu_si256((const __m256i *)(codes + (size_t)r * stride + j));
      __m256i pairs = _mm256_maddubs_epi16(size, _mm256_sign_epi8(c, v));
      acc[r] = _mm256_add_epi32(acc[r], _mm256_madd_epi16(pairs, ones));
    }
  }
  for (int r = 0; r < count; r++) {
    __m128i s = _mm_add_epi32(_mm256_castsi256_si128(acc[r]), _mm256_extracti128_si256(acc[r], 1));
    s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0x4e));
    s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0xb1));
    out[r] = _mm_cvtsi128_si32(s);
  }
}

static void dot_i8(const int8_t *q, const int8_t *codes, size_t n, size_t stride, int32_t *out) {
  size_t i = 0;
  for (; i + 4 <= n; i += 4) dot_i8_block(q, codes + i * stride, stride, 4, out + i);
  for (; i < n; i++) dot_i8_block(q, codes + i * stride, stride, 1, out + i);
}

static float max_abs(const float *row, size_t dim) {
  const __m256 sign = _mm256_set1_ps(-0.0f);
  __m256 m = _mm256_setzero_ps();
  size_t j = 0;
  for (; j + 8 <= dim; j += 8) m = _mm256_max_ps(m, _mm256_andnot_ps(sign, _mm256_loadu_ps(row + j)));
  if (j < dim) m = _mm256_max_ps(m, _mm256_andnot_ps(sign, _mm256_maskload_ps(row + j, tail_mask(dim - j))));
  float lane[8], max = 0;
  _mm256_storeu_ps(lane, m);
  for (int i = 0; i < 8; i++) max = lane[i] > max ? lane[i] : max;
  return max;
}

/* Four codes as int32, and their squared errors added to acc. Every step is the scalar one, lane by lane. */
ISA_INLINE __m128i code4(__m128 x32, __m256d inverse, __m256d step, __m256d *acc) {
  const __m256d sign = _mm256_set1_pd(-0.0);
  __m256d x = _mm256_cvtps_pd(x32);
  __m256d t = _mm256_mul_pd(x, inverse);
  __m256d half = _mm256_or_pd(_mm256_and_pd(t, sign), _mm256_set1_pd(0.5));
  __m128i c = _mm256_cvttpd_epi32(_mm256_add_pd(t, half));
  __m256d d = _mm256_sub_pd(x, _mm256_mul_pd(step, _mm256_cvtepi32_pd(c)));
  *acc = _mm256_add_pd(*acc, _mm256_mul_pd(d, d));
  return c;
}

static void quantize_i8(const float *rows, size_t n, size_t dim, int8_t *codes, ame_code_info *info) {
  size_t stride = AME_CODE_STRIDE(dim);
  for (size_t i = 0; i < n; i++) {
    const float *row = rows + i * dim;
    int8_t *out = codes + i * stride;
    isa_scale s = isa_scale_of(max_abs(row, dim));
    __m256d inverse = _mm256_set1_pd(s.inverse), step = _mm256_set1_pd(s.step);
    __m256d acc[2] = {_mm256_setzero_pd(), _mm256_setzero_pd()};
    __m128i squares = _mm_setzero_si128();
    size_t j = 0;
    for (; j + 8 <= dim; j += 8) {
      __m256 x = _mm256_loadu_ps(row + j);
      __m128i c0 = code4(_mm256_castps256_ps128(x), inverse, step, &acc[0]);
      __m128i c1 = code4(_mm256_extractf128_ps(x, 1), inverse, step, &acc[1]);
      __m128i c = _mm_packs_epi32(c0, c1);
      squares = _mm_add_epi32(squares, _mm_madd_epi16(c, c));
      _mm_storel_epi64((__m128i *)(out + j), _mm_packs_epi16(c, c));
    }
    double lane[ISA_CODE_LANES];
    int32_t part[4];
    _mm256_storeu_pd(lane, acc[0]);
    _mm256_storeu_pd(lane + 4, acc[1]);
    _mm_storeu_si128((__m128i *)part, squares);
    int64_t sum = (int64_t)part[0] + part[1] + part[2] + part[3];
    sum += isa_quantize_tail(row, j, dim, s, out, lane);
    memset(out + dim, 0, stride - dim);
    info[i] = isa_code_info(s, lane, sum);
  }
}

/* clang counts the instruction as a feature of its own, which -mavx2 does not switch on; every CPU with AVX2 has it. */
__attribute__((target("crc32"))) static uint32_t crc32c(uint32_t crc, const void *data, size_t bytes) {
  const uint8_t *p = data;
  uint64_t c = (uint32_t)~crc;
  for (; bytes >= 8; bytes -= 8, p += 8) {
    uint64_t v;
    memcpy(&v, p, 8);
    c = _mm_crc32_u64(c, v);
  }
  uint32_t low = (uint32_t)c;
  for (; bytes; bytes--, p++) low = _mm_crc32_u8(low, *p);
  return ~low;
}

const isa_path isa_avx2 = {"avx2", cpu_has_avx2, dot_f32, dot_f32_tile, sq_l2,
                           dot_i8, quantize_i8,  crc32c,  &isa_avx2_i4};

#else
typedef int isa_avx2_is_x86_only;
#endif

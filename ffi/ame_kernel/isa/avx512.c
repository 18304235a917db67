/* AVX-512 with VNNI. Compiled with -mavx512f -mavx512bw -mavx512vl -mavx512dq -mavx512vnni; used only where isa.c has
 * found all of them. Tails are masked: a masked lane is not read. */
#include "isa/bytes_avx512.h"
#include "isa/document.h"
#include "isa/i4.h"
#include "isa/quantize_i4.h"
#include "isa/rotate.h"

#if defined(__x86_64__)

#include <immintrin.h>

typedef __m512 lanes;
#define LANES 16
#define TILE  4 /* thirty-two registers allow 4 x 4 */
#define BLOCK 8

ISA_INLINE lanes all(float x) { return _mm512_set1_ps(x); }
ISA_INLINE lanes load(const float *x) { return _mm512_loadu_ps(x); }
ISA_INLINE lanes load_some(const float *x, size_t left) {
  return _mm512_maskz_loadu_ps(left >= 16 ? (__mmask16)0xffff : (__mmask16)((1u << left) - 1u), x);
}
ISA_INLINE lanes load_halves(const uint16_t *x) {
  return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)x));
}
ISA_INLINE lanes fused(lanes a, lanes b, lanes sum) { return _mm512_fmadd_ps(a, b, sum); }
ISA_INLINE lanes absolute(lanes v) { return _mm512_abs_ps(v); }
ISA_INLINE lanes larger(lanes a, lanes b) { return _mm512_max_ps(a, b); }
ISA_INLINE lanes smaller(lanes a, lanes b) { return _mm512_min_ps(a, b); }
ISA_INLINE lanes above(lanes v, float least) { return _mm512_max_ps(v, _mm512_set1_ps(least)); }
ISA_INLINE lanes root(lanes v) { return _mm512_sqrt_ps(v); }
ISA_INLINE float total(lanes v) {
  __m256 h = _mm256_add_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
  __m128 s = _mm_add_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
  s = _mm_add_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_add_ss(s, _mm_shuffle_ps(s, s, 1)));
}
ISA_INLINE float largest(lanes v) { return _mm512_reduce_max_ps(v); }
ISA_INLINE uint32_t not_below(lanes v, float least) {
  return _mm512_cmp_ps_mask(v, _mm512_set1_ps(least), _CMP_NLT_UQ);
}

/* The totals of four registers, together: one after the other they take as long as the products of 200 dimensions. */
ISA_INLINE __m128i four_totals(const __m512i acc[4]) {
  __m512i ab = _mm512_add_epi32(_mm512_unpacklo_epi32(acc[0], acc[1]), _mm512_unpackhi_epi32(acc[0], acc[1]));
  __m512i cd = _mm512_add_epi32(_mm512_unpacklo_epi32(acc[2], acc[3]), _mm512_unpackhi_epi32(acc[2], acc[3]));
  __m512i all = _mm512_add_epi32(_mm512_unpacklo_epi64(ab, cd), _mm512_unpackhi_epi64(ab, cd));
  __m256i half = _mm256_add_epi32(_mm512_castsi512_si256(all), _mm512_extracti64x4_epi64(all, 1));
  return _mm_add_epi32(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
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
  if (count == 4) {
    _mm_storeu_si128((__m128i *)(void *)out, four_totals(acc));
    return;
  }
  for (int r = 0; r < count; r++) out[r] = _mm512_reduce_add_epi32(acc[r]);
}

static size_t code_row(const float *row, size_t dim, isa_scale s, int8_t *codes, double *lane, int64_t *squares) {
  const __m512d sign = _mm512_set1_pd(-0.0), half = _mm512_set1_pd(0.5);
  __m512d inverse = _mm512_set1_pd(s.inverse), step = _mm512_set1_pd(s.step), acc = _mm512_setzero_pd();
  __m256i sum = _mm256_setzero_si256();
  size_t j = 0;
  for (; j + 8 <= dim; j += 8) {
    __m512d x = _mm512_cvtps_pd(_mm256_loadu_ps(row + j));
    __m512d t = _mm512_mul_pd(x, inverse);
    __m256i c = _mm512_cvttpd_epi32(_mm512_add_pd(t, _mm512_or_pd(_mm512_and_pd(t, sign), half)));
    __m512d d = _mm512_sub_pd(x, _mm512_mul_pd(step, _mm512_cvtepi32_pd(c)));
    acc = _mm512_add_pd(acc, _mm512_mul_pd(d, d));
    sum = _mm256_add_epi32(sum, _mm256_mullo_epi32(c, c));
    _mm_storel_epi64((__m128i *)(codes + j), _mm256_cvtepi32_epi8(c));
  }
  int32_t part[8];
  memcpy(lane, &acc, sizeof acc);
  memcpy(part, &sum, sizeof part);
  for (int l = 0; l < 8; l++) *squares += part[l];
  return j;
}

static uint32_t crc32c(uint32_t crc, const void *data, size_t bytes) { return isa_avx2.crc32c(crc, data, bytes); }

static void i4_count(const int16_t *z, size_t padded, i4_grid grid, int32_t out[3]) {
  const __m512i first = _mm512_set1_epi16((short)grid.first), per = _mm512_set1_epi16((short)grid.per);
  const __m512i most = _mm512_set1_epi16(4095), one = _mm512_set1_epi16(1);
  __m512i sum = _mm512_setzero_si512(), squares = sum, cross = sum;
  for (size_t j = 0; j < padded; j += 32) {
    __m512i x = _mm512_loadu_si512(z + j);
    __m512i f = _mm512_mulhi_epu16(_mm512_subs_epu16(x, first), per);
    f = _mm512_srli_epi16(_mm512_min_epi16(f, most), 8);
    sum = _mm512_dpwssd_epi32(sum, f, one);
    squares = _mm512_dpwssd_epi32(squares, f, f);
    cross = _mm512_dpwssd_epi32(cross, f, x);
  }
  out[0] = _mm512_reduce_add_epi32(sum);
  out[1] = _mm512_reduce_add_epi32(squares);
  out[2] = _mm512_reduce_add_epi32(cross);
}

/* Inner products of sixteen rows. The high codes are not shifted and so sixteen times too large: they have a sum of
 * their own, which is divided at the end, exactly (at most 240 * 127 * 65,536 < 2^31).
 *
 * Four sums of each kind are no faster than two. */
ISA_INLINE void dots(const int8_t *q, const uint8_t *block, size_t groups, size_t ahead, counts dot[1]) {
  const __m512i low_mask = _mm512_set1_epi8(0x0f), high_mask = _mm512_set1_epi8((char)0xf0);
  __m512i low[2], high[2];
  for (int h = 0; h < 2; h++) low[h] = high[h] = _mm512_setzero_si512();
  size_t g = 0;
  for (; g + 2 <= groups; g += 2) {
    for (size_t h = 0; h < 2; h++) {
      __m512i x = _mm512_loadu_si512(block + 64 * (g + h));
      if (ahead > 0) __builtin_prefetch(block + 64 * (g + h) + ahead);
      low[h] = _mm512_dpbusd_epi32(low[h], _mm512_and_si512(x, low_mask), _mm512_set1_epi32(i4_four(q + 8 * (g + h))));
      high[h] =
          _mm512_dpbusd_epi32(high[h], _mm512_and_si512(x, high_mask), _mm512_set1_epi32(i4_four(q + 8 * (g + h) + 4)));
    }
  }
  if (g < groups) {
    __m512i x = _mm512_loadu_si512(block + 64 * g);
    low[0] = _mm512_dpbusd_epi32(low[0], _mm512_and_si512(x, low_mask), _mm512_set1_epi32(i4_four(q + 8 * g)));
    high[0] = _mm512_dpbusd_epi32(high[0], _mm512_and_si512(x, high_mask), _mm512_set1_epi32(i4_four(q + 8 * g + 4)));
  }
  high[0] = _mm512_srai_epi32(_mm512_add_epi32(high[0], high[1]), 4);
  dot[0] = _mm512_add_epi32(_mm512_add_epi32(low[0], low[1]), high[0]);
}

ISA_INLINE lanes steps(counts dot, int32_t sum15) {
  return _mm512_cvtepi32_ps(_mm512_sub_epi32(_mm512_add_epi32(dot, dot), _mm512_set1_epi32(sum15)));
}

ISA_INLINE lanes numbers(counts x) { return _mm512_cvtepi32_ps(x); }

/* Sums of rows of even and of odd number, in 16 bits each: the first begin with those of the odd ones times 256. The
 * four quarters of a register have the same rows. */
ISA_INLINE void sign_tile(const uint8_t *tables, const uint8_t *lines, size_t n, counts sums[1]) {
  __m512i both = _mm512_setzero_si512(), odd = both;
  for (size_t j = 0; j < n; j++) {
    __m512i x = _mm512_loadu_si512(lines + 64 * j);
    __m512i a = _mm512_shuffle_epi8(_mm512_loadu_si512(tables + 128 * j), low_four(x));
    __m512i b = _mm512_shuffle_epi8(_mm512_loadu_si512(tables + 128 * j + 64), high_four(x));
    a = _mm512_add_epi8(a, b);
    both = _mm512_add_epi16(both, a);
    odd = _mm512_add_epi16(odd, _mm512_srli_epi16(a, 8));
  }
  __m512i even = _mm512_sub_epi16(both, _mm512_slli_epi16(odd, 8));
  __m256i e = _mm256_add_epi16(_mm512_castsi512_si256(even), _mm512_extracti64x4_epi64(even, 1));
  __m256i o = _mm256_add_epi16(_mm512_castsi512_si256(odd), _mm512_extracti64x4_epi64(odd, 1));
  __m128i e8 = _mm_add_epi16(_mm256_castsi256_si128(e), _mm256_extracti128_si256(e, 1));
  __m128i o8 = _mm_add_epi16(_mm256_castsi256_si128(o), _mm256_extracti128_si256(o, 1));
  __m256i rows = _mm256_set_m128i(_mm_unpackhi_epi16(e8, o8), _mm_unpacklo_epi16(e8, o8));
  sums[0] = _mm512_add_epi32(sums[0], _mm512_cvtepu16_epi32(rows));
}

typedef int8_t code;
#define TOKENS 8
#define GROUPS 2

/* Weights are 128 too large each, as the sums are by 128 times those of a token. */
ISA_INLINE void linear_sums(const uint8_t *weights, size_t in, const code *codes, const isa_token *info, int count,
                            int32_t out[TOKENS][16 * GROUPS]) {
  __m512i acc[TOKENS][GROUPS];
  for (int i = 0; i < count; i++) {
    for (int g = 0; g < GROUPS; g++) acc[i][g] = _mm512_set1_epi32(-128 * info[i].sum);
  }
  for (size_t k = 0; k < in; k += 4) {
    __m512i w[GROUPS];
    for (int g = 0; g < GROUPS; g++) w[g] = _mm512_loadu_si512(weights + 16 * ((size_t)g * in + k));
    for (int i = 0; i < count; i++) {
      __m512i x = _mm512_set1_epi32(i4_four(codes + (size_t)i * in + k));
      for (int g = 0; g < GROUPS; g++) acc[i][g] = _mm512_dpbusd_epi32(acc[i][g], w[g], x);
    }
  }
  for (int i = 0; i < count; i++) {
    for (int g = 0; g < GROUPS; g++) _mm512_store_si512(out[i] + 16 * g, acc[i][g]);
  }
}

/* Bytes of records are made 128 larger, to be unsigned: exact for every byte. */
ISA_INLINE void record_products(const int8_t *q, const uint8_t *const rows[4], int32_t out[4]) {
  const __m512i q0 = _mm512_loadu_si512(q), q1 = _mm512_loadu_si512(q + 64), flip = _mm512_set1_epi8((char)0x80);
  __m512i acc[4];
  __m512i more = _mm512_dpbusd_epi32(_mm512_dpbusd_epi32(_mm512_setzero_si512(), flip, q0), flip, q1);
  for (int r = 0; r < 4; r++) {
    __m512i x0 = _mm512_xor_si512(_mm512_loadu_si512(rows[r]), flip);
    __m512i x1 = _mm512_xor_si512(_mm512_loadu_si512(rows[r] + 64), flip);
    acc[r] = _mm512_dpbusd_epi32(_mm512_dpbusd_epi32(_mm512_setzero_si512(), x0, q0), x1, q1);
    acc[r] = _mm512_sub_epi32(acc[r], more);
  }
  _mm_storeu_si128((__m128i *)(void *)out, four_totals(acc));
}

#include "isa/lines.h"
#include "isa/network.h"
#include "isa/rows.h"
#include "isa/screen_i4.h"
#include "isa/screen_signs.h"

const isa_path isa_avx512 = ISA_PATH;

#else
typedef int isa_avx512_is_x86_only;
#endif

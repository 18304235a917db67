/* AVX2, FMA and F16C, for x86-64 since about 2013. Compiled with their flags; used only where isa.c has found them. */
#include "isa/bytes_avx2.h"
#include "isa/document.h"
#include "isa/i4.h"
#include "isa/quantize_i4.h"
#include "isa/rotate.h"

#if defined(__x86_64__)

#include <immintrin.h>

typedef __m256 lanes;
#define LANES 8
#define TILE  2
#define BLOCK 4

ISA_INLINE lanes all(float x) { return _mm256_set1_ps(x); }
ISA_INLINE lanes load(const float *x) { return _mm256_loadu_ps(x); }
ISA_INLINE lanes load_some(const float *x, size_t left) {
  const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return _mm256_maskload_ps(x, _mm256_cmpgt_epi32(_mm256_set1_epi32((int)left), lane));
}
ISA_INLINE lanes load_halves(const uint16_t *x) {
  return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)x));
}
ISA_INLINE lanes fused(lanes a, lanes b, lanes sum) { return _mm256_fmadd_ps(a, b, sum); }
ISA_INLINE lanes absolute(lanes v) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), v); }
ISA_INLINE lanes larger(lanes a, lanes b) { return _mm256_max_ps(a, b); }
ISA_INLINE lanes smaller(lanes a, lanes b) { return _mm256_min_ps(a, b); }
ISA_INLINE lanes above(lanes v, float least) { return _mm256_max_ps(v, _mm256_set1_ps(least)); }
ISA_INLINE lanes root(lanes v) { return _mm256_sqrt_ps(v); }

ISA_INLINE float total(lanes v) {
  __m128 s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  s = _mm_add_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_add_ss(s, _mm_shuffle_ps(s, s, 1)));
}

ISA_INLINE float largest(lanes v) {
  float lane[LANES], max = 0;
  _mm256_storeu_ps(lane, v);
  for (int i = 0; i < LANES; i++) max = lane[i] > max ? lane[i] : max;
  return max;
}

ISA_INLINE uint32_t not_below(lanes v, float least) {
  return (uint32_t)_mm256_movemask_ps(_mm256_cmp_ps(v, _mm256_set1_ps(least), _CMP_NLT_UQ));
}

ISA_INLINE int32_t sum_of(__m256i x) {
  __m128i s = _mm_add_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
  s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0x4e));
  return _mm_cvtsi128_si32(_mm_add_epi32(s, _mm_shuffle_epi32(s, 0xb1)));
}

/* maddubs multiplies unsigned by signed bytes: |q| by the code with q's sign. Two products are at most 2 x 127 x 127 =
 * 32,258, so that it never saturates at 32,767. */
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
  for (int r = 0; r < count; r++) out[r] = sum_of(acc[r]);
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

static size_t code_row(const float *row, size_t dim, isa_scale s, int8_t *codes, double *lane, int64_t *squares) {
  __m256d inverse = _mm256_set1_pd(s.inverse), step = _mm256_set1_pd(s.step);
  __m256d acc[2] = {_mm256_setzero_pd(), _mm256_setzero_pd()};
  __m128i sum = _mm_setzero_si128();
  size_t j = 0;
  for (; j + 8 <= dim; j += 8) {
    __m256 x = load(row + j);
    __m128i c0 = code4(_mm256_castps256_ps128(x), inverse, step, &acc[0]);
    __m128i c1 = code4(_mm256_extractf128_ps(x, 1), inverse, step, &acc[1]);
    __m128i c = _mm_packs_epi32(c0, c1);
    sum = _mm_add_epi32(sum, _mm_madd_epi16(c, c));
    _mm_storel_epi64((__m128i *)(codes + j), _mm_packs_epi16(c, c));
  }
  int32_t part[4];
  memcpy(lane, acc, sizeof acc);
  memcpy(part, &sum, sizeof part);
  for (int l = 0; l < 4; l++) *squares += part[l];
  return j;
}

/* A feature of its own for clang, which -mavx2 does not enable; every CPU with AVX2 has it. */
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

static void i4_count(const int16_t *z, size_t padded, i4_grid grid, int32_t out[3]) {
  const __m256i first = _mm256_set1_epi16((short)grid.first), per = _mm256_set1_epi16((short)grid.per);
  const __m256i most = _mm256_set1_epi16(4095), one = _mm256_set1_epi16(1);
  __m256i sum = _mm256_setzero_si256(), squares = sum, cross = sum;
  for (size_t j = 0; j < padded; j += 16) {
    __m256i x = _mm256_loadu_si256((const __m256i *)(const void *)(z + j));
    __m256i f = _mm256_mulhi_epu16(_mm256_subs_epu16(x, first), per);
    f = _mm256_srli_epi16(_mm256_min_epi16(f, most), 8);
    sum = _mm256_add_epi32(sum, _mm256_madd_epi16(f, one));
    squares = _mm256_add_epi32(squares, _mm256_madd_epi16(f, f));
    cross = _mm256_add_epi32(cross, _mm256_madd_epi16(f, x));
  }
  out[0] = sum_of(sum);
  out[1] = sum_of(squares);
  out[2] = sum_of(cross);
}

/* Adds the products of `count` groups (at most 4) to the sums of rows 0 .. 7 and 8 .. 15. A pair of products is at most
 * 2 * 15 * 127 = 3,810: the eight pairs of four groups stay below 2^15. */
ISA_INLINE void add_groups(const int8_t *q, const uint8_t *groups, int count, size_t ahead, __m256i dot[2]) {
  const __m256i mask = _mm256_set1_epi8(0x0f), ones = _mm256_set1_epi16(1);
  __m256i pairs[2] = {_mm256_setzero_si256(), _mm256_setzero_si256()};
  for (int g = 0; g < count; g++) {
    __m256i low = _mm256_set1_epi32(i4_four(q + 8 * g)), high = _mm256_set1_epi32(i4_four(q + 8 * g + 4));
    if (ahead > 0) __builtin_prefetch(groups + 64 * g + ahead);
    for (int h = 0; h < 2; h++) {
      __m256i x = _mm256_loadu_si256((const __m256i *)(const void *)(groups + 64 * g + 32 * h));
      __m256i a = _mm256_maddubs_epi16(_mm256_and_si256(x, mask), low);
      __m256i b = _mm256_maddubs_epi16(_mm256_and_si256(_mm256_srli_epi16(x, 4), mask), high);
      pairs[h] = _mm256_add_epi16(pairs[h], _mm256_add_epi16(a, b));
    }
  }
  for (int h = 0; h < 2; h++) dot[h] = _mm256_add_epi32(dot[h], _mm256_madd_epi16(pairs[h], ones));
}

ISA_INLINE void dots(const int8_t *q, const uint8_t *block, size_t groups, size_t ahead, counts dot[2]) {
  dot[0] = dot[1] = _mm256_setzero_si256();
  size_t g = 0;
  for (; g + 4 <= groups; g += 4) add_groups(q + 8 * g, block + 64 * g, 4, ahead, dot);
  for (; g < groups; g++) add_groups(q + 8 * g, block + 64 * g, 1, ahead, dot);
}

ISA_INLINE lanes steps(counts dot, int32_t sum15) {
  return _mm256_cvtepi32_ps(_mm256_sub_epi32(_mm256_add_epi32(dot, dot), _mm256_set1_epi32(sum15)));
}

ISA_INLINE lanes numbers(counts x) { return _mm256_cvtepi32_ps(x); }

/* As in avx512.c; the halves of a register have the same rows. */
ISA_INLINE void sign_tile(const uint8_t *tables, const uint8_t *lines, size_t n, counts sums[2]) {
  __m256i both = _mm256_setzero_si256(), odd = both;
  for (size_t j = 0; j < 2 * n; j++) {
    const uint8_t *low = tables + 128 * (j / 2) + 32 * (j % 2);
    __m256i x = take(lines + 32 * j);
    __m256i a = _mm256_shuffle_epi8(take(low), low_four(x)), b = _mm256_shuffle_epi8(take(low + 64), high_four(x));
    a = _mm256_add_epi8(a, b);
    both = _mm256_add_epi16(both, a);
    odd = _mm256_add_epi16(odd, _mm256_srli_epi16(a, 8));
  }
  __m256i even = _mm256_sub_epi16(both, _mm256_slli_epi16(odd, 8));
  __m128i e = _mm_add_epi16(_mm256_castsi256_si128(even), _mm256_extracti128_si256(even, 1));
  __m128i o = _mm_add_epi16(_mm256_castsi256_si128(odd), _mm256_extracti128_si256(odd, 1));
  sums[0] = _mm256_add_epi32(sums[0], _mm256_cvtepu16_epi32(_mm_unpacklo_epi16(e, o)));
  sums[1] = _mm256_add_epi32(sums[1], _mm256_cvtepu16_epi32(_mm_unpackhi_epi16(e, o)));
}

typedef int16_t code;
#define TOKENS 3
#define GROUPS 1

/* Bytes are widened, because products of bytes in pairs would not fit 16 bits. A register has four columns, two sums
 * each. */
ISA_INLINE void linear_sums(const uint8_t *weights, size_t in, const code *codes, const isa_token *info, int count,
                            int32_t out[TOKENS][16 * GROUPS]) {
  __m256i acc[TOKENS][4];
  for (int i = 0; i < count; i++) {
    for (int c = 0; c < 4; c++) acc[i][c] = _mm256_set1_epi32(-64 * info[i].sum);
  }
  for (size_t k = 0; k < in; k += 4) {
    const __m128i *at = (const __m128i *)(const void *)(weights + 16 * k);
    __m256i x[TOKENS];
    for (int i = 0; i < count; i++) {
      int64_t four;
      memcpy(&four, codes + (size_t)i * in + k, sizeof four);
      x[i] = _mm256_set1_epi64x(four);
    }
    for (int c = 0; c < 4; c++) {
      __m256i w = _mm256_cvtepu8_epi16(_mm_loadu_si128(at + c));
      for (int i = 0; i < count; i++) acc[i][c] = _mm256_add_epi32(acc[i][c], _mm256_madd_epi16(w, x[i]));
    }
  }
  for (int i = 0; i < count; i++) {
    for (int c = 0; c < 4; c++) {
      __m256i sum = _mm256_hadd_epi32(acc[i][c], acc[i][c]);
      __m128i four = _mm_unpacklo_epi64(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
      _mm_store_si128((__m128i *)(void *)(out[i] + 4 * c), four);
    }
  }
}

/* |q| by the byte, or by -1 - byte where q is negative, to which |q| is added: exact for every byte, as in times8. */
ISA_INLINE void record_products(const int8_t *q, const uint8_t *const rows[4], int32_t out[4]) {
  const __m256i ones = _mm256_set1_epi16(1), zero = _mm256_setzero_si256();
  __m256i acc[4] = {zero, zero, zero, zero}, more = zero;
  for (size_t j = 0; j < 128; j += 32) {
    __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)(q + j));
    __m256i size = _mm256_abs_epi8(v), negative = _mm256_cmpgt_epi8(zero, v);
    more = _mm256_add_epi32(more, _mm256_madd_epi16(_mm256_maddubs_epi16(size, _mm256_abs_epi8(negative)), ones));
    for (int r = 0; r < 4; r++) {
      __m256i x = _mm256_loadu_si256((const __m256i *)(const void *)(rows[r] + j));
      __m256i pairs = _mm256_maddubs_epi16(size, _mm256_xor_si256(x, negative));
      acc[r] = _mm256_add_epi32(acc[r], _mm256_madd_epi16(pairs, ones));
    }
  }
  for (int r = 0; r < 4; r++) out[r] = sum_of(_mm256_add_epi32(acc[r], more));
}

#include "isa/lines.h"
#include "isa/network.h"
#include "isa/rows.h"
#include "isa/screen_i4.h"
#include "isa/screen_signs.h"

const isa_path isa_avx2 = ISA_PATH;

#else
typedef int isa_avx2_is_x86_only;
#endif

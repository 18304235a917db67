/* Four-bit codes and halves with AVX2 and F16C; flags and detection as for avx2.c. */
#include "isa/i4.h"
#include "isa/quantize_i4.h"
#include "isa/rotate.h"

#if defined(__x86_64__)

#include <immintrin.h>

ISA_INLINE int32_t sum_of(__m256i x) {
  __m128i s = _mm_add_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
  s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0x4e));
  return _mm_cvtsi128_si32(_mm_add_epi32(s, _mm_shuffle_epi32(s, 0xb1)));
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

static void quantize_i4(const float *rows, size_t n, size_t dim, uint8_t *codes, ame_i4_info *info) {
  i4_quantize(rows, n, dim, codes, info);
}

static void rotate(float *rows, size_t n, size_t dim) { rotate_rows(rows, n, dim); }

/* Four query bytes in every lane. */
ISA_INLINE __m256i four(const int8_t *q) {
  int32_t v;
  memcpy(&v, q, sizeof v);
  return _mm256_set1_epi32(v);
}

/* Adds the products of `count` groups (at most 4) to the sums of rows 0 .. 7 and 8 .. 15. A pair of products is at most
 * 2 * 15 * 127 = 3,810: the eight pairs of four groups stay below 2^15. */
ISA_INLINE void add_groups(const int8_t *q, const uint8_t *groups, int count, __m256i dot[2]) {
  const __m256i mask = _mm256_set1_epi8(0x0f), ones = _mm256_set1_epi16(1);
  __m256i pairs[2] = {_mm256_setzero_si256(), _mm256_setzero_si256()};
  for (int g = 0; g < count; g++) {
    __m256i low = four(q + 8 * g), high = four(q + 8 * g + 4);
    for (int h = 0; h < 2; h++) {
      __m256i x = _mm256_loadu_si256((const __m256i *)(const void *)(groups + 64 * g + 32 * h));
      __m256i a = _mm256_maddubs_epi16(_mm256_and_si256(x, mask), low);
      __m256i b = _mm256_maddubs_epi16(_mm256_and_si256(_mm256_srli_epi16(x, 4), mask), high);
      pairs[h] = _mm256_add_epi16(pairs[h], _mm256_add_epi16(a, b));
    }
  }
  for (int h = 0; h < 2; h++) dot[h] = _mm256_add_epi32(dot[h], _mm256_madd_epi16(pairs[h], ones));
}

/* What the bounds of eight rows are made of. */
typedef struct rows8 {
  __m256 product, middle, err, norm, rest, size;
} rows8;

ISA_INLINE rows8 rows_of(const i4_screen *s, const float *c, __m256i dot) {
  rows8 r;
  dot = _mm256_sub_epi32(_mm256_add_epi32(dot, dot), _mm256_set1_epi32(s->sum15));
  __m256 bias = _mm256_loadu_ps(c + I4_BIAS);
  r.err = _mm256_loadu_ps(c + I4_ERR);
  r.norm = _mm256_loadu_ps(c + I4_NORM);
  __m256 levels = _mm256_mul_ps(_mm256_loadu_ps(c + I4_SCALE), _mm256_cvtepi32_ps(dot));
  __m256 offsets = _mm256_mul_ps(_mm256_loadu_ps(c + I4_OFFSET), _mm256_set1_ps(s->sum));
  r.product = _mm256_mul_ps(_mm256_set1_ps(s->scale), _mm256_add_ps(offsets, levels));
  r.middle = _mm256_add_ps(r.product, bias);
  r.rest = _mm256_mul_ps(r.norm, _mm256_set1_ps(s->per_norm));
  r.size = _mm256_mul_ps(_mm256_andnot_ps(_mm256_set1_ps(-0.0f), bias), _mm256_set1_ps(s->per_bias));
  return r;
}

ISA_INLINE __m256 half_of(const i4_screen *s, const rows8 *r, __m256 across) {
  __m256 h = _mm256_mul_ps(r->err, _mm256_add_ps(across, _mm256_set1_ps(s->per_err)));
  return _mm256_add_ps(_mm256_add_ps(h, r->rest), r->size);
}

ISA_INLINE uint32_t passing(const i4_screen *s, const rows8 *r, __m256 half) {
  __m256 bound = _mm256_add_ps(r->middle, half);
  return (uint32_t)_mm256_movemask_ps(_mm256_cmp_ps(bound, _mm256_set1_ps(s->threshold), _CMP_NLT_UQ));
}

static void screen_i4(const ame_i4_query *q, const uint8_t *blocks, size_t n, size_t dim, float threshold,
                      uint16_t *survivors, float *middle, float *half) {
  const size_t groups = (dim + 7) / 8, bytes = AME_BLOCK_BYTES(dim);
  const i4_screen s = i4_screen_of(q, threshold);
  for (size_t i = 0; i < n; i++) {
    const uint8_t *block = blocks + i * bytes;
    __m256i dot[2] = {_mm256_setzero_si256(), _mm256_setzero_si256()};
    size_t g = 0;
    for (; g + 4 <= groups; g += 4) add_groups(q->codes + 8 * g, block + 64 * g, 4, dot);
    for (; g < groups; g++) add_groups(q->codes + 8 * g, block + 64 * g, 1, dot);
    rows8 r[2];
    uint32_t mask = 0;
    for (int h = 0; h < 2; h++) {
      r[h] = rows_of(&s, (const float *)(const void *)(block + 64 * groups) + 8 * h, dot[h]);
      /* With rest in place of across the width is not below the true one, in f32 either: every step is monotone. */
      mask |= passing(&s, &r[h], half_of(&s, &r[h], _mm256_set1_ps(s.rest)));
    }
    if (mask) {
      __m256 width[2];
      mask = 0;
      for (int h = 0; h < 2; h++) {
        __m256 along = _mm256_div_ps(r[h].product, r[h].norm);
        __m256 square = _mm256_sub_ps(_mm256_set1_ps(s.square), _mm256_mul_ps(along, along));
        square = _mm256_max_ps(square, _mm256_set1_ps(s.floor)); /* the floor where the square is not a number */
        width[h] = half_of(&s, &r[h], _mm256_min_ps(_mm256_sqrt_ps(square), _mm256_set1_ps(s.rest)));
        mask |= passing(&s, &r[h], width[h]) << 8 * h;
      }
      for (int h = 0; mask && h < 2; h++) {
        _mm256_storeu_ps(middle + i * AME_BLOCK_ROWS + 8 * h, r[h].middle);
        _mm256_storeu_ps(half + i * AME_BLOCK_ROWS + 8 * h, width[h]);
      }
    }
    survivors[i] = (uint16_t)mask;
  }
}

static void f16_to_f32(const uint16_t *x, size_t n, float *out) {
  size_t i = 0;
  for (; i + 8 <= n; i += 8)
    _mm256_storeu_ps(out + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(x + i))));
  isa_scalar_f16_to_f32(x + i, n - i, out + i);
}

const isa_i4_path isa_avx2_i4 = {quantize_i4, rotate, screen_i4, f16_to_f32};

#else
typedef int isa_avx2_i4_is_x86_only;
#endif

/* Bytes of lines in AVX2: isa/lines.h has what they are for. For files that are compiled for it. */
#pragma once

#if defined(__x86_64__)

#include "isa/i4.h"

#include <immintrin.h>

typedef __m256i counts;
typedef __m256i bytes;
#define LINE_PARTS 2

ISA_INLINE bytes take(const uint8_t *x) { return _mm256_loadu_si256((const __m256i *)(const void *)x); }
ISA_INLINE void interleave(const bytes x[4], bytes out[4]) {
  bytes a = _mm256_unpacklo_epi8(x[0], x[1]), b = _mm256_unpacklo_epi8(x[2], x[3]);
  bytes c = _mm256_unpackhi_epi8(x[0], x[1]), d = _mm256_unpackhi_epi8(x[2], x[3]);
  out[0] = _mm256_unpacklo_epi16(a, b);
  out[1] = _mm256_unpackhi_epi16(a, b);
  out[2] = _mm256_unpacklo_epi16(c, d);
  out[3] = _mm256_unpackhi_epi16(c, d);
}
ISA_INLINE bytes low_four(bytes x) { return _mm256_and_si256(x, _mm256_set1_epi8(15)); }
ISA_INLINE bytes high_four(bytes x) { return low_four(_mm256_srli_epi16(x, 4)); }
/* maddubs multiplies unsigned by signed bytes, here |q| by the code, negated where q is negative. One exclusive or does
 * both: with 0x80 a line's byte becomes the code, and with 0x7f -1 - code, to which |q| is added once a row. That is
 * one step instead of two with sign_epi8, and exact for every byte: two products are at most 2 * 127 * 128 = 32,512. */
ISA_INLINE int32_t line_start(const ame_line_query *q) {
  int32_t sum = 0;
  for (size_t d = 0; d < q->count; d++) sum -= q->codes[d] < 0 ? q->codes[d] : 0;
  return sum;
}
/* Products of x ^ flip, which are codes. */
ISA_INLINE counts times_flipped(counts acc, bytes x, int flip, int32_t quad) {
  __m256i v = _mm256_set1_epi32(quad), negative = _mm256_cmpgt_epi8(_mm256_setzero_si256(), v);
  __m256i turned = _mm256_xor_si256(x, _mm256_xor_si256(negative, _mm256_set1_epi8((char)flip)));
  __m256i pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(v), turned);
  return _mm256_add_epi32(acc, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}
ISA_INLINE counts times8(counts acc, bytes x, int32_t quad) { return times_flipped(acc, x, 0x80, quad); }
ISA_INLINE counts times4(counts acc, bytes x, int32_t quad) {
  __m256i pairs = _mm256_maddubs_epi16(x, _mm256_set1_epi32(quad));
  return _mm256_add_epi32(acc, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}
ISA_INLINE void put_counts(int32_t *out, counts x) { _mm256_storeu_si256((__m256i *)(void *)out, x); }
ISA_INLINE counts every(int32_t x) { return _mm256_set1_epi32(x); }
ISA_INLINE counts take_counts(const int32_t *x) { return _mm256_loadu_si256((const __m256i *)(const void *)x); }
ISA_INLINE counts more_counts(counts x, const int32_t *from) { return _mm256_add_epi32(x, take_counts(from)); }

#endif

/* Bytes of lines in AVX-512 with VNNI: isa/lines.h has what they are for. For files that are compiled for it. */
#pragma once

#if defined(__x86_64__)

#include "isa/i4.h"

#include <immintrin.h>

typedef __m512i counts;
typedef __m512i bytes;
#define LINE_PARTS 1

ISA_INLINE bytes take(const uint8_t *x) { return _mm512_loadu_si512((const void *)x); }
ISA_INLINE void interleave(const bytes x[4], bytes out[4]) {
  bytes a = _mm512_unpacklo_epi8(x[0], x[1]), b = _mm512_unpacklo_epi8(x[2], x[3]);
  bytes c = _mm512_unpackhi_epi8(x[0], x[1]), d = _mm512_unpackhi_epi8(x[2], x[3]);
  out[0] = _mm512_unpacklo_epi16(a, b);
  out[1] = _mm512_unpackhi_epi16(a, b);
  out[2] = _mm512_unpacklo_epi16(c, d);
  out[3] = _mm512_unpackhi_epi16(c, d);
}
ISA_INLINE bytes low_four(bytes x) { return _mm512_and_si512(x, _mm512_set1_epi8(15)); }
ISA_INLINE bytes high_four(bytes x) { return low_four(_mm512_srli_epi16(x, 4)); }
/* The bytes are read as they are, 128 too large each. So a sum starts with -128 of each code of the query, and adding a
 * dimension puts its product in the place of that: at any time the sum is at most 128 * 127 * AME_LINE_DIMS < 2^31. */
ISA_INLINE int32_t line_start(const ame_line_query *q) { return -128 * q->sum; }
ISA_INLINE counts times8(counts acc, bytes x, int32_t quad) {
  return _mm512_dpbusd_epi32(acc, x, _mm512_set1_epi32(quad));
}
ISA_INLINE counts times4(counts acc, bytes x, int32_t quad) { return times8(acc, x, quad); }
ISA_INLINE void put_counts(int32_t *out, counts x) { _mm512_storeu_si512((void *)out, x); }
ISA_INLINE counts every(int32_t x) { return _mm512_set1_epi32(x); }
ISA_INLINE counts take_counts(const int32_t *x) { return _mm512_loadu_si512((const void *)x); }
ISA_INLINE counts more_counts(counts x, const int32_t *from) { return _mm512_add_epi32(x, take_counts(from)); }

#endif

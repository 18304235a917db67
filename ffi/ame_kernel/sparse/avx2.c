/* Sparse codes by AVX2, for every x86-64 without VBMI2. */
#if defined(__x86_64__)

#include "isa/bytes_avx2.h"
#include "sparse/x86.h"

#define SPARSE_TOGETHER 1
#define SPARSE_SCATTER  16

typedef __m128i half;
ISA_INLINE void put_half(uint8_t *out, half x) { _mm_storeu_si128((__m128i *)(void *)out, x); }
ISA_INLINE __m128i group(const uint8_t *x) { return _mm_loadl_epi64((const __m128i *)(const void *)x); }

/* The second eight places take their codes after those of the first eight, so that many are added to the table's
 * numbers. 0x80 plus at most eight still selects no byte. */
ISA_INLINE half spread16(const uint8_t *p, uint32_t bits, uint8_t flip) {
  static const uint8_t after[9][16] = {
      {0},
      {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1},
      {0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 2, 2, 2, 2, 2, 2},
      {0, 0, 0, 0, 0, 0, 0, 0, 3, 3, 3, 3, 3, 3, 3, 3},
      {0, 0, 0, 0, 0, 0, 0, 0, 4, 4, 4, 4, 4, 4, 4, 4},
      {0, 0, 0, 0, 0, 0, 0, 0, 5, 5, 5, 5, 5, 5, 5, 5},
      {0, 0, 0, 0, 0, 0, 0, 0, 6, 6, 6, 6, 6, 6, 6, 6},
      {0, 0, 0, 0, 0, 0, 0, 0, 7, 7, 7, 7, 7, 7, 7, 7},
      {0, 0, 0, 0, 0, 0, 0, 0, 8, 8, 8, 8, 8, 8, 8, 8},
  };
  const uint32_t low = bits & 255;
  const __m128i places = _mm_unpacklo_epi64(group(sparse_groups.spread[low]), group(sparse_groups.spread[bits >> 8]));
  const __m128i more = _mm_loadu_si128((const __m128i *)(const void *)after[__builtin_popcount(low)]);
  __m128i codes = _mm_loadu_si128((const __m128i *)(const void *)p);
  if (flip) codes = _mm_xor_si128(codes, _mm_set1_epi8((char)flip));
  return _mm_shuffle_epi8(codes, _mm_add_epi8(places, more));
}

ISA_INLINE bytes spread(const uint8_t **p, uint64_t mask, int part) {
  const uint32_t low = mask >> 32 * part & 0xffff, high = mask >> (32 * part + 16) & 0xffff;
  const __m128i first = spread16(*p, low, 0x80);
  *p += __builtin_popcount(low);
  const __m128i second = spread16(*p, high, 0x80);
  *p += __builtin_popcount(high);
  return _mm256_inserti128_si256(_mm256_castsi128_si256(first), second, 1);
}
ISA_INLINE counts spread_times(counts acc, bytes x, int32_t quad) { return times_flipped(acc, x, 0, quad); }

ISA_INLINE void put_places(uint16_t *out, const uint8_t *x, uint32_t first) {
  const __m128i places = _mm_add_epi16(_mm_cvtepu8_epi16(group(x)), _mm_set1_epi16((short)first));
  _mm_storeu_si128((__m128i *)(void *)out, places);
}
ISA_INLINE uint64_t occupied(const uint8_t *x) {
  const __m256i zero = _mm256_setzero_si256();
  const uint32_t low = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(take(x), zero));
  const uint32_t high = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(take(x + 32), zero));
  return ~((uint64_t)high << 32 | low);
}
ISA_INLINE void squeeze8(const uint8_t *x, uint8_t flip, uint32_t bits, uint8_t *to) {
  __m128i codes = _mm_xor_si128(group(x), _mm_set1_epi8((char)flip));
  _mm_storel_epi64((__m128i *)(void *)to, _mm_shuffle_epi8(codes, group(sparse_groups.squeeze[bits])));
}

#include "sparse/groups.h"
#include "sparse/put.h"

const isa_sparse isa_sparse_avx2 = ISA_SPARSE;

#else
typedef int sparse_avx2_is_x86_only;
#endif

/* Sparse codes by AVX-512 with VBMI2 and VPOPCNTDQ: Intel since Ice Lake, AMD since Zen 4. */
#if defined(__x86_64__)

#include "isa/bytes_avx512.h"
#include "sparse/x86.h"

#define SPARSE_TOGETHER 4
#define SPARSE_SCATTER  0

ISA_INLINE bytes spread(const uint8_t **p, uint64_t mask, int part) {
  (void)part;
  bytes x = _mm512_mask_expand_epi8(_mm512_set1_epi8((char)0x80), mask, take(*p));
  *p += __builtin_popcountll(mask);
  return x;
}
ISA_INLINE counts spread_times(counts acc, bytes x, int32_t quad) { return times8(acc, x, quad); }
ISA_INLINE void put_spread(const uint8_t **p, uint64_t mask, uint8_t *out) {
  _mm512_storeu_si512(out, spread(p, mask, 0));
}
ISA_INLINE void spread_zero(const uint8_t *p, uint64_t mask, uint8_t *out) {
  _mm512_storeu_si512(out, _mm512_maskz_expand_epi8(mask, take(p)));
}
/* Compilers vectorise the loop of run.h, but then count up to 31 words one by one at its end: a tenth of the time of an
 * inner product. The masked load here reads nothing beyond the n bytes. */
#define SPARSE_COUNTS
ISA_INLINE size_t sparse_count(const uint8_t *p, size_t n) {
  bytes sum = _mm512_setzero_si512();
  for (; n > AME_LINE; n -= AME_LINE, p += AME_LINE) sum = _mm512_add_epi64(sum, _mm512_popcnt_epi64(take(p)));
  const __mmask64 some = n == 0 ? 0 : ~(uint64_t)0 >> (AME_LINE - n);
  sum = _mm512_add_epi64(sum, _mm512_popcnt_epi64(_mm512_maskz_loadu_epi8(some, p)));
  return (size_t)_mm512_reduce_add_epi64(sum);
}
ISA_INLINE size_t count_masks(const uint64_t masks[8], size_t from, size_t end) {
  const __mmask8 some = (__mmask8)((1u << end) - (1u << from));
  return (size_t)_mm512_reduce_add_epi64(_mm512_popcnt_epi64(_mm512_maskz_loadu_epi64(some, masks)));
}
ISA_INLINE uint64_t occupied(const uint8_t *x) { return _mm512_test_epi8_mask(take(x), take(x)); }
ISA_INLINE void squeeze(const uint8_t *x, uint8_t flip, uint64_t mask, uint8_t *to) {
  bytes codes = _mm512_xor_si512(take(x), _mm512_set1_epi8((char)flip));
  _mm512_storeu_si512(to, _mm512_maskz_compress_epi8(mask, codes));
}

#include "sparse/put.h"

const isa_sparse isa_sparse_vbmi2 = ISA_SPARSE;

#else
typedef int sparse_vbmi2_is_x86_only;
#endif

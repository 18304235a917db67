/* What the paths AVX2 and VBMI2 both use. */
#pragma once

#include "sparse/sparse.h"

#include <immintrin.h>

/* Interleaving row i with row i + 8, four times, transposes sixteen rows of sixteen bytes. */
ISA_INLINE void transpose16(const uint8_t *const in[16], uint8_t *out) {
  __m128i x[16], y[16];
  for (int i = 0; i < 16; i++) x[i] = _mm_loadu_si128((const __m128i *)(const void *)in[i]);
  for (int round = 0; round < 4; round++) {
    for (int i = 0; i < 8; i++) {
      y[2 * i] = _mm_unpacklo_epi8(x[i], x[i + 8]);
      y[2 * i + 1] = _mm_unpackhi_epi8(x[i], x[i + 8]);
    }
    memcpy(x, y, sizeof x);
  }
  for (int i = 0; i < 16; i++) _mm_storeu_si128((__m128i *)(void *)(out + 64 * i), x[i]);
}

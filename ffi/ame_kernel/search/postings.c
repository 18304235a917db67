/* Numbers of few bits, 128 at a time, for lists of postings: four lanes side by side (Lemire and Boytsov, "Decoding
 * billions of integers per second through vectorization", 2015), so that one shift and one mask yield four of them.
 * Written with the compiler's vector types, which are SSE2 on x86-64 and NEON on AArch64; every CPU has these, so there
 * is one version for all paths. */
#include "search/steps.h"

#include <string.h>

typedef uint32_t lanes __attribute__((vector_size(16)));

/* Value i is in lane i % 4; the lanes' words of 32 bits stand side by side, 16 bytes each four. */
void kernel_unpack(const uint8_t *packed, uint32_t bits, uint32_t *out) {
  if (bits == 0) {
    memset(out, 0, AME_PACK * sizeof *out);
    return;
  }
  const uint32_t mask = bits == 32 ? 0xffffffffu : (1u << bits) - 1;
  lanes word;
  uint32_t shift = 0;
  memcpy(&word, packed, sizeof word);
  packed += sizeof word;
  for (uint32_t i = 0; i < AME_PACK; i += 4) {
    lanes v = word >> shift;
    shift += bits;
    if (shift >= 32) {
      shift -= 32;
      if (i + 4 < AME_PACK || shift > 0) {
        memcpy(&word, packed, sizeof word);
        packed += sizeof word;
        /* The high bits of the value are in the next word; a shift by all 32 bits is undefined. */
        if (shift > 0) v |= word << (bits - shift);
      }
    }
    v &= mask;
    memcpy(out + i, &v, sizeof v);
  }
}

void kernel_pack(const uint32_t *values, uint32_t bits, uint8_t *out) {
  if (bits == 0) return;
  const uint32_t mask = bits == 32 ? 0xffffffffu : (1u << bits) - 1;
  lanes word = {0};
  uint32_t shift = 0;
  for (uint32_t i = 0; i < AME_PACK; i += 4) {
    lanes v;
    memcpy(&v, values + i, sizeof v);
    v &= mask;
    word |= v << shift;
    shift += bits;
    if (shift >= 32) {
      memcpy(out, &word, sizeof word);
      out += sizeof word;
      shift -= 32;
      word = shift > 0 ? v >> (bits - shift) : (lanes){0};
    }
  }
}

/* A prefix sum of gap + 1, four at a time: two shifted sums, then the last position is added. */
uint32_t kernel_ascend(uint32_t next, uint32_t *gaps) {
  const lanes zero = {0};
  lanes before = {next - 1, next - 1, next - 1, next - 1};
  for (uint32_t i = 0; i < AME_PACK; i += 4) {
    lanes v;
    memcpy(&v, gaps + i, sizeof v);
    v += 1;
    v += __builtin_shufflevector(zero, v, 0, 4, 5, 6);
    v += __builtin_shufflevector(zero, v, 0, 1, 4, 5);
    v += before;
    memcpy(gaps + i, &v, sizeof v);
    before = __builtin_shufflevector(v, v, 3, 3, 3, 3);
  }
  return before[0];
}

typedef int32_t signs __attribute__((vector_size(16)));

size_t kernel_select(const uint32_t *sums, size_t n, uint32_t least, uint32_t *places) {
  const int32_t below = (int32_t)least - 1;
  size_t found = 0, i = 0;
  for (; i + 16 <= n; i += 16) {
    signs v[4];
    memcpy(v, sums + i, sizeof v);
    signs any = (v[0] > below) | (v[1] > below) | (v[2] > below) | (v[3] > below);
    uint64_t half[2];
    memcpy(half, &any, sizeof half);
    if ((half[0] | half[1]) == 0) continue; /* nearly always */
    for (size_t j = i; j < i + 16; j++) {
      places[found] = (uint32_t)j;
      found += sums[j] >= least;
    }
  }
  for (; i < n; i++) {
    places[found] = (uint32_t)i;
    found += sums[i] >= least;
  }
  return found;
}

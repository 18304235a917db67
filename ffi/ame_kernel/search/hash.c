/* A fast 64-bit hash for tables in memory, in the manner of wyhash: 64 x 64 -> 128-bit products folded to 64 bits. It
 * is never stored, so that it may change with any release; the stored hash is term_hash of text/token.c. */
#include "search/steps.h"

#include "text/scan.h"

__extension__ typedef unsigned __int128 u128;

static inline uint64_t fold_product(uint64_t a, uint64_t b) {
  u128 p = (u128)a * b;
  return (uint64_t)p ^ (uint64_t)(p >> 64);
}

uint64_t kernel_hash64(const void *data, size_t bytes, uint64_t seed) {
  const uint64_t k0 = 0xa0761d6478bd642full, k1 = 0xe7037ed1a0b428dbull, k2 = 0x8ebc6af09c88c6e3ull;
  const uint8_t *p = data;
  uint64_t h = fold_product(seed ^ k0, k1), a = 0, b = 0;
  size_t left = bytes;
  for (; left > 16; left -= 16, p += 16) h = fold_product(scan_load64(p) ^ k1, scan_load64(p + 8) ^ h);
  if (left >= 8) {
    a = scan_load64(p);
    b = scan_load64(p + left - 8);
  } else if (left >= 4) {
    a = scan_load32(p);
    b = scan_load32(p + left - 4);
  } else if (left) {
    a = ((uint64_t)p[0] << 16) | ((uint64_t)p[left / 2] << 8) | p[left - 1];
  }
  return fold_product(k2 ^ (uint64_t)bytes, fold_product(a ^ k1, b ^ h));
}

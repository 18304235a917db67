#include "rows/sparse.h"

#include <string.h>

uint64_t ty_sparse_bytes(const int8_t *codes, uint32_t dim) {
  uint32_t filled = 0;
  for (uint32_t i = 0; i < dim; i++) filled += codes[i] != 0;
  return ty_sparse_least(dim) + filled;
}

/* Bit i of the result is set where byte i of the eight is not 0. The additions do not carry from byte to byte; the
 * product moves the eight lowest bits of the bytes side by side. */
static inline uint64_t filled_of(uint64_t eight) {
  const uint64_t low = 0x7f7f7f7f7f7f7f7full, each = 0x0101010101010101ull;
  uint64_t filled = (((eight & low) + low) | eight) >> 7 & each;
  return filled * 0x0102040810204080ull >> 56;
}

void ty_sparse_put(float scale, const int8_t *codes, uint32_t dim, uint8_t *out) {
  uint8_t *bits = out + sizeof scale, *to = out + ty_sparse_least(dim);
  memcpy(out, &scale, sizeof scale);
  for (uint32_t first = 0; first < dim; first += 8) {
    uint64_t eight = 0;
    memcpy(&eight, codes + first, dim - first < 8 ? dim - first : 8);
    uint64_t filled = filled_of(eight);
    *bits++ = (uint8_t)filled;
    for (; filled != 0; filled &= filled - 1) *to++ = (uint8_t)codes[first + (uint32_t)__builtin_ctzll(filled)];
  }
}

/* The bitmap's bits from dimension `first` on, a multiple of 8: up to 64, and no byte beyond the bitmap is read. */
static inline uint64_t bits_at(const uint8_t *bits, uint32_t first, uint32_t dim) {
  const uint32_t left = dim - first;
  uint64_t some = 0;
  memcpy(&some, bits + first / 8, left < 64 ? (left + 7) / 8 : 8);
  return left < 64 ? some & ((1ull << left) - 1) : some;
}

bool ty_sparse_good(ty_slice from, uint32_t dim) {
  const uint64_t head = ty_sparse_least(dim);
  if (from.bytes < head) return false;
  const uint8_t *bits = from.data + sizeof(float);
  uint64_t filled = 0, codes = from.bytes - head;
  for (uint32_t first = 0; first < dim; first += 64)
    filled += (uint64_t)__builtin_popcountll(bits_at(bits, first, dim));
  bool good = filled == codes && (dim % 8 == 0 || bits[dim / 8] >> dim % 8 == 0);
  for (uint64_t i = 0; i < codes; i++) good &= from.data[head + i] != 0;
  return good;
}

void ty_sparse_take(ty_slice from, uint32_t dim, uint8_t *out) {
  const uint8_t *bits = from.data + sizeof(float), *at = from.data + ty_sparse_least(dim);
  const uint8_t *end = from.data + from.bytes;
  uint8_t *codes = out + sizeof(float);
  memcpy(out, from.data, sizeof(float));
  memset(codes, 0, dim);
  for (uint32_t first = 0; first < dim; first += 64)
    for (uint64_t some = bits_at(bits, first, dim); some != 0 && at < end; some &= some - 1)
      codes[first + (uint32_t)__builtin_ctzll(some)] = *at++;
}

void ty_sparse_decode(ty_slice from, uint32_t dim, float *out) {
  const uint8_t *bits = from.data + sizeof(float), *at = from.data + ty_sparse_least(dim);
  const uint8_t *end = from.data + from.bytes;
  float scale;
  memcpy(&scale, from.data, sizeof scale);
  for (uint32_t i = 0; i < dim; i++)
    out[i] = scale * 0.0f; /* as the other form decodes: -0 where the scale is negative */
  for (uint32_t first = 0; first < dim; first += 64)
    for (uint64_t some = bits_at(bits, first, dim); some != 0 && at < end; some &= some - 1)
      out[first + (uint32_t)__builtin_ctzll(some)] = scale * (float)(int8_t)*at++;
}

#include "rows/sparse.h"

#include <string.h>

#include "os/assert.h"

uint64_t ty_sparse_bytes(const int8_t *codes, uint32_t dim) {
  uint32_t filled = 0;
  for (uint32_t i = 0; i < dim; i++) filled += codes[i] != 0;
  return ty_sparse_least(dim) + filled;
}

void ty_sparse_put(const ame_kernel *k, float scale, const int8_t *codes, uint32_t dim, uint64_t bytes, uint8_t *out) {
  const uint64_t head = ty_sparse_least(dim);
  TY_ASSERT(bytes == ty_sparse_bytes(codes, dim));
  memcpy(out, &scale, sizeof scale);
  k->squeeze_row(codes, dim, (size_t)(bytes - head), out + sizeof scale, out + head);
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

void ty_sparse_take(const ame_kernel *k, ty_slice from, uint32_t dim, uint8_t *out) {
  const uint64_t head = ty_sparse_least(dim);
  memcpy(out, from.data, sizeof(float));
  k->spread_row(from.data + sizeof(float), from.data + head, (size_t)(from.bytes - head), dim,
                (int8_t *)out + sizeof(float));
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

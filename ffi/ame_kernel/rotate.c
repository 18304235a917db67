/* A fixed pseudo-random rotation: rows with a few large coordinates, as hashed features have them, leave four bits for all the others only when
 * the large ones are spread over all dimensions first.
 *
 * Signs by a hash of the dimension, then a fast Walsh-Hadamard transform (Fino and Algazi, 1976) over the largest power of two that fits,
 * once from the front and once up to the end, twice over where that is not the whole row. Orthogonal, so inner products stay. Only sums,
 * differences and one product a coordinate, in an order that does not depend on the path: equal to the bit everywhere. */
#include <string.h>

#include "kernel.h"

/* splitmix64's finaliser: a bit that looks random for each dimension and round. */
static uint32_t sign_bit(uint64_t i) {
  uint64_t z = (i + 1) * 0x9e3779b97f4a7c15ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return (uint32_t)(z >> 63);
}

static void flip(float *x, size_t dim, uint64_t round) {
  for (size_t i = 0; i < dim; i++) {
    uint32_t bits;
    memcpy(&bits, x + i, sizeof bits);
    bits ^= sign_bit(round << 32 | i) << 31;
    memcpy(x + i, &bits, sizeof bits);
  }
}

static void butterflies(float *x, size_t n, size_t half) {
  for (size_t i = 0; i < n; i += 2 * half) {
    float *restrict a = x + i, *restrict b = x + i + half;
    for (size_t j = 0; j < half; j++) {
      float sum = a[j] + b[j], difference = a[j] - b[j];
      a[j] = sum;
      b[j] = difference;
    }
  }
}

static void transform(float *x, size_t n) {
  /* 1 / sqrt(n): a power of two, or that times the root of a half. */
  float scale = 1;
  size_t left = n;
  for (; left >= 4; left /= 4) scale *= 0.5f;
  if (left == 2) scale *= 0.70710678118654752f;
  for (size_t half = n / 2; half >= 1; half /= 2) butterflies(x, n, half);
  for (size_t i = 0; i < n; i++) x[i] *= scale;
}

void kernel_rotate(float *rows, size_t n, size_t dim) {
  size_t width = 1;
  while (2 * width <= dim) width *= 2;
  for (size_t i = 0; i < n; i++) {
    float *row = rows + i * dim;
    for (uint64_t round = 0; round < (width == dim ? 1u : 2u); round++) {
      flip(row, dim, round);
      transform(row, width);
      if (width < dim) transform(row + (dim - width), width);
    }
  }
}

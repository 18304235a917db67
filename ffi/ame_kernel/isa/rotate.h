/* A fixed pseudo-random rotation: rows with a few large coordinates, as of hashed features, would leave the others
 * hardly any of the sixteen levels, so these are spread over all dimensions first.
 *
 * Signs by a hash of the dimension, then a fast Walsh-Hadamard transform (Fino and Algazi, 1976) over the largest power
 * of two that fits: the whole row once, or else its front, its end, its front and its end. Each has its own signs,
 * because two transforms over nearly the same dimensions cancel: with the same signs for both, a row with only the
 * first of 257 dimensions set had one coordinate of 0.99 afterwards. Orthogonal, so inner products stay. Only sums,
 * differences and one product a coordinate, in an order that does not depend on the path: equal to the bit everywhere.
 * This source is compiled into each path's file with that CPU's flags; its vectors are the compiler's types, which are
 * split where registers are narrower. */
#pragma once

#include "isa/isa.h"

#define ROTATE_LANES 16
typedef float rotate_lanes __attribute__((vector_size(4 * ROTATE_LANES)));
typedef uint32_t rotate_bits __attribute__((vector_size(4 * ROTATE_LANES)));

ISA_INLINE void rotate_flip(float *x, size_t n, uint64_t step) {
  const rotate_bits lane = {1u << 0, 1u << 1, 1u << 2,  1u << 3,  1u << 4,  1u << 5,  1u << 6,  1u << 7,
                            1u << 8, 1u << 9, 1u << 10, 1u << 11, 1u << 12, 1u << 13, 1u << 14, 1u << 15};
  for (size_t i = 0; i < n; i += 64) {
    uint64_t signs = isa_mix(((step << 32 | i / 64) + 1) * ISA_GOLDEN); /* of 64 dimensions */
    size_t end = n - i < 64 ? n : i + 64, j = i;
    for (; j + ROTATE_LANES <= end; j += ROTATE_LANES, signs >>= ROTATE_LANES) {
      rotate_bits v, set = lane & (uint32_t)signs;
      memcpy(&v, x + j, sizeof v);
      v ^= (rotate_bits)(set == lane) << 31;
      memcpy(x + j, &v, sizeof v);
    }
    for (; j < end; j++, signs >>= 1) x[j] = signs & 1 ? -x[j] : x[j];
  }
}

/* Fewer than sixteen. */
ISA_INLINE void rotate_few(float *x, size_t n, float scale) {
  for (size_t half = n / 2; half >= 1; half /= 2) {
    for (size_t i = 0; i < n; i++) {
      if (i & half) continue;
      float a = x[i], b = x[i + half];
      x[i] = a + b;
      x[i + half] = a - b;
    }
  }
  for (size_t i = 0; i < n; i++) x[i] *= scale;
}

/* Partners at a distance of `half` and then of half / 2, at least sixteen: two steps for one pass over memory. */
ISA_INLINE void rotate_two_steps(float *x, size_t n, size_t half) {
  for (size_t i = 0; i < n; i += 2 * half) {
    for (size_t j = i; j < i + half / 2; j += ROTATE_LANES) {
      rotate_lanes a, b, c, d, e, f;
      memcpy(&a, x + j, sizeof a);
      memcpy(&b, x + j + half / 2, sizeof b);
      memcpy(&c, x + j + half, sizeof c);
      memcpy(&d, x + j + half + half / 2, sizeof d);
      e = a + c;
      f = b + d;
      c = a - c;
      d = b - d;
      a = e + f;
      b = e - f;
      e = c + d;
      f = c - d;
      memcpy(x + j, &a, sizeof a);
      memcpy(x + j + half / 2, &b, sizeof b);
      memcpy(x + j + half, &e, sizeof e);
      memcpy(x + j + half + half / 2, &f, sizeof f);
    }
  }
}

/* Every lane with its partner, given by `...`: a + b where the lane is the first of the two and, with its own sign
 * changed, a - b where it is the second. */
#define ROTATE_STEP(v, second, ...)                                                                                    \
  v = __builtin_shufflevector(v, v, __VA_ARGS__) + (rotate_lanes)((rotate_bits)(v) ^ (second))
#define ROTATE_S 0x80000000u

/* The steps within sixteen lanes, and the scale. */
ISA_INLINE void rotate_sixteen(rotate_lanes *x, float scale) {
  const rotate_bits by8 = {0,        0,        0,        0,        0,        0,        0,        0,
                           ROTATE_S, ROTATE_S, ROTATE_S, ROTATE_S, ROTATE_S, ROTATE_S, ROTATE_S, ROTATE_S};
  const rotate_bits by4 = {0, 0, 0, 0, ROTATE_S, ROTATE_S, ROTATE_S, ROTATE_S,
                           0, 0, 0, 0, ROTATE_S, ROTATE_S, ROTATE_S, ROTATE_S};
  const rotate_bits by2 = {0, 0, ROTATE_S, ROTATE_S, 0, 0, ROTATE_S, ROTATE_S,
                           0, 0, ROTATE_S, ROTATE_S, 0, 0, ROTATE_S, ROTATE_S};
  const rotate_bits by1 = {0, ROTATE_S, 0, ROTATE_S, 0, ROTATE_S, 0, ROTATE_S,
                           0, ROTATE_S, 0, ROTATE_S, 0, ROTATE_S, 0, ROTATE_S};
  rotate_lanes v = *x;
  ROTATE_STEP(v, by8, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7);
  ROTATE_STEP(v, by4, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11);
  ROTATE_STEP(v, by2, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13);
  ROTATE_STEP(v, by1, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14);
  *x = v * scale;
}

/* The last steps, sixteen lanes at a time; first, where that is left, the step at a distance of sixteen. */
ISA_INLINE void rotate_last(float *x, size_t n, size_t half, float scale) {
  for (size_t i = 0; i < n; i += ROTATE_LANES) {
    rotate_lanes a, b, c;
    memcpy(&a, x + i, sizeof a);
    if (half == ROTATE_LANES) {
      memcpy(&b, x + i + ROTATE_LANES, sizeof b);
      c = a - b;
      a = a + b;
      rotate_sixteen(&c, scale);
      memcpy(x + i + ROTATE_LANES, &c, sizeof c);
    }
    rotate_sixteen(&a, scale);
    memcpy(x + i, &a, sizeof a);
    if (half == ROTATE_LANES) i += ROTATE_LANES;
  }
}

ISA_INLINE void rotate_transform(float *x, size_t n) {
  /* 1 / sqrt(n): a power of two, or that times the root of a half. */
  float scale = 1;
  size_t left = n, half = n / 2;
  for (; left >= 4; left /= 4) scale *= 0.5f;
  if (left == 2) scale *= 0.70710678118654752f;
  if (n < ROTATE_LANES) {
    rotate_few(x, n, scale);
    return;
  }
  for (; half >= 2 * ROTATE_LANES; half /= 4) rotate_two_steps(x, n, half);
  rotate_last(x, n, half, scale);
}

ISA_INLINE void rotate_part(float *x, size_t n, uint64_t step) {
  rotate_flip(x, n, step);
  rotate_transform(x, n);
}

static void rotate(float *rows, size_t n, size_t dim) {
  size_t width = 1;
  while (2 * width <= dim) width *= 2;
  for (size_t i = 0; dim && i < n; i++) {
    float *row = rows + i * dim;
    if (width == dim) {
      rotate_part(row, width, 0);
      continue;
    }
    for (uint64_t step = 0; step < 4; step++) rotate_part(row + (step % 2 ? dim - width : 0), width, step);
  }
}

/* The vector of a document from the sums of its features: embed/finish.c has the reasons. Every element takes two
 * square roots: a vector of 2,048 takes 0.5 us with AVX-512 and 1.9 with the registers that every x86-64 CPU has.
 *
 * Equal to the bit everywhere: sums and maxima have DOCUMENT_LANES lanes, element i in lane i % DOCUMENT_LANES, which
 * are added in order, and every operation on an element is rounded as IEEE 754 says. This source is compiled into each
 * path's file with that CPU's flags. */
#pragma once

#include "isa/isa.h"

#include <math.h>

#define DOCUMENT_LANES    16u
#define DOCUMENT_MOST_RMS 6.0f

typedef struct document_lanes {
  float at[DOCUMENT_LANES];
} document_lanes;

ISA_INLINE float document_total(const document_lanes *lanes) {
  float sum = 0;
  for (uint32_t j = 0; j < DOCUMENT_LANES; j++) sum += lanes->at[j];
  return sum;
}

/* Rounds to 17 significant bits, so that its product with a code is exact, as is the quotient by 127 that
 * recovers it. */
ISA_INLINE float document_scale(double x) {
  int exponent;
  double fraction = frexp(x, &exponent);
  return (float)ldexp((double)(int32_t)(fraction * 131072 + 0.5), exponent - 17);
}

/* To the power of 3/4, in place; the sums of the squares before and after, and the largest element after. */
ISA_INLINE void document_damp(float *x, uint32_t dim, float *before, float *after, float *largest) {
  document_lanes old = {{0}}, damped = {{0}}, most = {{0}};
  for (uint32_t i = 0; i < dim; i += DOCUMENT_LANES) {
    for (uint32_t j = 0; j < DOCUMENT_LANES; j++) {
      float v = x[i + j], root = sqrtf(fabsf(v)), size = root * sqrtf(root);
      old.at[j] += v * v;
      damped.at[j] += size * size;
      most.at[j] = size > most.at[j] ? size : most.at[j];
      x[i + j] = copysignf(size, v);
    }
  }
  *before = document_total(&old);
  *after = document_total(&damped);
  *largest = 0;
  for (uint32_t j = 0; j < DOCUMENT_LANES; j++) *largest = most.at[j] > *largest ? most.at[j] : *largest;
}

/* Writes the codes as floats. */
ISA_INLINE void document_round(const float *x, uint32_t dim, float most, float per, float *out) {
  for (uint32_t i = 0; i < dim; i++) {
    float y = x[i];
    y = y > most ? most : y;
    y = y < -most ? -most : y;
    y *= per;
    out[i] = (float)(int32_t)(y + copysignf(0.5f, y));
  }
}

/* Of codes: a lane's sum is below 2^24 and so exact. */
ISA_INLINE uint32_t document_squares(const float *codes, uint32_t dim) {
  document_lanes lanes = {{0}};
  uint32_t sum = 0;
  for (uint32_t i = 0; i < dim; i += DOCUMENT_LANES) {
    for (uint32_t j = 0; j < DOCUMENT_LANES; j++) lanes.at[j] += codes[i + j] * codes[i + j];
  }
  for (uint32_t j = 0; j < DOCUMENT_LANES; j++) sum += (uint32_t)lanes.at[j];
  return sum;
}

static void document(float *x, uint32_t used, uint32_t dim, float pad, float *out) {
  float before, after, largest;
  document_damp(x, dim, &before, &after, &largest); /* the pad's sums are zero */
  if (before > 0) pad *= sqrtf(after / before);
  float most = DOCUMENT_MOST_RMS * sqrtf(after / (float)used);
  if (largest > most) largest = most;
  if (largest < pad) largest = pad;
  float per = 127.0f / largest;
  document_round(x, dim, most, per, out);
  for (uint32_t i = used; i < dim; i++) out[i] = (float)(int32_t)(pad * per + 0.5f);
  float scale = document_scale(1 / sqrt((double)document_squares(out, dim)));
  for (uint32_t i = 0; i < dim; i++) out[i] *= scale;
}

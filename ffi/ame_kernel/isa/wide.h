/* Sixteen floats at a time, on every path: a compiler splits a `wide` into the registers that the path has, element by
 * element, so that results are equal to the bit. Helpers take pointers: how a `wide` is passed depends on the
 * registers. */
#pragma once

#include "isa/isa.h"

#define WIDE 16
typedef float wide __attribute__((vector_size(64)));
typedef int32_t wide_int __attribute__((vector_size(64)));

ISA_INLINE void wide_load(wide *v, const float *x) { memcpy(v, x, sizeof *v); }
ISA_INLINE void wide_store(float *x, const wide *v) { memcpy(x, v, sizeof *v); }
ISA_INLINE float wide_sum(const wide *v) {
  float lane[WIDE];
  wide_store(lane, v);
  return isa_sum16(lane);
}
/* The larger one of each lane. */
ISA_INLINE void wide_raise(wide *most, const wide *v) {
  wide_int above = *v > *most;
  *most = (wide)((above & (wide_int)*v) | (~above & (wide_int)*most));
}
ISA_INLINE float wide_largest(const wide *v) {
  float lane[WIDE];
  wide_store(lane, v);
  for (int n = WIDE / 2; n > 0; n /= 2) {
    for (int i = 0; i < n; i++) lane[i] = lane[i + n] > lane[i] ? lane[i + n] : lane[i];
  }
  return lane[0];
}

/* Added to a float of less than 2^22, it rounds that to a whole number, ties to even, whose value is then in the low
 * bits. */
#define ROUNDER      12582912.0f
#define ROUNDER_BITS 0x4b400000

/* e^x for x of at most 80; below -80 it is that of -80, some 10^-35. The relative error is below 2^-21. */
ISA_INLINE void wide_exp(wide *x) {
  const wide least = (wide){0} - 80.0f;
  wide v = *x;
  wide_raise(&v, &least);
  wide rounded = v * 1.44269504f + ROUNDER;
  wide power = rounded - ROUNDER;
  wide f = (v - power * 0.693359375f) - power * -2.12194440e-4f; /* ln 2 in two parts: the first product is exact */
  wide p = f * 1.3888889e-3f + 8.3333333e-3f;
  p = p * f + 4.1666668e-2f;
  p = p * f + 1.6666667e-1f;
  p = p * f + 0.5f;
  p = p * f + 1.0f;
  p = p * f + 1.0f;
  wide_int scale = ((wide_int)rounded - ROUNDER_BITS + 127) << 23;
  *x = p * (wide)scale;
}

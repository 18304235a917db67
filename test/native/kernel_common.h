/* What the kernel's test programs share: numbers at random and memory of exact size. */
#pragma once

#include "../../ffi/ame_kernel/ame_kernel.h"
#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const ame_kernel *kernel;

static uint64_t random_state = 20240611;
static inline uint64_t random_u64(void) {
  uint64_t z = (random_state += 0x9e3779b97f4a7c15ull);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}
static inline float random_float(void) { return (float)((double)(random_u64() >> 11) * 0x1p-52 - 1.0); }

/* Exactly n bytes, so that the sanitizer sees the first one beyond. */
static inline void *memory(size_t bytes) {
  void *p = malloc(bytes ? bytes : 1);
  if (!p) abort();
  return p;
}

static inline float random_gauss(void) {
  double s = 0;
  for (int i = 0; i < 12; i++) s += random_float();
  return (float)(s / 2);
}

static inline double norm_of(const float *x, size_t n) {
  long double s = 0;
  for (size_t i = 0; i < n; i++) s += (long double)x[i] * x[i];
  return (double)sqrtl(s);
}

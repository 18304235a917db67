/* Half precision, in integers: the compilers' conversion calls a run-time library unless compiled for a CPU that has
 * it. */
#include "isa/isa.h"

static uint16_t half_of(uint32_t bits) {
  uint32_t sign = bits >> 16 & 0x8000u, size = bits & 0x7fffffffu;
  if (size > 0x7f800000u) return (uint16_t)(sign | 0x7e00u | (size >> 13 & 0x3ffu)); /* NaN, made quiet */
  if (size >= 0x477ff000u) return (uint16_t)(sign | 0x7c00u);                        /* 65,520 and above: infinity */
  if (size >= 0x38800000u) { /* normal, from 2^-14: drop thirteen bits, ties to even; a carry moves into the exponent */
    uint32_t rounded = size + 0xfffu + (size >> 13 & 1u);
    return (uint16_t)(sign | (rounded - 0x38000000u) >> 13);
  }
  if (size <= 0x33000000u) return (uint16_t)sign; /* up to 2^-25, a tie between 0 and the smallest */
  /* Subnormal: the significand in units of 2^-24. */
  uint32_t shift = 126u - (size >> 23); /* 14 .. 24 */
  uint32_t significand = (size & 0x7fffffu) | 0x800000u;
  uint32_t kept = significand >> shift, rest = significand & ((1u << shift) - 1u), tie = 1u << (shift - 1u);
  if (rest > tie || (rest == tie && (kept & 1u))) kept++;
  return (uint16_t)(sign | kept);
}

void kernel_f32_to_f16(const float *x, size_t n, uint16_t *out) {
  for (size_t i = 0; i < n; i++) {
    uint32_t bits;
    memcpy(&bits, x + i, sizeof bits);
    out[i] = half_of(bits);
  }
}

/* Without a branch on the value, so that compilers vectorise it. A subnormal is its significand times 2^-24, exact in
 * f32. */
void isa_scalar_f16_to_f32(const uint16_t *x, size_t n, float *out) {
  for (size_t i = 0; i < n; i++) {
    uint32_t sign = (uint32_t)(x[i] & 0x8000u) << 16, size = x[i] & 0x7fffu;
    uint32_t normal = (size << 13) + 0x38000000u, special = normal + 0x38000000u; /* infinity and NaN */
    special |= size > 0x7c00u ? 0x400000u : 0;                                    /* made quiet */
    float small = (float)(int32_t)size * 0x1p-24f;
    uint32_t bits;
    memcpy(&bits, &small, sizeof bits);
    bits = size >= 0x7c00u ? special : size >= 0x400u ? normal : bits;
    bits |= sign;
    memcpy(out + i, &bits, sizeof bits);
  }
}

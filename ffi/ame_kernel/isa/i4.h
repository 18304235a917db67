/* Four-bit screening: shared by all paths. Each path does the operations of the scalar one (scalar.c) in the same order
 * and fuses nothing, so that the bounds are equal to the bit everywhere.
 *
 * Why the bound holds as computed. Let u = 2^-24, L = length, R = `rounding` of ame_kernel.h, and e = x - x^ for the
 * real x^.
 *  - m has four roundings that add up to at most L (|offset| sqrt(dim) + |scale| ||v||): it is off by less than R L
 * / 8. The least-squares scale and offset are rounded to f32, so that e is orthogonal to x^ up to about R / 32: that
 * part of the error is below R L / 16, and so is that of its orthogonality to the vector of ones. Adding bias to m
 * costs u |m| <= R L / 32 and u |bias|.
 *  - (m / norm)^2 and its difference from L^2 are off by at most 5 u L^2 + R L^2 / (4 norm). The root of the floor is L
 *    / 16, so the difference of two roots is at most the difference of the squares by L / 8: across is too small by no
 *    more than 40 u L + 2 R L / norm. It is multiplied by ||e|| <= norm: 40 u L ||e|| + 2 R L.
 *  - The roundings from the root on are fewer than 8: a part of 8 u of err * across, and the same of the other two
 *    terms, which per_err, per_norm and per_bias cover. err is at least (||e|| + 64 R)(1 + 2^-14) and across at least L
 *    / 16: this adds 1024 u ||e|| across >= 64 u L ||e|| less the 8 u, and 4 R L. The sums above need 40 u L ||e|| and
 *    less than 3 R L. Within AME_I4_LEAST and AME_I4_MOST nothing overflows (m < 2^110), and underflow (2^-149) is far
 *    below R L. */
#pragma once

#include "isa/isa.h"

/* The five columns after a block's codes. */
enum { I4_SCALE = 0, I4_OFFSET = 16, I4_ERR = 32, I4_NORM = 48, I4_BIAS = 64 };

/* Constants of a call, the same for every row. */
typedef struct i4_screen {
  float sum, scale, rest, square, floor, per_err, per_norm, per_bias, threshold;
  int32_t sum15;
} i4_screen;

ISA_INLINE i4_screen i4_screen_of(const ame_i4_query *q, float threshold) {
  i4_screen s;
  s.sum = (float)q->sum;
  s.scale = q->scale;
  float least = q->length * 0.0625f; /* the root of the floor, exactly */
  s.rest = q->rest > least ? q->rest : least;
  s.square = q->length * q->length;
  s.floor = s.square * 0x1p-8f;
  s.per_err = q->per_err;
  s.per_norm = q->per_norm;
  s.per_bias = q->per_bias;
  s.threshold = threshold;
  s.sum15 = 15 * q->sum;
  return s;
}

/* Four query bytes as one number, for every lane. */
ISA_INLINE int32_t i4_four(const int8_t *q) {
  int32_t v;
  memcpy(&v, q, sizeof v);
  return v;
}

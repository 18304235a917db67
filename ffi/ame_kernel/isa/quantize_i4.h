/* The quantiser to four bits: this one source is compiled into each path's file with that CPU's flags. Its sums have a
 * fixed order of lanes and nothing is fused, so that it is equal to the bit on every path and compilers vectorise it.
 * contest_i4.h finds the codes; their scale, offset and bounds are computed from the row itself, in double.
 *
 * The error is computed from the sums of the fit, not by comparing the row with its levels: with y = x - (about its
 * mean) and g = code - (mean code), ||e||^2 = sum of y^2 - total^2 / n - slope * (sum of y g). Each sum has dim / 16 +
 * 8 roundings of 2^-53 at most, of ||y||^2 and ||y|| ||g||, and slope <= ||y|| / ||g||: at most three times that of
 * ||y||^2 is lost by cancellation. So err has (dim + 128) 2^-55 of ||y||^2 added under the root, which is 2^-23 ||y||
 * for a row of 384 without any error. Rounding scale and offset to f32 moves x^ by at most `rounding` / 32. */
#pragma once

#include "isa/contest_i4.h"

#include <math.h>

#define I4_LANES 16

ISA_INLINE double i4_sum(const double *lane) {
  double s[8];
  for (int i = 0; i < 8; i++) s[i] = lane[i] + lane[i + 8];
  for (int i = 0; i < 4; i++) s[i] = s[i] + s[i + 4];
  return (s[0] + s[2]) + (s[1] + s[3]);
}

typedef struct i4_sums {
  double y[I4_LANES], squares[I4_LANES], cross[I4_LANES];
} i4_sums;

ISA_INLINE void i4_sums_add(i4_sums *s, const float *x, const uint8_t *code, size_t width, double centre,
                            double middle) {
  for (size_t l = 0; l < width; l++) {
    double y = (double)x[l] - centre;
    s->y[l] += y;
    s->squares[l] += y * y;
    s->cross[l] += y * ((double)code[l] - middle);
  }
}

/* Codes of eight dimensions into four bytes. The codes of the upper half of `eight` go four bits above those of the
 * lower. */
ISA_INLINE void i4_pack(const uint8_t *code, size_t count, uint8_t *out) {
  for (size_t g = 0; g < (count + 7) / 8; g++) {
    uint64_t eight;
    memcpy(&eight, code + 8 * g, sizeof eight);
    uint32_t four = (uint32_t)(eight | eight >> 28);
    memcpy(out + 4 * g, &four, sizeof four);
  }
}

/* Writes the codes of a grid. Returns the sums of the fit, of values less centre and codes less middle. */
ISA_INLINE i4_sums i4_encode(i4_row *r, i4_grid grid, double centre, double middle, uint8_t *codes) {
  i4_sums s;
  memset(&s, 0, sizeof s);
  for (size_t from = 0; from < r->dim; from += I4_TILE) {
    uint8_t code[I4_TILE + I4_PAD];
    i4_tile(r, from);
    const size_t count = r->count, padded = r->padded;
    for (size_t j = 0; j < padded; j++) code[j] = (uint8_t)i4_code(r->z[j], grid);
    i4_pack(code, count, codes + from / 2);
    const float *x = r->x + from;
    size_t j = 0;
    for (; j + I4_LANES <= count; j += I4_LANES) i4_sums_add(&s, x + j, code + j, I4_LANES, centre, middle);
    i4_sums_add(&s, x + j, code + j, count - j, centre, middle);
  }
  return s;
}

/* Scale, offset and bounds of a row; writes the codes. */
ISA_INLINE ame_i4_info i4_finish(i4_row *r, uint8_t *codes) {
  i4_tally t = {0, 0, 0};
  const i4_grid grid = i4_contest(r, &t);
  const double n = (double)r->dim, sum = (double)t.sum, squares = (double)t.squares, middle = sum / n;
  const double centre = (double)r->least + ((double)r->total / n - I4_FLOOR) * (double)(r->most - r->least) / I4_SPAN;
  const i4_sums s = i4_encode(r, grid, centre, middle, codes);
  /* n * squares and sum^2, and so their difference, are exact: integers below 2^53. */
  double total = i4_sum(s.y), all = i4_sum(s.squares), cross = i4_sum(s.cross), slope = 0;
  double var = n * squares - sum * sum;
  if (var > 0) slope = n * cross / var;
  ame_i4_info info;
  info.scale = (float)(slope / 2);
  info.offset = (float)(centre + total / n - slope * (middle - 7.5));
  double a = (double)info.scale, b = (double)info.offset;
  double steps = 2 * sum - 15 * n, step_squares = 4 * squares - 60 * sum + 225 * n;
  double reach = fabs(b) * sqrt(n) + fabs(a) * sqrt(step_squares), rounding = 0x1p-19 * reach;
  double left = all - total * total / n - slope * cross;
  double err = sqrt((left > 0 ? left : 0) + all * (n + 128) * 0x1p-55) + rounding / 16;
  double hat = sqrt(fabs(b * b * n + 2 * a * b * steps + a * a * step_squares) + reach * reach * 0x1p-48);
  info.err = isa_round_up((err + AME_I4_ROUNDINGS * rounding) * (1 + 0x1p-14 + 0x1p-40));
  double norm = (hat > err ? hat : err) * (1 + 0x1p-30);
  info.norm = isa_round_up(norm > 0x1p-100 ? norm : 0x1p-100);
  return info;
}

typedef struct i4_extremes {
  float least[I4_LANES], most[I4_LANES];
} i4_extremes;

ISA_INLINE void i4_extremes_add(i4_extremes *e, const float *x, size_t width) {
  for (size_t l = 0; l < width; l++) {
    e->least[l] = x[l] < e->least[l] ? x[l] : e->least[l];
    e->most[l] = x[l] > e->most[l] ? x[l] : e->most[l];
  }
}

/* Least and most of a row of at least one value. */
ISA_INLINE void i4_extremes_of(i4_row *r) {
  i4_extremes e;
  for (int l = 0; l < I4_LANES; l++) e.least[l] = e.most[l] = r->x[0];
  size_t j = 0;
  for (; j + I4_LANES <= r->dim; j += I4_LANES) i4_extremes_add(&e, r->x + j, I4_LANES);
  i4_extremes_add(&e, r->x + j, r->dim - j);
  for (int half = I4_LANES / 2; half; half /= 2) {
    for (int l = 0; l < half; l++) {
      e.least[l] = e.least[l] < e.least[l + half] ? e.least[l] : e.least[l + half];
      e.most[l] = e.most[l] > e.most[l + half] ? e.most[l] : e.most[l + half];
    }
  }
  r->least = e.least[0];
  r->most = e.most[0];
}

ISA_INLINE ame_i4_info i4_quantize_row(i4_row *r, uint8_t *codes) {
  if (r->dim == 0) return (ame_i4_info){0, 0, 0, 0x1p-100f};
  i4_extremes_of(r);
  float largest = -r->least > r->most ? -r->least : r->most;
  if (!(largest >= 0x1p-100f && largest <= 0x1p100f)) {
    memset(codes, 0, AME_I4_BYTES(r->dim));
    if (largest == 0.0f) return (ame_i4_info){0, 0, 0, 0x1p-100f};
    return (ame_i4_info){0, 0, INFINITY, 1};
  }
  float span = r->most - r->least;
  r->inverse = span > 0 ? 1 / span : 0; /* equal values: one level and no error */
  ame_i4_info info = i4_finish(r, codes);
  if (largest < AME_I4_LEAST || largest > AME_I4_MOST) info.err = INFINITY;
  return info;
}

static void quantize_i4(const float *rows, size_t n, size_t dim, uint8_t *codes, ame_i4_info *info) {
  i4_row r;
  r.dim = dim;
  for (size_t i = 0; i < n; i++) {
    r.x = rows + i * dim;
    info[i] = i4_quantize_row(&r, codes + i * AME_I4_BYTES(dim));
  }
}

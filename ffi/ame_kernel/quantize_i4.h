/* The quantiser to four bits: this one source is compiled into each path's file with that CPU's flags. Its sums have a fixed
 * order of lanes and nothing is fused, so that it is equal to the bit on every path, and compilers make vector code of it.
 *
 * A candidate is a centre and a spacing of the sixteen levels. For given codes the least-squares scale and offset follow, and
 * with them the squared error is (that of the mean alone) - cov^2 / var: the candidate with the largest cov^2 / var wins. The
 * contest is in f32, where a rounding can at worst crown a second best; the winner's figures are taken again in double. */
#ifndef AME_QUANTIZE_I4_H
#define AME_QUANTIZE_I4_H

#include "isa.h"

#include <math.h>
#include <string.h>

#define I4_LANES 16

typedef struct i4_grid {
  float centre;  /* the level 7.5 */
  float inverse; /* levels per unit */
} i4_grid;

ISA_INLINE float i4_level(float y, float inverse) {
  float t = y * inverse + 8.0f;
  t = t > 0.0f ? t : 0.0f;
  t = t < 15.5f ? t : 15.5f;
  return (float)(int32_t)t;
}

ISA_INLINE double i4_sum(const double *lane) {
  double s[8];
  for (int i = 0; i < 8; i++) s[i] = lane[i] + lane[i + 8];
  for (int i = 0; i < 4; i++) s[i] = s[i] + s[i + 4];
  return (s[0] + s[2]) + (s[1] + s[3]);
}

/* The smallest float that is not below v >= 0; beyond the largest float it is infinity. */
ISA_INLINE float i4_round_up(double v) {
  float f = (float)v;
  if ((double)f < v) {
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    bits++;
    memcpy(&f, &bits, sizeof f);
  }
  return f;
}

typedef struct i4_contest {
  float sum[I4_LANES], squares[I4_LANES], cross[I4_LANES], total[I4_LANES];
} i4_contest;

ISA_INLINE void i4_contest_add(i4_contest *c, const float *x, size_t width, i4_grid grid) {
  for (size_t l = 0; l < width; l++) {
    float y = x[l] - grid.centre;
    float f = i4_level(y, grid.inverse);
    c->sum[l] += f;
    c->squares[l] += f * f;
    c->cross[l] += y * f;
    c->total[l] += y;
  }
}

/* cov^2 / var of a candidate, and the candidate that its least-squares fit gives. */
ISA_INLINE double i4_gain(const float *row, size_t dim, i4_grid grid, i4_grid *fit) {
  i4_contest c;
  memset(&c, 0, sizeof c);
  size_t j = 0;
  for (; j + I4_LANES <= dim; j += I4_LANES) i4_contest_add(&c, row + j, I4_LANES, grid);
  i4_contest_add(&c, row + j, dim - j, grid);
  double n = (double)dim, sum = (double)isa_sum16(c.sum), total = (double)isa_sum16(c.total);
  double var = (double)isa_sum16(c.squares) - sum * sum / n;
  double cov = (double)isa_sum16(c.cross) - total * sum / n;
  double slope = var > 0 ? cov / var : 0;
  *fit = grid;
  if (!(slope > 0x1p-125)) return 0; /* nothing but rounding */
  fit->centre = (float)((double)grid.centre + total / n - slope * (sum / n - 7.5));
  fit->inverse = (float)(1 / slope);
  return cov * slope;
}

typedef struct i4_sums {
  double y[I4_LANES], cross[I4_LANES];
  float sum[I4_LANES], squares[I4_LANES];
} i4_sums;

/* Codes of up to sixteen dimensions into their bytes, and the sums of the fit. */
ISA_INLINE void i4_encode(i4_sums *s, const float *x, size_t width, i4_grid grid, uint8_t *out) {
  uint8_t code[I4_LANES] = {0};
  for (size_t l = 0; l < width; l++) {
    float f = i4_level(x[l] - grid.centre, grid.inverse);
    double y = (double)x[l] - (double)grid.centre;
    code[l] = (uint8_t)f;
    s->sum[l] += f;
    s->squares[l] += f * f;
    s->y[l] += y;
    s->cross[l] += y * (double)f;
  }
  for (size_t g = 0; g * 8 < width; g++) {
    for (size_t b = 0; b < 4; b++) out[4 * g + b] = (uint8_t)(code[8 * g + b] | code[8 * g + 4 + b] << 4);
  }
}

typedef struct i4_errors {
  double err[I4_LANES], hat[I4_LANES];
} i4_errors;

ISA_INLINE void i4_errors_add(i4_errors *s, const float *x, size_t width, i4_grid grid, double scale, double offset) {
  for (size_t l = 0; l < width; l++) {
    double hat = offset + scale * (double)(2.0f * i4_level(x[l] - grid.centre, grid.inverse) - 15.0f);
    double d = (double)x[l] - hat;
    s->err[l] += d * d;
    s->hat[l] += hat * hat;
  }
}

/* Scale, offset and bounds of a row whose codes are those of `grid`; writes the codes. */
ISA_INLINE ame_i4_info i4_finish(const float *row, size_t dim, i4_grid grid, uint8_t *codes) {
  i4_sums s;
  memset(&s, 0, sizeof s);
  size_t j = 0;
  for (; j + I4_LANES <= dim; j += I4_LANES) i4_encode(&s, row + j, I4_LANES, grid, codes + j / 2);
  i4_encode(&s, row + j, dim - j, grid, codes + j / 2);
  /* Sums of codes are integers below 2^24 in every lane and exact; n * squares - sum^2 is below 2^45. */
  double n = (double)dim, sum = 0, squares = 0, slope = 0;
  for (int l = 0; l < I4_LANES; l++) {
    sum += (double)s.sum[l];
    squares += (double)s.squares[l];
  }
  double var = n * squares - sum * sum, total = i4_sum(s.y);
  if (var > 0) slope = (n * i4_sum(s.cross) - total * sum) / var;
  ame_i4_info info;
  info.scale = (float)(slope / 2);
  info.offset = (float)((double)grid.centre + total / n - slope * (sum / n - 7.5));

  i4_errors e;
  memset(&e, 0, sizeof e);
  double scale = (double)info.scale, offset = (double)info.offset;
  for (j = 0; j + I4_LANES <= dim; j += I4_LANES) i4_errors_add(&e, row + j, I4_LANES, grid, scale, offset);
  i4_errors_add(&e, row + j, dim - j, grid, scale, offset);
  double err = sqrt(i4_sum(e.err)), hat = sqrt(i4_sum(e.hat));
  double rounding = 0x1p-19 * (fabs(offset) * sqrt(n) + fabs(scale) * sqrt(4 * squares - 60 * sum + 225 * n));
  info.err = i4_round_up((err + 600 * rounding) * (1 + 0x1p-14));
  double norm = (hat > err ? hat : err) * (1 + 0x1p-30);
  info.norm = i4_round_up(norm > 0x1p-100 ? norm : 0x1p-100);
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

/* The ranges tried, as parts of the row's own half range, and how often the winner's fit is tried as a candidate in its turn.
 * Mean relative error of Gaussian rows of 384 (768): 0.1129 (0.1208) with the full range alone, 0.1040 (0.1068) with three
 * ranges, 0.1032 (0.1062) with these five, 0.1026 (0.1057) with two refits on top; five more ranges down to 0.22 gained
 * nothing on Gaussian, Laplacian, Student or outlying rows. */
static const float i4_parts[] = {1.0f, 0.92f, 0.84f, 0.76f, 0.68f};
#define I4_PARTS  (sizeof i4_parts / sizeof i4_parts[0])
#define I4_REFITS 2

ISA_INLINE ame_i4_info i4_quantize_row(const float *row, size_t dim, uint8_t *codes) {
  if (dim == 0) return (ame_i4_info){0, 0, 0, 0x1p-100f};
  i4_extremes e;
  for (int l = 0; l < I4_LANES; l++) e.least[l] = e.most[l] = row[0];
  size_t j = 0;
  for (; j + I4_LANES <= dim; j += I4_LANES) i4_extremes_add(&e, row + j, I4_LANES);
  i4_extremes_add(&e, row + j, dim - j);
  float least = e.least[0], most = e.most[0];
  for (int l = 1; l < I4_LANES; l++) {
    least = e.least[l] < least ? e.least[l] : least;
    most = e.most[l] > most ? e.most[l] : most;
  }
  float largest = -least > most ? -least : most;
  if (!(largest >= 0x1p-100f && largest <= 0x1p100f)) {
    memset(codes, 0, AME_I4_BYTES(dim));
    if (largest == 0.0f) return (ame_i4_info){0, 0, 0, 0x1p-100f};
    return (ame_i4_info){0, 0, INFINITY, 1};
  }
  /* Equal values: one level, and an error of 0. */
  float half = most / 2 - least / 2;
  i4_grid best = {most / 2 + least / 2, half > 0 ? 7.5f / half : 0}, fit = best;
  if (half > 0) {
    double gain = -1;
    i4_grid grid = best, next;
    for (size_t k = 0; k < I4_PARTS + I4_REFITS; k++) {
      if (k < I4_PARTS) {
        grid.inverse = 7.5f / (half * i4_parts[k]);
      } else {
        grid = fit;
      }
      double g = i4_gain(row, dim, grid, &next);
      if (g > gain) {
        gain = g;
        best = grid;
        fit = next;
      } else if (k >= I4_PARTS) {
        break;
      }
    }
  }
  ame_i4_info info = i4_finish(row, dim, best, codes);
  if (largest < AME_I4_LEAST || largest > AME_I4_MOST) info.err = INFINITY;
  return info;
}

ISA_INLINE void i4_quantize(const float *rows, size_t n, size_t dim, uint8_t *codes, ame_i4_info *info) {
  for (size_t i = 0; i < n; i++) info[i] = i4_quantize_row(rows + i * dim, dim, codes + i * AME_I4_BYTES(dim));
}

#endif

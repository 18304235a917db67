/* Chooses the sixteen levels of a row of four-bit codes.
 *
 * A candidate is a first threshold and a spacing of the levels. For given codes the least-squares scale and offset
 * follow, and with them the squared error is (that of the mean alone) - cov^2 / var: the candidate with the largest
 * cov^2 / var wins. Candidates are compared in integers, on the row in 15 bits: half as many bytes as the row, and
 * equal to the bit on every path in any order of addition. That a rounding may decide between two of them costs
 * nothing: with all seven rounds the mean error is that of a comparison in f32 to four digits, in less than half the
 * time. */
#pragma once

#include "isa/isa.h"

/* A row in 15 bits lies in I4_FLOOR .. I4_FLOOR + I4_SPAN. Below there is space for half a spacing of the widest
 * levels; 0 is padding and has code 0. */
#define I4_FLOOR 1600
#define I4_SPAN  30000
/* Values at a time: sums of codes by values stay below 2^31, and all but the longest rows are converted to 15 bits only
 * once. */
#define I4_TILE 4096
#define I4_PAD  32

/* The code of z is the number of spacings above `first`, at most 15; `per` is 2^24 by the spacing. */
typedef struct i4_grid {
  uint16_t first, per;
} i4_grid;

ISA_INLINE int16_t i4_code(int16_t z, i4_grid grid) {
  uint16_t above = (uint16_t)z > grid.first ? (uint16_t)((uint16_t)z - grid.first) : 0;
  int16_t t = (int16_t)((uint32_t)above * grid.per >> 16);
  return (int16_t)((t < 4095 ? t : 4095) >> 8);
}

/* Sums of `padded` values, a multiple of I4_PAD: of their codes, of the squares of these, of codes by values. Each
 * path's file has its own, because compilers do not use the 16-bit products for it. */
static void i4_count(const int16_t *z, size_t padded, i4_grid grid, int32_t out[3]);

/* A row, and its current tile in 15 bits. */
typedef struct i4_row {
  const float *x;
  size_t dim, from, count, padded;
  float least, most, inverse; /* inverse: of their difference, or 0 */
  int64_t total;              /* of all z */
  int16_t z[I4_TILE + I4_PAD];
} i4_row;

ISA_INLINE void i4_tile(i4_row *r, size_t from) {
  if (r->count && r->from == from) return;
  const size_t left = r->dim - from, count = left < I4_TILE ? left : I4_TILE;
  const float *x = r->x + from, least = r->least, inverse = r->inverse;
  for (size_t j = 0; j < count; j++)
    r->z[j] = (int16_t)(I4_FLOOR + (int32_t)((x[j] - least) * inverse * (float)I4_SPAN));
  memset(r->z + count, 0, I4_PAD * sizeof *r->z);
  r->from = from;
  r->count = count;
  r->padded = (count + I4_PAD - 1) / I4_PAD * I4_PAD;
}

typedef struct i4_tally {
  int64_t sum, squares, cross;
} i4_tally;

ISA_INLINE i4_tally i4_tally_of(i4_row *r, i4_grid grid) {
  i4_tally t = {0, 0, 0};
  for (size_t from = 0; from < r->dim; from += I4_TILE) {
    int32_t sums[3];
    i4_tile(r, from);
    i4_count(r->z, r->padded, grid, sums);
    t.sum += sums[0];
    t.squares += sums[1];
    t.cross += sums[2];
  }
  return t;
}

/* 257: the least spacing whose inverse fits. It is an eighth of the widest, and no candidate comes near it. */
ISA_INLINE i4_grid i4_grid_of(double first, double spacing) {
  double wide = spacing > 257 ? spacing : 257;
  return (i4_grid){first > 0 ? (uint16_t)first : 0, (uint16_t)(0x1p24 / wide)};
}

/* cov^2 / var of a candidate times the dimension, and the candidate that its least-squares fit gives. */
ISA_INLINE double i4_gain(const i4_row *r, const i4_tally *t, i4_grid grid, i4_grid *fit) {
  const int64_t n = (int64_t)r->dim;
  double var = (double)(n * t->squares - t->sum * t->sum);
  double cov = (double)(n * t->cross - r->total * t->sum);
  *fit = grid;
  if (!(var > 0 && cov > 0)) return 0;
  double slope = cov / var;
  *fit = i4_grid_of(((double)r->total - slope * (double)t->sum) / (double)n - slope / 2, slope);
  return cov * slope;
}

/* The ranges tried, as parts of the row's own range around its middle, and how often the fit of the best candidate is
 * tried as a candidate. Mean relative error of Gaussian rows of 384 (768): 0.1129 (0.1208) with the full range alone,
 * 0.1040 (0.1068) with three ranges, 0.1032 (0.1062) with these five, 0.1022 (0.1054) with two refits on top. Three
 * ranges and two refits lose 0.5 % on Gaussian rows and 2 % on non-negative ones, as much as one refit less; ranges by
 * the standard deviation lose 5 % and more on rows with heavy tails. */
static const double i4_parts[] = {1.0, 0.92, 0.84, 0.76, 0.68};
#define I4_PARTS  (sizeof i4_parts / sizeof i4_parts[0])
#define I4_REFITS 2

ISA_INLINE i4_grid i4_contest(i4_row *r, i4_tally *won) {
  r->count = 0;
  r->total = 0;
  for (size_t from = 0; from < r->dim; from += I4_TILE) {
    int32_t total = 0;
    i4_tile(r, from);
    for (size_t j = 0; j < r->count; j++) total += r->z[j];
    r->total += total;
  }
  i4_grid best = {0, 0}, fit = best, next;
  double gain = -1;
  for (size_t k = 0; k < I4_PARTS + I4_REFITS; k++) {
    i4_grid grid = fit;
    if (k < I4_PARTS) {
      double spacing = I4_SPAN / 15 * i4_parts[k];
      grid = i4_grid_of(I4_FLOOR + I4_SPAN / 2 - 8 * spacing, spacing);
    }
    i4_tally t = i4_tally_of(r, grid);
    double g = i4_gain(r, &t, grid, &next);
    if (g > gain) {
      gain = g;
      best = grid;
      fit = next;
      *won = t;
    } else if (k >= I4_PARTS) {
      break;
    }
  }
  return best;
}

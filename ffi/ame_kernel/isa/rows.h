/* Rows of floats and of 8-bit codes, and halves, on the paths that have vector registers: these differ only in the
 * register. A path's file includes this after it has defined
 *
 *   lanes, LANES, TILE, BLOCK   a register of floats, how many it holds, how many rows dot_f32_tile and dot_f32 take at
 *                               a time
 *   load(x), load_some(x, left) LANES floats; the first min(left, LANES), the rest zero and not read
 *   fused(a, b, sum)            a * b + sum, rounded once
 *   absolute(v), larger(a, b)   of each lane
 *   total(v)                    over the lanes, halved as isa_sum16 does it
 *   largest(v)                  over the lanes, in any order
 *   load_halves(x)              LANES halves as floats
 *   dot_i8_block, code_row      as used below
 *
 * An inner product of floats has ISA_DOT_LANES sums, element i in sum i % ISA_DOT_LANES, and after the row's end zeros
 * up to the next multiple. A product is added with one rounding (fused). So it is equal to the bit on every path. */
#pragma once

#include "isa/isa.h"

/* Registers of the sums of a row. */
#define PARTS (ISA_DOT_LANES / LANES)

ISA_INLINE float total_of_parts(lanes acc[PARTS]) {
  for (int n = PARTS / 2; n > 0; n /= 2) {
    for (int p = 0; p < n; p++) acc[p] = acc[p] + acc[p + n];
  }
  return total(acc[0]);
}

/* Of `left` elements of a row those that are in part p. */
ISA_INLINE size_t in_part(size_t left, int p) { return left > LANES * (size_t)p ? left - LANES * (size_t)p : 0; }

/* `count` rows against one query, together: eight chains or more hide the latency of the multiply-add. A single row has
 * as many as it has parts, one with AVX-512: a row of 2,048 in the cache takes 84 ns there, and of several 43 each. */
ISA_INLINE void dot_block(const float *q, const float *rows, size_t dim, int count, float *out) {
  lanes acc[BLOCK][PARTS];
  for (int r = 0; r < count; r++) {
    for (int p = 0; p < PARTS; p++) acc[r][p] = (lanes){0};
  }
  size_t j = 0;
  for (; j + ISA_DOT_LANES <= dim; j += ISA_DOT_LANES) {
    lanes v[PARTS];
    for (int p = 0; p < PARTS; p++) v[p] = load(q + j + LANES * p);
    for (int r = 0; r < count; r++) {
      const float *x = rows + (size_t)r * dim + j;
      for (int p = 0; p < PARTS; p++) acc[r][p] = fused(v[p], load(x + LANES * p), acc[r][p]);
    }
  }
  for (int p = 0; p < PARTS && j < dim; p++) {
    const size_t left = in_part(dim - j, p), at = left > 0 ? j + LANES * (size_t)p : j;
    lanes v = load_some(q + at, left);
    for (int r = 0; r < count; r++) acc[r][p] = fused(v, load_some(rows + (size_t)r * dim + at, left), acc[r][p]);
  }
  for (int r = 0; r < count; r++) out[r] = total_of_parts(acc[r]);
}

static void dot_f32(const float *q, const float *rows, size_t n, size_t dim, float *out) {
  size_t i = 0;
  for (; i + BLOCK <= n; i += BLOCK) dot_block(q, rows + i * dim, dim, BLOCK, out + i);
  for (; i + BLOCK / 2 <= n; i += BLOCK / 2) dot_block(q, rows + i * dim, dim, BLOCK / 2, out + i);
  for (; i < n; i++) dot_block(q, rows + i * dim, dim, 1, out + i);
}

/* One part after the other: all of them would take more registers than there are. */
ISA_INLINE void tile_block(const float *const q[4], const float *rows, size_t dim, int count, float *out, size_t k) {
  lanes sums[4][TILE][PARTS];
  const size_t end = dim - dim % ISA_DOT_LANES;
  for (int p = 0; p < PARTS; p++) {
    lanes acc[4][TILE], x[TILE];
    for (int i = 0; i < 4; i++) {
      for (int r = 0; r < count; r++) acc[i][r] = (lanes){0};
    }
    for (size_t j = LANES * (size_t)p; j < end; j += ISA_DOT_LANES) {
      for (int r = 0; r < count; r++) x[r] = load(rows + (size_t)r * dim + j);
      for (int i = 0; i < 4; i++) {
        lanes v = load(q[i] + j);
        for (int r = 0; r < count; r++) acc[i][r] = fused(v, x[r], acc[i][r]);
      }
    }
    if (end < dim) {
      const size_t left = in_part(dim - end, p), at = left > 0 ? end + LANES * (size_t)p : end;
      for (int r = 0; r < count; r++) x[r] = load_some(rows + (size_t)r * dim + at, left);
      for (int i = 0; i < 4; i++) {
        lanes v = load_some(q[i] + at, left);
        for (int r = 0; r < count; r++) acc[i][r] = fused(v, x[r], acc[i][r]);
      }
    }
    for (int i = 0; i < 4; i++) {
      for (int r = 0; r < count; r++) sums[i][r][p] = acc[i][r];
    }
  }
  for (int i = 0; i < 4; i++) {
    for (int r = 0; r < count; r++) out[(size_t)i * k + (size_t)r] = total_of_parts(sums[i][r]);
  }
}

static void dot_f32_tile(const float *const q[4], const float *rows, size_t k, size_t dim, float *out) {
  size_t j = 0;
  for (; j + TILE <= k; j += TILE) tile_block(q, rows + j * dim, dim, TILE, out + j, k);
  for (; j < k; j++) tile_block(q, rows + j * dim, dim, 1, out + j, k);
}

static void sq_l2(const float *q, const float *rows, size_t n, size_t dim, float *out) {
  for (size_t i = 0; i < n; i++) {
    const float *row = rows + i * dim;
    lanes acc[ISA_L2_LANES / LANES];
    for (int h = 0; h < ISA_L2_LANES / LANES; h++) acc[h] = (lanes){0};
    size_t j = 0;
    for (; j + ISA_L2_LANES <= dim; j += ISA_L2_LANES) {
      for (int h = 0; h < ISA_L2_LANES / LANES; h++) {
        lanes d = load(q + j + LANES * h) - load(row + j + LANES * h);
        acc[h] += d * d;
      }
    }
    for (int h = 0; j < dim; j += LANES, h++) {
      lanes d = load_some(q + j, dim - j) - load_some(row + j, dim - j);
      acc[h] += d * d;
    }
    float lane[ISA_L2_LANES];
    memcpy(lane, acc, sizeof lane);
    out[i] = isa_sum16(lane);
  }
}

static void dot_i8(const int8_t *q, const int8_t *codes, size_t n, size_t stride, int32_t *out) {
  size_t i = 0;
  for (; i + 4 <= n; i += 4) dot_i8_block(q, codes + i * stride, stride, 4, out + i);
  for (; i < n; i++) dot_i8_block(q, codes + i * stride, stride, 1, out + i);
}

ISA_INLINE float max_abs(const float *row, size_t dim) {
  lanes m = {0};
  size_t j = 0;
  for (; j + LANES <= dim; j += LANES) m = larger(m, absolute(load(row + j)));
  if (j < dim) m = larger(m, absolute(load_some(row + j, dim - j)));
  return largest(m);
}

static void quantize_i8(const float *rows, size_t n, size_t dim, int8_t *codes, ame_code_info *info) {
  isa_quantize_i8(rows, n, dim, codes, info, max_abs, code_row);
}

static void f16_to_f32(const uint16_t *x, size_t n, float *out) {
  size_t i = 0;
  for (; i + LANES <= n; i += LANES) {
    lanes v = load_halves(x + i);
    memcpy(out + i, &v, sizeof v);
  }
  isa_scalar_f16_to_f32(x + i, n - i, out + i);
}

/* Rows of floats and of 8-bit codes, and halves, on the paths that have vector registers: these differ only in the
 * register. A path's file includes this after it has defined
 *
 *   lanes, LANES, TILE          a register of floats, how many it holds, how many rows dot_f32_tile takes at a time
 *   load(x), load_some(x, left) LANES floats; the first min(left, LANES), the rest zero and not read
 *   fused(a, b, sum)            a * b + sum, rounded once
 *   absolute(v), larger(a, b)   of each lane
 *   total(v), largest(v)        over the lanes, in any order
 *   load_halves(x)              LANES halves as floats
 *   dot_i8_block, code_row      as used below */
#pragma once

#include "isa/isa.h"

/* `count` rows (1 or 4) against one query, two sums each: eight chains hide the latency of the multiply-add. */
ISA_INLINE void dot_block(const float *q, const float *rows, size_t dim, int count, float *out) {
  lanes a[4], b[4];
  for (int r = 0; r < count; r++) a[r] = b[r] = (lanes){0};
  size_t j = 0;
  for (; j + 2 * LANES <= dim; j += 2 * LANES) {
    lanes q0 = load(q + j), q1 = load(q + j + LANES);
    for (int r = 0; r < count; r++) {
      const float *x = rows + (size_t)r * dim + j;
      a[r] = fused(q0, load(x), a[r]);
      b[r] = fused(q1, load(x + LANES), b[r]);
    }
  }
  for (; j < dim; j += LANES) {
    lanes q0 = load_some(q + j, dim - j);
    for (int r = 0; r < count; r++) a[r] = fused(q0, load_some(rows + (size_t)r * dim + j, dim - j), a[r]);
  }
  for (int r = 0; r < count; r++) out[r] = total(a[r] + b[r]);
}

static void dot_f32(const float *q, const float *rows, size_t n, size_t dim, float *out) {
  size_t i = 0;
  for (; i + 4 <= n; i += 4) dot_block(q, rows + i * dim, dim, 4, out + i);
  for (; i < n; i++) dot_block(q, rows + i * dim, dim, 1, out + i);
}

ISA_INLINE void tile_block(const float *const q[4], const float *rows, size_t dim, int count, float *out, size_t k) {
  lanes acc[4][TILE], x[TILE];
  for (int i = 0; i < 4; i++) {
    for (int r = 0; r < count; r++) acc[i][r] = (lanes){0};
  }
  size_t j = 0;
  for (; j + LANES <= dim; j += LANES) {
    for (int r = 0; r < count; r++) x[r] = load(rows + (size_t)r * dim + j);
    for (int i = 0; i < 4; i++) {
      lanes v = load(q[i] + j);
      for (int r = 0; r < count; r++) acc[i][r] = fused(v, x[r], acc[i][r]);
    }
  }
  if (j < dim) {
    for (int r = 0; r < count; r++) x[r] = load_some(rows + (size_t)r * dim + j, dim - j);
    for (int i = 0; i < 4; i++) {
      lanes v = load_some(q[i] + j, dim - j);
      for (int r = 0; r < count; r++) acc[i][r] = fused(v, x[r], acc[i][r]);
    }
  }
  for (int i = 0; i < 4; i++) {
    for (int r = 0; r < count; r++) out[(size_t)i * k + (size_t)r] = total(acc[i][r]);
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

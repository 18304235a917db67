/* Four bits a dimension, in plain C: the scalar path, and what is not worth more than one version. */
#include "isa/i4.h"
#include "isa/quantize_i4.h"
#include "isa/rotate.h"

#include "isa/isa.h"

static void i4_count(const int16_t *z, size_t padded, i4_grid grid, int32_t out[3]) {
  int32_t sum = 0, squares = 0, cross = 0;
  for (size_t j = 0; j < padded; j++) {
    int32_t f = i4_code(z[j], grid);
    sum += f;
    squares += f * f;
    cross += f * z[j];
  }
  out[0] = sum;
  out[1] = squares;
  out[2] = cross;
}

static void quantize_i4(const float *rows, size_t n, size_t dim, uint8_t *codes, ame_i4_info *info) {
  i4_quantize(rows, n, dim, codes, info);
}

static void rotate(float *rows, size_t n, size_t dim) { rotate_rows(rows, n, dim); }

static void screen_i4(const ame_i4_query *q, const uint8_t *blocks, size_t n, size_t dim, float threshold,
                      uint16_t *survivors, float *middle, float *half) {
  const size_t groups = (dim + 7) / 8;
  const i4_screen s = i4_screen_of(q, threshold);
  for (size_t i = 0; i < n; i++, middle += AME_BLOCK_ROWS, half += AME_BLOCK_ROWS) {
    const uint8_t *block = blocks + i * AME_BLOCK_BYTES(dim);
    int32_t dot[AME_BLOCK_ROWS] = {0};
    for (size_t g = 0; g < groups; g++) {
      const int8_t *low = q->codes + 8 * g, *high = low + 4;
      const uint8_t *group = block + 64 * g;
      for (size_t r = 0; r < AME_BLOCK_ROWS; r++) {
        for (size_t b = 0; b < 4; b++) {
          uint8_t x = group[4 * r + b];
          dot[r] += low[b] * (x & 15) + high[b] * (x >> 4);
        }
      }
    }
    float columns[5 * AME_BLOCK_ROWS], m[AME_BLOCK_ROWS], h[AME_BLOCK_ROWS];
    memcpy(columns, block + 64 * groups, sizeof columns);
    uint32_t mask = 0;
    for (size_t r = 0; r < AME_BLOCK_ROWS; r++) {
      const float *c = columns + r;
      float product = s.scale * (c[I4_OFFSET] * s.sum + c[I4_SCALE] * (float)(2 * dot[r] - s.sum15));
      float along = product / c[I4_NORM];
      float square = s.square - along * along;
      float across = sqrtf(square > s.floor ? square : s.floor);
      across = across < s.rest ? across : s.rest;
      m[r] = product + c[I4_BIAS];
      h[r] = (c[I4_ERR] * (across + s.per_err) + c[I4_NORM] * s.per_norm) + fabsf(c[I4_BIAS]) * s.per_bias;
      mask |= (m[r] + h[r] < s.threshold ? 0u : 1u) << r;
    }
    survivors[i] = (uint16_t)mask;
    if (!mask) continue;
    memcpy(middle, m, sizeof m);
    memcpy(half, h, sizeof h);
  }
}

ISA_INLINE void group_of(const uint8_t *codes, float scale, float offset, float *out) {
  for (size_t b = 0; b < 4; b++) {
    float low = scale * (float)((codes[b] & 15) * 2 - 15), high = scale * (float)((codes[b] >> 4) * 2 - 15);
    out[b] = offset + low;
    out[4 + b] = offset + high;
  }
}

/* Group by group and without a branch inside, so that compilers make vector code of it. */
void kernel_dequantize_i4(const uint8_t *codes, const ame_i4_info *info, size_t dim, float *out) {
  const float scale = info->scale, offset = info->offset;
  size_t j = 0;
  for (; j + 8 <= dim; j += 8) group_of(codes + j / 2, scale, offset, out + j);
  if (j == dim) return;
  float last[8];
  group_of(codes + j / 2, scale, offset, last);
  memcpy(out + j, last, (dim - j) * sizeof(float));
}

const isa_i4_path isa_scalar_i4 = {quantize_i4, rotate, screen_i4, isa_scalar_f16_to_f32};

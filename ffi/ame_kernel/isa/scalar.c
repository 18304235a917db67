/* The scalar path: the reference for the others. */
#include "isa/crc32c_table.h"
#include "isa/document.h"
#include "isa/i4.h"
#include "isa/quantize_i4.h"
#include "isa/rotate.h"

#include <math.h>
#include <stdbool.h>

static float dot_one(const float *q, const float *row, size_t dim) {
  float lane[ISA_DOT_LANES] = {0};
  for (size_t j = 0; j < dim; j += ISA_DOT_LANES) {
    for (size_t l = 0; l < ISA_DOT_LANES; l++) {
      /* As vector paths, which multiply zeros after the end: a sum of -0, of products that underflow, becomes 0. */
      const bool is_there = j + l < dim;
      lane[l] = fmaf(is_there ? q[j + l] : 0, is_there ? row[j + l] : 0, lane[l]);
    }
  }
  return isa_sum16(lane);
}

static void dot_f32(const float *q, const float *rows, size_t n, size_t dim, float *out) {
  for (size_t i = 0; i < n; i++) out[i] = dot_one(q, rows + i * dim, dim);
}

static void dot_f32_tile(const float *const q[4], const float *rows, size_t k, size_t dim, float *out) {
  for (size_t i = 0; i < 4; i++) dot_f32(q[i], rows, k, dim, out + i * k);
}

static void sq_l2(const float *q, const float *rows, size_t n, size_t dim, float *out) {
  for (size_t i = 0; i < n; i++) {
    const float *row = rows + i * dim;
    float lane[ISA_L2_LANES] = {0};
    for (size_t j = 0; j < dim; j++) {
      float d = q[j] - row[j];
      float dd = d * d;
      lane[j % ISA_L2_LANES] += dd;
    }
    out[i] = isa_sum16(lane);
  }
}

static void dot_i8(const int8_t *q, const int8_t *codes, size_t n, size_t stride, int32_t *out) {
  for (size_t i = 0; i < n; i++) {
    const int8_t *c = codes + i * stride;
    int32_t s = 0; /* 131,072 x 127 x 127 fits */
    for (size_t j = 0; j < stride; j++) s += (int32_t)q[j] * (int32_t)c[j];
    out[i] = s;
  }
}

isa_scale isa_scale_of(float max) {
  isa_scale s = {0, 0, 0};
  s.scale = max / 127.0f;
  s.step = (double)s.scale;
  /* A maximum whose 127th part is no longer a float gives codes 0, scale 0 and the row itself as error. */
  if (s.scale > 0) s.inverse = 127.0 / (double)max;
  return s;
}

/* In blocks with the lane as inner index. Written with lane[j % 8], clang 17 lost lanes 0 and 1 on AArch64 when it
 * inlined this across files (zig cc turns LTO on by itself when it compiles and links in one command): build with
 * -fno-lto. */
int64_t isa_quantize_tail(const float *row, size_t from, size_t dim, isa_scale s, int8_t *codes, double *lane) {
  int64_t squares = 0;
  for (; from < dim; from += ISA_CODE_LANES) {
    size_t width = dim - from < ISA_CODE_LANES ? dim - from : ISA_CODE_LANES;
    for (size_t l = 0; l < width; l++) {
      double x = (double)row[from + l];
      double t = x * s.inverse; /* |t| <= 127 (1 + 2^-51), so that the code is at most 127 */
      /* Rows that are not finite are only in damaged files: the code is 0, and the error of the row NaN. */
      int32_t c = fabs(t) <= 128 ? (int32_t)(t + copysign(0.5, t)) : 0;
      codes[from + l] = (int8_t)c;
      squares += (int64_t)c * c;
      double d = x - s.step * (double)c;
      double dd = d * d;
      lane[l] += dd;
    }
  }
  return squares;
}

/* Why `err` is an upper bound. step * c has at most 24 + 7 bits, so it is exact in double, and so d = x - step * c has
 * one rounding, d^2 two: each computed square is at least the true one times (1 - 2^-53)^3. A float is a multiple of
 * 2^-149, and so is step * c: a d that is not 0 has d^2 >= 2^-298, far from underflow. The sum of dim <= 2^20 such
 * squares has at most 2^17 + 3 additions between any square and the result, each losing at most 2^-53 of it; the root
 * halves the relative error and adds one rounding. All of it is below 2^-35, which the factor 1 + 2^-30 covers, its own
 * rounding included. The conversion to float then rounds up. `norm`: the sum of squared codes is an exact integer;
 * root, product and factor are three roundings of 2^-53. */
ame_code_info isa_code_info(isa_scale s, const double *lane, int64_t squares) {
  const double slack = 1.0 + 0x1p-30;
  double a = (lane[0] + lane[4]) + (lane[2] + lane[6]);
  double b = (lane[1] + lane[5]) + (lane[3] + lane[7]);
  ame_code_info info;
  info.scale = s.scale;
  info.err = isa_round_up(sqrt(a + b) * slack);
  info.norm = isa_round_up(s.step * sqrt((double)squares) * slack);
  info.bias = 0;
  return info;
}

static float max_abs(const float *row, size_t dim) {
  float max = 0;
  for (size_t j = 0; j < dim; j++) max = fabsf(row[j]) > max ? fabsf(row[j]) : max;
  return max;
}

/* isa_quantize_tail quantises the whole row. */
static size_t code_row(const float *row, size_t dim, isa_scale s, int8_t *codes, double *lane, int64_t *squares) {
  (void)row, (void)dim, (void)s, (void)codes, (void)lane, (void)squares;
  return 0;
}

static void quantize_i8(const float *rows, size_t n, size_t dim, int8_t *codes, ame_code_info *info) {
  isa_quantize_i8(rows, n, dim, codes, info, max_abs, code_row);
}

/* Slicing by eight (Kounavis and Berry, 2005): eight table reads for eight bytes, without a dependency between
 * bytes. */
static uint32_t crc32c(uint32_t crc, const void *data, size_t bytes) {
  const uint8_t *p = data;
  uint32_t c = ~crc;
  for (; bytes >= 8; bytes -= 8, p += 8) {
    uint32_t low, high;
    memcpy(&low, p, 4);
    memcpy(&high, p + 4, 4);
    low ^= c;
    c = crc32c_table[7][low & 255] ^ crc32c_table[6][(low >> 8) & 255] ^ crc32c_table[5][(low >> 16) & 255] ^
        crc32c_table[4][low >> 24] ^ crc32c_table[3][high & 255] ^ crc32c_table[2][(high >> 8) & 255] ^
        crc32c_table[1][(high >> 16) & 255] ^ crc32c_table[0][high >> 24];
  }
  for (; bytes; bytes--, p++) c = (c >> 8) ^ crc32c_table[0][(c ^ *p) & 255];
  return ~c;
}

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

static void screen_i4(const ame_i4_query *q, const uint8_t *blocks, size_t n, size_t next, size_t dim, float threshold,
                      uint16_t *survivors, float *middle, float *half) {
  (void)next;
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

static void screen_signs(const ame_sign_query *q, const uint8_t *blocks, size_t n, size_t dim, float threshold,
                         uint16_t *survivors, float *values) {
  const size_t lines = AME_SIGN_LINES(dim);
  for (size_t i = 0; i < n; i++) {
    const uint8_t *block = blocks + i * AME_SIGN_BLOCK_BYTES(dim);
    float columns[3 * AME_BLOCK_ROWS];
    memcpy(columns, block + 64 * lines, sizeof columns);
    survivors[i] = 0;
    for (size_t r = 0; r < AME_BLOCK_ROWS; r++) {
      int32_t sum = 0;
      for (size_t j = 0; j < 4 * lines; j++) {
        const uint8_t *low = q->tables + 128 * (j / 4) + 16 * (j % 4), byte = block[16 * j + r];
        sum += low[byte & 15] + low[64 + (byte >> 4)] - (int32_t)AME_SIGN_ENTRY;
      }
      float value = q->along * columns[r] + q->scale * columns[16 + r] * (float)sum + q->across * columns[32 + r];
      survivors[i] |= (uint16_t)((value < threshold ? 0u : 1u) << r);
      if (values != NULL) values[i * AME_BLOCK_ROWS + r] = value;
    }
  }
}

ISA_INLINE void group_of(const uint8_t *codes, float scale, float offset, float *out) {
  for (size_t b = 0; b < 4; b++) {
    float low = scale * (float)((codes[b] & 15) * 2 - 15), high = scale * (float)((codes[b] >> 4) * 2 - 15);
    out[b] = offset + low;
    out[4 + b] = offset + high;
  }
}

/* By groups and without a branch, so that compilers vectorise it. */
void kernel_dequantize_i4(const uint8_t *codes, const ame_i4_info *info, size_t dim, float *out) {
  const float scale = info->scale, offset = info->offset;
  size_t j = 0;
  for (; j + 8 <= dim; j += 8) group_of(codes + j / 2, scale, offset, out + j);
  if (j == dim) return;
  float last[8];
  group_of(codes + j / 2, scale, offset, last);
  memcpy(out + j, last, (dim - j) * sizeof(float));
}

ISA_INLINE void dot_line(const ame_line_query *q, const uint8_t *line, size_t run, int bits, int32_t *dots) {
  for (size_t r = 0; r < AME_LINE_ROWS(bits); r++) {
    dots[r] = 0;
    for (size_t d = 0; d < q->count; d++) {
      int32_t byte = line[q->dims[d] * run + AME_LINE_BYTE(r % 64)];
      dots[r] += q->codes[d] * (bits == 8 ? byte - 128 : r < 64 ? byte & 15 : byte >> 4);
    }
  }
}

static void dot_lines(const ame_line_query *q, const uint8_t *block, size_t run, size_t first, size_t n, size_t next,
                      int32_t *dots) {
  (void)next;
  for (size_t i = 0; i < n; i++) dot_line(q, block + (first + i) * AME_LINE, run, 8, dots + i * AME_LINE_ROWS(8));
}

static void dot_lines_i4(const ame_line_query *q, const uint8_t *block, size_t run, size_t first, size_t n, size_t next,
                         int32_t *dots) {
  (void)next;
  for (size_t i = 0; i < n; i++) dot_line(q, block + (first + i) * AME_LINE, run, 4, dots + i * AME_LINE_ROWS(4));
}

static void screen_lines(const ame_line_bound *b, const int32_t *dots, const float *scales, const float *offsets,
                         size_t n, float threshold, uint64_t *survivors) {
  for (size_t r = 0; r < n; r++) {
    float scale = scales[r], offset = offsets == NULL ? 0 : offsets[r], size = offsets == NULL ? scale : 15 * scale;
    float levels = (float)(offsets == NULL ? dots[r] : 2 * dots[r] - 15 * b->sum);
    float width = (fabsf(offset) + size) * b->per_scale;
    float upper = offset * b->by_offset + scale * (b->by * levels) + (width < b->most ? width : b->most) + b->each;
    if (r % 64 == 0) survivors[r / 64] = 0;
    survivors[r / 64] |= (uint64_t)(upper < threshold ? 0 : 1) << r % 64;
  }
}

typedef int16_t code;
#define TOKENS 4
#define GROUPS 1

/* Column by column, so that compilers use the products of 16-bit numbers that every CPU has. */
ISA_INLINE void linear_sums(const uint8_t *weights, size_t in, const code *codes, const isa_token *info, int count,
                            int32_t out[TOKENS][16 * GROUPS]) {
  (void)info;
  for (size_t c = 0; c < 16; c++) {
    int16_t column[ISA_LINEAR_IN];
    for (size_t k = 0; k < in; k++) column[k] = (int16_t)(weights[64 * (k / 4) + 4 * c + k % 4] - 128);
    for (int i = 0; i < count; i++) {
      int32_t sum = 0;
      for (size_t k = 0; k < in; k++) sum += (int32_t)column[k] * codes[(size_t)i * in + k];
      out[i][c] = sum;
    }
  }
}

ISA_INLINE void record_products(const int8_t *q, const uint8_t *const rows[4], int32_t out[4]) {
  for (size_t r = 0; r < 4; r++) {
    out[r] = 0;
    for (size_t j = 0; j < 128; j++) out[r] += (int32_t)q[j] * (int8_t)rows[r][j];
  }
}

#include "isa/network.h"

static void f16_to_f32(const uint16_t *x, size_t n, float *out) { isa_scalar_f16_to_f32(x, n, out); }

const isa_path isa_scalar = ISA_PATH;

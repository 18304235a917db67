/* isa: the vector functions of each CPU path, and the choice of the path. Includes no other folder; everything else in
 * the kernel is written once, on top of this table, except what the folder `sparse` defines for each path.
 *
 * Contracts are those of ame_kernel.h. In addition:
 *  - A row's result never depends on its place in a batch: blocks of rows and single rows add in the same order.
 *    So a filtered search gives a row the same score, to the bit, as a full one.
 *  - All are equal to the bit on every path: they fix an order of lanes. Inner products of floats fuse each multiply
 *    with its add, on every path; no other function fuses any. */
#pragma once

#include <string.h>

#include "ame_kernel.h"
#include "exact.h"

/* A linear layer of the sentence encoder: y = x W + b. Weights are bytes, 128 too large each, a column's scaled by
 * scales[column]; weight k of column c is byte 64 (k / 4) + 4 (c % 16) + k % 4 of group c / 16, which has 16 * in
 * bytes. `in` is a multiple of 16 and at most ISA_LINEAR_IN, `out` of 128. */
typedef struct isa_linear {
  const uint8_t *weights;
  const float *scales, *bias;
  size_t in, out;
} isa_linear;
#define ISA_LINEAR_IN  1536u
#define ISA_NORM_WIDTH 512u
#define ISA_HEADS      4u
#define ISA_WINDOW     128u /* tokens that attend to each other, at most */

/* Of the codes of a token: a path has them as bytes or as numbers of 16 bits. */
typedef struct isa_token {
  float scale;
  int32_t sum;
} isa_token;
#define ISA_CODE_MOST sizeof(int16_t)

/* What becomes of a linear layer's y: it replaces the output, 0 in the place of negative numbers, or is added. */
typedef enum isa_result { ISA_SET, ISA_POSITIVE, ISA_ADD } isa_result;

typedef struct isa_path {
  void (*dot_f32)(const float *q, const float *rows, size_t n, size_t dim, float *out);
  /* out[i * k + j] = <q[i], rows j>, equal to those of dot_f32, for four queries at once: k-means is bound by
   * arithmetic, not by memory, and a tile of 4 x 2 loads six registers for eight multiply-adds. The pointers may
   * repeat. */
  void (*dot_f32_tile)(const float *const q[4], const float *rows, size_t k, size_t dim, float *out);
  /* out[i] = ||q - row i||^2, sixteen lanes of f32. */
  void (*sq_l2)(const float *q, const float *rows, size_t n, size_t dim, float *out);
  void (*dot_i8)(const int8_t *q, const int8_t *codes, size_t n, size_t stride, int32_t *out);
  void (*quantize_i8)(const float *rows, size_t n, size_t dim, int8_t *codes, ame_code_info *info);
  uint32_t (*crc32c)(uint32_t crc, const void *data, size_t bytes);
  void (*quantize_i4)(const float *rows, size_t n, size_t dim, uint8_t *codes, ame_i4_info *info);
  void (*rotate)(float *rows, size_t n, size_t dim);
  void (*screen_i4)(const ame_i4_query *q, const uint8_t *blocks, size_t n, size_t next, size_t dim, float threshold,
                    uint16_t *survivors, float *middle, float *half);
  void (*screen_signs)(const ame_sign_query *q, const uint8_t *blocks, size_t n, size_t dim, float threshold,
                       uint16_t *survivors, float *values);
  void (*f16_to_f32)(const uint16_t *x, size_t n, float *out);
  void (*dot_lines)(const ame_line_query *q, const uint8_t *block, size_t run, size_t first, size_t n, size_t next,
                    int32_t *dots);
  void (*dot_lines_i4)(const ame_line_query *q, const uint8_t *block, size_t run, size_t first, size_t n, size_t next,
                       int32_t *dots);
  void (*screen_lines)(const ame_line_bound *b, const int32_t *dots, const float *scales, const float *offsets,
                       size_t n, float threshold, uint64_t *survivors);
  /* The vector of a document, isa/document.h: `dim` sums, a multiple of 16, of which those from `used` on are zero and
   * get what is left of `pad`, the length of each before the sums are damped. Overwrites the sums. */
  void (*document)(float *sums, uint32_t used, uint32_t dim, float pad, float *out);
  /* The sentence encoder, isa/network.h: widths are multiples of 64, at most ISA_LINEAR_IN, with norm_codes
   * ISA_NORM_WIDTH; tokens at most ISA_WINDOW. token_codes: codes of each token's numbers. norm_codes: of the numbers
   * less their mean, divided by their standard deviation, times gain, plus bias. */
  void (*token_codes)(const float *x, size_t tokens, size_t width, void *codes, isa_token *info);
  void (*norm_codes)(const float *x, size_t tokens, size_t width, const float *gain, const float *bias, void *codes,
                     isa_token *info);
  void (*linear)(const isa_linear *l, const void *codes, const isa_token *info, size_t tokens, isa_result result,
                 float *out);
  /* Attention of ISA_HEADS heads. A token has its queries, keys and values, `width` numbers each, and gets `width`.
   * `scratch` has 2 * ISA_WINDOW * width / ISA_HEADS floats. */
  void (*attend)(const float *qkv, size_t tokens, size_t width, float *scratch, float *out);
  /* tanh, in place. */
  void (*squash)(float *x, size_t n);
  void (*dot_records)(const int8_t *q, const uint8_t *base, const uint32_t *at, size_t n, int32_t *out);
} isa_path;

/* The table of a path's file, which defines all functions by these names. */
#define ISA_PATH                                                                                                       \
  {dot_f32,  dot_f32_tile, sq_l2,        dot_i8,     quantize_i8, crc32c,       quantize_i4,                           \
   rotate,   screen_i4,    screen_signs, f16_to_f32, dot_lines,   dot_lines_i4, screen_lines,                          \
   document, token_codes,  norm_codes,   linear,     attend,      squash,       dot_records}

extern const isa_path isa_scalar;

/* Sparse lines, which the folder `sparse` defines for each path. AVX-512 has them by VBMI2, and where that is missing
 * by AVX2. */
typedef struct isa_sparse {
  size_t (*put)(const int8_t *const *rows, size_t n, size_t dim, void *scratch, uint32_t *directory, uint8_t *data);
  size_t (*pack)(const uint8_t *dense, size_t lines, size_t dim, void *scratch, uint32_t *directory, uint8_t *data);
  int32_t (*rows)(const ame_sparse_block *b, size_t n, int8_t *const *rows);
  int32_t (*take)(const ame_sparse_block *b, size_t row, const uint32_t *dims, size_t n, int8_t *codes);
  int32_t (*dot)(const ame_line_query *q, const ame_sparse_block *b, uint64_t lines, const ame_sparse_block *next,
                 int32_t *dots);
  int32_t (*check)(const ame_sparse_block *b, size_t first, size_t n);
  void (*squeeze_row)(const int8_t *codes, size_t dim, size_t count, uint8_t *bits, uint8_t *out);
  void (*spread_row)(const uint8_t *bits, const uint8_t *packed, size_t count, size_t dim, int8_t *codes);
} isa_sparse;
#define ISA_SPARSE                                                                                                     \
  {sparse_put, sparse_pack, sparse_rows, sparse_take, dot_sparse, sparse_check, squeeze_row, spread_row}

extern const isa_sparse isa_sparse_scalar;
#if defined(__x86_64__)
extern const isa_path isa_avx2, isa_avx512;
extern const isa_sparse isa_sparse_avx2, isa_sparse_vbmi2;
#endif
#if defined(__aarch64__)
extern const isa_path isa_neon, isa_neon_dot;
extern const isa_sparse isa_sparse_neon, isa_sparse_neon_dot;
#endif

/* The active path, chosen at first use. */
const isa_path *isa_active(void);
const isa_sparse *isa_active_sparse(void);

/* Entries of the kernel's table that are the same on every path. */
void kernel_dequantize_i4(const uint8_t *codes, const ame_i4_info *info, size_t dim, float *out);
void kernel_f32_to_f16(const float *x, size_t n, uint16_t *out);

#define ISA_INLINE static inline __attribute__((always_inline, unused))

/* For loops over sums of lines: where one remains, they are in memory, 1.2 times slower with AVX2 from the caches. */
#if defined(__clang__)
#define ISA_UNROLL _Pragma("clang loop unroll(full)")
#else
#define ISA_UNROLL _Pragma("GCC unroll 4")
#endif

/* In half.c; also for the tail of every path. */
void isa_scalar_f16_to_f32(const uint16_t *x, size_t n, float *out);

/* A bijection whose output bits look random: the finaliser of splitmix64 (Steele, Lea and Flood, 2014). */
#define ISA_GOLDEN 0x9e3779b97f4a7c15ull
ISA_INLINE uint64_t isa_mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

#define ISA_DOT_LANES  16
#define ISA_L2_LANES   16
#define ISA_CODE_LANES 8

/* The smallest float that is not below v >= 0; beyond the largest float it is infinity. */
ISA_INLINE float isa_round_up(double v) {
  float f = (float)v;
  if ((double)f < v) {
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    bits++;
    memcpy(&f, &bits, sizeof f);
  }
  return f;
}

ISA_INLINE float isa_sum16(const float *lane) {
  float s[8];
  for (int i = 0; i < 8; i++) s[i] = lane[i] + lane[i + 8];
  for (int i = 0; i < 4; i++) s[i] = s[i] + s[i + 4];
  return (s[0] + s[2]) + (s[1] + s[3]);
}

/* Scale of the codes of a row. */
typedef struct isa_scale {
  float scale;
  double step;    /* the same, as it multiplies codes */
  double inverse; /* 127 / max: in double it is finite for the smallest denormal too */
} isa_scale;

isa_scale isa_scale_of(float max);
/* Codes of elements [from, dim), the lanes of the squared error and the sum of squared codes: the tail of every path,
 * and with from = 0 the whole of the scalar one. from is a multiple of ISA_CODE_LANES. */
int64_t isa_quantize_tail(const float *row, size_t from, size_t dim, isa_scale s, int8_t *codes, double *lane);
ame_code_info isa_code_info(isa_scale s, const double *lane, int64_t squares);

/* quantize_i8 of every path. `max_abs` is the largest absolute value of a row; `code_row` writes codes, lanes and sum
 * of squares of the front of a row and returns its number of elements, a multiple of ISA_CODE_LANES. */
ISA_INLINE void isa_quantize_i8(const float *rows, size_t n, size_t dim, int8_t *codes, ame_code_info *info,
                                float (*max_abs)(const float *row, size_t dim),
                                size_t (*code_row)(const float *row, size_t dim, isa_scale s, int8_t *codes,
                                                   double *lane, int64_t *squares)) {
  const size_t stride = AME_CODE_STRIDE(dim);
  for (size_t i = 0; i < n; i++) {
    const float *row = rows + i * dim;
    int8_t *out = codes + i * stride;
    const isa_scale s = isa_scale_of(max_abs(row, dim));
    double lane[ISA_CODE_LANES] = {0};
    int64_t squares = 0;
    const size_t done = code_row(row, dim, s, out, lane, &squares);
    squares += isa_quantize_tail(row, done, dim, s, out, lane);
    memset(out + dim, 0, stride - dim);
    info[i] = isa_code_info(s, lane, squares);
  }
}

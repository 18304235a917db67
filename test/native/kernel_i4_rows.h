/* Four-bit codes of rows of every kind against the rows themselves, in long double. Part of kernel_i4_test.c. */
#include "kernel_common.h"

static const size_t i4_dims[] = {1,  2,  3,  4,  5,   7,   8,   9,   15,  16,   17,  31,
                                 33, 63, 64, 65, 127, 383, 384, 385, 768, 1000, 4096};
#define I4_DIMS (sizeof i4_dims / sizeof i4_dims[0])

typedef enum i4_shape {
  I4_GAUSS,
  I4_ZERO,
  I4_ONE_HOT,
  I4_MINUS_ONE_HOT,
  I4_EQUAL,
  I4_HUGE_AND_TINY,
  I4_TINY,
  I4_VANISHING,
  I4_DENORMAL,
  I4_LARGE,
  I4_ENORMOUS,
  I4_ALTERNATING,
  I4_POSITIVE,
  I4_LEVELS,
  I4_NEIGHBOURS,
  I4_MIXED,
  I4_LIKE_QUERY,
  I4_NEAR_QUERY,
  I4_AGAINST_QUERY,
  I4_SHAPES
} i4_shape;

static void i4_fill(float *x, size_t dim, i4_shape shape, const float *q) {
  for (size_t j = 0; j < dim; j++) {
    switch (shape) {
    case I4_ZERO: x[j] = j % 2 ? -0.0f : 0; break;
    case I4_ONE_HOT: x[j] = j == dim / 3 ? 1.5f : 0; break;
    case I4_MINUS_ONE_HOT: x[j] = j == dim - 1 ? -0.7f : 0; break;
    case I4_EQUAL: x[j] = 0.3f; break;
    case I4_HUGE_AND_TINY: x[j] = j == 0 ? 1e6f : random_float() * 1e-3f; break;
    case I4_TINY: x[j] = random_gauss() * 1e-13f; break;
    case I4_VANISHING: x[j] = random_gauss() * 1e-30f; break;
    case I4_DENORMAL: x[j] = random_float() * 1e-40f; break;
    case I4_LARGE: x[j] = random_gauss() * 1e13f; break;
    case I4_ENORMOUS: x[j] = random_float() * 1e38f; break;
    case I4_ALTERNATING: x[j] = j % 2 ? -1 : 1; break;
    case I4_POSITIVE: x[j] = fabsf(random_gauss()) + (j % 7 == 0 ? 2 : 0); break;
    case I4_LEVELS: /* the outermost levels are among them */
      x[j] = 0.125f + 0.25f * (float)((j ? j + 1 < dim ? (int)(random_u64() % 16) : 15 : 0) * 2 - 15);
      break;
    case I4_NEIGHBOURS: x[j] = random_u64() % 2 ? 1 : 1 + 0x1p-23f; break;
    case I4_MIXED: x[j] = ldexpf(random_float(), (int)(random_u64() % 40) - 20); break;
    case I4_LIKE_QUERY: x[j] = q[j]; break;
    case I4_NEAR_QUERY: x[j] = q[j] * 2 + 1e-5f * random_gauss(); break;
    case I4_AGAINST_QUERY: x[j] = -3 * q[j] + 1e-3f * random_gauss(); break;
    default: x[j] = random_gauss();
    }
  }
}

static int i4_code(const uint8_t *codes, size_t j) {
  uint8_t x = codes[j / 8 * 4 + j % 4];
  return j % 8 < 4 ? x & 15 : x >> 4;
}

/* A summary against the row itself, in long double. */
static void check_i4_row(const char *path, const float *row, size_t dim, i4_shape shape, const uint8_t *codes,
                         const ame_i4_info *info) {
  long double err = 0, hat = 0, squares = 0, along = 0;
  float largest = 0;
  int good = 1;
  for (size_t j = 0; j < AME_I4_BYTES(dim) * 2; j++) {
    int v = 2 * i4_code(codes, j) - 15;
    if (j >= dim) good &= v == -15;
    if (j >= dim) continue;
    long double h = (long double)info->offset + (long double)info->scale * v, e = row[j] - h;
    err += e * e;
    hat += h * h;
    along += e * h;
    squares += v * v;
    largest = fabsf(row[j]) > largest ? fabsf(row[j]) : largest;
  }
  CHECK_MESSAGE(good, "%s i4 dim %zu shape %d: a code beyond the row", path, dim, shape);
  if (largest == 0) {
    CHECK(info->scale == 0 && info->offset == 0 && info->err == 0 && info->norm == 0x1p-100f);
    return;
  }
  CHECK_MESSAGE(info->norm >= sqrtl(hat) && info->norm >= 0x1p-100f, "%s i4 norm dim %zu shape %d", path, dim, shape);
  if (largest < AME_I4_LEAST || largest > AME_I4_MOST) {
    int kept = largest >= 0x1p-100f && largest <= 0x1p100f;
    CHECK_MESSAGE(isinf(info->err), "%s i4 dim %zu shape %d: a bound for a row out of range", path, dim, shape);
    if (!kept) CHECK(info->scale == 0 && info->offset == 0 && info->norm == 1);
    if (kept) CHECK_MESSAGE(err <= hat, "%s i4 dim %zu shape %d: out of range is not out of use", path, dim, shape);
    return;
  }
  long double rounding = 0x1p-19L * (fabsl(info->offset) * sqrtl(dim) + fabsl(info->scale) * sqrtl(squares));
  long double least = (sqrtl(err) + AME_I4_ROUNDINGS * rounding) * (1 + 0x1p-14L);
  CHECK_MESSAGE(info->err >= least && info->err <= least * 1.000001L + rounding,
                "%s i4 err dim %zu shape %d: %g, not %Lg", path, dim, shape, info->err, least);
  CHECK_MESSAGE(info->norm >= sqrtl(err), "%s i4 norm against err dim %zu shape %d", path, dim, shape);
  CHECK_MESSAGE(fabsl(along) <= sqrtl(hat) * rounding, "%s i4 dim %zu shape %d: the error is not across the row", path,
                dim, shape);
  if (shape == I4_LEVELS || shape == I4_EQUAL || shape == I4_ONE_HOT || shape == I4_ALTERNATING)
    CHECK_MESSAGE(sqrtl(err) <= rounding, "%s i4 dim %zu shape %d has levels enough", path, dim, shape);
}

static void test_quantize_i4(const char *path) {
  for (size_t d = 0; d < I4_DIMS; d++) {
    size_t dim = i4_dims[d], bytes = AME_I4_BYTES(dim);
    float *rows = memory(I4_SHAPES * dim * sizeof(float)), *q = memory(dim * sizeof(float));
    float *out = memory(dim * sizeof(float));
    uint8_t *codes = memory(I4_SHAPES * bytes), *truth = memory(I4_SHAPES * bytes);
    ame_i4_info info[I4_SHAPES], truth_info[I4_SHAPES];
    i4_fill(q, dim, I4_GAUSS, NULL);
    for (i4_shape s = 0; s < I4_SHAPES; s++) i4_fill(rows + s * dim, dim, s, q);
    memset(codes, 0x55, I4_SHAPES * bytes);
    kernel->quantize_i4(rows, I4_SHAPES, dim, codes, info);
    ame_isa_force("scalar");
    kernel->quantize_i4(rows, I4_SHAPES, dim, truth, truth_info);
    ame_isa_force(path);
    CHECK_MESSAGE(memcmp(codes, truth, I4_SHAPES * bytes) == 0, "%s i4 codes dim %zu", path, dim);
    CHECK_MESSAGE(memcmp(info, truth_info, sizeof info) == 0, "%s i4 summaries dim %zu", path, dim);
    for (i4_shape s = 0; s < I4_SHAPES; s++) {
      check_i4_row(path, rows + s * dim, dim, s, codes + s * bytes, &info[s]);
      kernel->dequantize_i4(codes + s * bytes, &info[s], dim, out);
      int good = 1;
      for (size_t j = 0; j < dim; j++) {
        float part = info[s].scale * (float)(2 * i4_code(codes + s * bytes, j) - 15), whole = info[s].offset + part;
        good &= memcmp(&whole, &out[j], sizeof whole) == 0;
      }
      CHECK_MESSAGE(good, "%s dequantize_i4 dim %zu shape %d", path, dim, s);
    }
    free(rows);
    free(q);
    free(out);
    free(codes);
    free(truth);
  }
  enum { DIM = 384, N = 200 };
  static float rows[N * DIM];
  static uint8_t codes[N * AME_I4_BYTES(DIM)];
  ame_i4_info info[N];
  double relative = 0;
  for (size_t j = 0; j < N * DIM; j++) rows[j] = random_gauss();
  kernel->quantize_i4(rows, N, DIM, codes, info);
  for (size_t i = 0; i < N; i++) relative += info[i].err / norm_of(rows + i * DIM, DIM) / N;
  CHECK_MESSAGE(relative < 0.104, "%s Gaussian rows lose %g", path, relative);
  kernel->quantize_i4(NULL, 0, DIM, NULL, NULL);
  kernel->quantize_i4(rows, 1, 0, codes, info);
  CHECK(info[0].err == 0 && info[0].norm == 0x1p-100f);
}

/* libame_kernel against its header: every CPU path that runs here against the scalar one, the scalar one against arithmetic
 * in long double, and text against tables that say what a word becomes. */
#include "../../ffi/ame_kernel/ame_kernel.h"
#include "../../ffi/ame_kernel/crc32c_table.h"
#include "../../ffi/ame_kernel/prior_table.h"
#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const ame_kernel *kernel;

static uint64_t random_state = 20240611;
static uint64_t random_u64(void) {
  uint64_t z = (random_state += 0x9e3779b97f4a7c15ull);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}
static float random_float(void) { return (float)((double)(random_u64() >> 11) * 0x1p-52 - 1.0); }

/* Exactly n bytes, so that the sanitizer sees the first one beyond. */
static void *memory(size_t bytes) {
  void *p = malloc(bytes ? bytes : 1);
  if (!p) abort();
  return p;
}

static const size_t lengths[] = {0,  1,  2,  3,  7,   8,   9,   15,  16,  17,   31,  32,
                                 33, 63, 64, 65, 127, 255, 256, 384, 768, 1000, 1024};
#define LENGTHS (sizeof lengths / sizeof lengths[0])
#define ROWS    7

typedef enum shape {
  SHAPE_RANDOM,
  SHAPE_ZERO,
  SHAPE_DENORMAL,
  SHAPE_SMALLEST,
  SHAPE_HUGE,
  SHAPE_ONE_HOT,
  SHAPE_MIXED,
  SHAPES
} shape;

static void fill(float *x, size_t n, shape s) {
  for (size_t i = 0; i < n; i++) {
    switch (s) {
    case SHAPE_ZERO: x[i] = 0; break;
    case SHAPE_DENORMAL: x[i] = random_float() * 1e-40f; break;
    case SHAPE_SMALLEST: x[i] = i % 3 ? 0 : 1.4e-45f; break;
    case SHAPE_HUGE: x[i] = random_float() * 1e17f; break;
    case SHAPE_ONE_HOT: x[i] = i == n / 2 ? -3.0f : 0; break;
    case SHAPE_MIXED: x[i] = ldexpf(random_float(), (int)(random_u64() % 40) - 20); break;
    default: x[i] = random_float();
    }
  }
}

static double norm_of(const float *x, size_t n) {
  long double s = 0;
  for (size_t i = 0; i < n; i++) s += (long double)x[i] * x[i];
  return (double)sqrtl(s);
}

static void test_table(void) {
  CHECK(kernel == ame_kernel_table());
  CHECK(kernel->abi == AME_ABI_VERSION && ame_abi_version() == AME_ABI_VERSION);
  CHECK(kernel->size == sizeof(ame_kernel));
  CHECK(strcmp(ame_isa_name(0), "scalar") == 0);
  CHECK(ame_isa_name(ame_isa_count()) == NULL && !ame_isa_supported(ame_isa_count()));
  const char *best = ame_isa_active();
  CHECK(ame_isa_force("abacus") == 1 && ame_isa_force(NULL) == 1 && ame_isa_active() == best);
  for (uint32_t i = 0; i < ame_isa_count(); i++) {
    int forced = ame_isa_force(ame_isa_name(i)) == 0;
    CHECK_MESSAGE(forced == (int)ame_isa_supported(i), "force of %s", ame_isa_name(i));
    if (forced) CHECK(strcmp(ame_isa_active(), ame_isa_name(i)) == 0);
  }
  ame_isa_force(best);
}

static void test_dot_f32(const char *path) {
  for (size_t l = 0; l < LENGTHS; l++) {
    size_t dim = lengths[l];
    float *q = memory(dim * sizeof(float)), *rows = memory(ROWS * dim * sizeof(float));
    float out[ROWS], one;
    for (shape s = 0; s < SHAPES; s++) {
      fill(q, dim, s == SHAPE_ONE_HOT ? SHAPE_RANDOM : s);
      for (size_t i = 0; i < ROWS; i++) fill(rows + i * dim, dim, s);
      kernel->dot_f32(q, rows, ROWS, dim, out);
      for (size_t i = 0; i < ROWS; i++) {
        long double sum = 0;
        for (size_t j = 0; j < dim; j++) sum += (long double)q[j] * rows[i * dim + j];
        double bound = (double)dim * 0x1p-22 * norm_of(q, dim) * norm_of(rows + i * dim, dim) + 1e-44;
        CHECK_MESSAGE(fabs((double)(out[i] - sum)) <= bound, "%s dot_f32 dim %zu shape %d: %g, not %Lg", path, dim, s,
                      out[i], sum);
        kernel->dot_f32(q, rows + i * dim, 1, dim, &one);
        CHECK_MESSAGE(memcmp(&one, &out[i], sizeof one) == 0, "%s dot_f32 dim %zu: a row's bits depend on its place",
                      path, dim);
      }
    }
    free(q);
    free(rows);
  }
  kernel->dot_f32(NULL, NULL, 0, 16, NULL);
}

static void test_dot_i8(const char *path) {
  const size_t strides[] = {0, 64, 128, 192, 384, 1024, 131072};
  for (size_t l = 0; l < sizeof strides / sizeof strides[0]; l++) {
    size_t stride = strides[l];
    int8_t *q = memory(stride), *codes = memory(ROWS * stride);
    int32_t out[ROWS];
    for (int extreme = 0; extreme < 3; extreme++) {
      for (size_t j = 0; j < stride; j++)
        q[j] = extreme ? (int8_t)(extreme == 1 ? 127 : -127) : (int8_t)(random_u64() % 255 - 127);
      for (size_t j = 0; j < ROWS * stride; j++)
        codes[j] = extreme ? (int8_t)(j / (stride ? stride : 1) % 2 ? 127 : -127) : (int8_t)(random_u64() % 255 - 127);
      kernel->dot_i8(q, codes, ROWS, stride, out);
      for (size_t i = 0; i < ROWS; i++) {
        int64_t sum = 0;
        for (size_t j = 0; j < stride; j++) sum += (int64_t)q[j] * codes[i * stride + j];
        CHECK_MESSAGE(out[i] == sum, "%s dot_i8 stride %zu: %d, not %lld", path, stride, out[i], (long long)sum);
      }
    }
    free(q);
    free(codes);
  }
}

static void test_quantize(const char *path) {
  for (size_t l = 0; l < LENGTHS; l++) {
    size_t dim = lengths[l], stride = AME_CODE_STRIDE(dim);
    float *rows = memory(ROWS * dim * sizeof(float));
    int8_t *codes = memory(ROWS * stride), *truth = memory(ROWS * stride);
    ame_code_info info[ROWS], truth_info[ROWS];
    for (shape s = 0; s < SHAPES; s++) {
      fill(rows, ROWS * dim, s);
      memset(codes, 0x55, ROWS * stride);
      kernel->quantize_i8(rows, ROWS, dim, codes, info);
      ame_isa_force("scalar");
      kernel->quantize_i8(rows, ROWS, dim, truth, truth_info);
      ame_isa_force(path);
      CHECK_MESSAGE(memcmp(codes, truth, ROWS * stride) == 0, "%s codes dim %zu shape %d", path, dim, s);
      CHECK_MESSAGE(memcmp(info, truth_info, sizeof info) == 0, "%s summaries dim %zu shape %d", path, dim, s);
      for (size_t i = 0; i < ROWS; i++) {
        long double err = 0, norm = 0;
        int good = 1;
        for (size_t j = 0; j < stride; j++) {
          long double hat = (long double)info[i].scale * codes[i * stride + j];
          long double x = j < dim ? (long double)rows[i * dim + j] : 0;
          good &= codes[i * stride + j] != -128 && (j < dim || codes[i * stride + j] == 0);
          good &= fabsl(x - hat) <= (long double)info[i].scale * 0.5001L || info[i].scale < 1e-38f;
          err += (x - hat) * (x - hat);
          norm += hat * hat;
        }
        CHECK_MESSAGE(good, "%s a code dim %zu shape %d", path, dim, s);
        CHECK_MESSAGE(info[i].err >= sqrtl(err) && info[i].norm >= sqrtl(norm), "%s bounds dim %zu shape %d", path, dim,
                      s);
        CHECK_MESSAGE(info[i].err <= sqrtl(err) * 1.000001L + 2e-45L &&
                          info[i].norm <= sqrtl(norm) * 1.000001L + 2e-45L,
                      "%s bounds too wide, dim %zu shape %d", path, dim, s);
        CHECK(info[i].bias == 0);
      }
    }
    free(rows);
    free(codes);
    free(truth);
  }
  const float ties[8] = {127, 0.5f, -0.5f, 1.5f, -1.5f, 0.25f, -126.5f, 2.5f};
  const int8_t expected[8] = {127, 1, -1, 2, -2, 0, -127, 3};
  int8_t codes[64];
  ame_code_info info;
  kernel->quantize_i8(ties, 1, 8, codes, &info);
  CHECK_MESSAGE(memcmp(codes, expected, 8) == 0, "%s ties away from zero", path);
}

/* ---- Four bits a dimension ------------------------------------------------------------------------------------------*/

static const size_t i4_dims[] = {1,  2,  3,  4,  5,   7,   8,   9,   15,  16,   17,  31,
                                 33, 63, 64, 65, 127, 383, 384, 385, 768, 1000, 4096};
#define I4_DIMS (sizeof i4_dims / sizeof i4_dims[0])

static float random_gauss(void) {
  double s = 0;
  for (int i = 0; i < 12; i++) s += random_float();
  return (float)(s / 2);
}

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
  CHECK_MESSAGE(info->err >= least && info->err <= least * 1.000001L + rounding, "%s i4 err dim %zu shape %d: %g, not %Lg", path,
                dim, shape, info->err, least);
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
  CHECK_MESSAGE(relative < 0.106, "%s Gaussian rows lose %g", path, relative);
  kernel->quantize_i4(NULL, 0, DIM, NULL, NULL);
  kernel->quantize_i4(rows, 1, 0, codes, info);
  CHECK(info[0].err == 0 && info[0].norm == 0x1p-100f);
}

/* Rows into blocks as the header lays them out; rows beyond n are what memory held. */
static void i4_blocks(uint8_t *blocks, const uint8_t *codes, const ame_i4_info *info, const float *bias, size_t n,
                      size_t dim) {
  size_t groups = (dim + 7) / 8;
  for (size_t i = 0; i < n; i++) {
    uint8_t *block = blocks + i / AME_BLOCK_ROWS * AME_BLOCK_BYTES(dim), *at = block + i % AME_BLOCK_ROWS * 4;
    const float columns[5] = {info[i].scale, info[i].offset, info[i].err, info[i].norm, bias[i]};
    for (size_t g = 0; g < groups; g++) memcpy(at + 64 * g, codes + i * AME_I4_BYTES(dim) + 4 * g, 4);
    for (size_t c = 0; c < 5; c++) memcpy(at + 64 * (groups + c), &columns[c], 4);
  }
}

/* A question as the runtime asks it. */
static ame_i4_query i4_question(const float *q, size_t dim, int8_t *codes) {
  ame_code_info info;
  kernel->quantize_i8(q, 1, dim, codes, &info);
  int32_t sum = 0;
  for (size_t j = 0; j < dim; j++) sum += codes[j];
  double each = ((double)info.err + norm_of(q, dim) * (1 + 0x1p-30) * (double)dim * 0x1p-22) * (1 + 0x1p-18);
  float up = nextafterf((float)each, INFINITY);
  return (ame_i4_query){codes, sum, info.scale, info.norm, up, up, 0x1p-21f};
}

/* The header's formula, one row at a time. */
static void i4_expected(const ame_i4_query *q, const uint8_t *codes, const ame_i4_info *x, float bias, size_t dim,
                        float *middle, float *half) {
  int32_t dot = 0;
  for (size_t j = 0; j < dim; j++) dot += q->codes[j] * i4_code(codes, j);
  float levels = x->scale * (float)(2 * dot - 15 * q->sum), offsets = x->offset * (float)q->sum;
  float m = q->scale * (offsets + levels), t = m / x->norm, length = q->length * q->length;
  float across = length - t * t, floor = length / 256;
  across = sqrtf(across > floor ? across : floor);
  *middle = m + bias;
  *half = (x->err * (across + q->per_err) + x->norm * q->per_norm) + fabsf(bias) * q->per_bias;
}

/* Masks and bounds to the bit for thresholds below, among and above the rows, and nothing written for a block without survivors. */
static void check_screen(const char *path, const ame_i4_query *q, const uint8_t *blocks, size_t n, size_t dim,
                         const float *middle, const float *half) {
  float *m = memory(n * 16 * sizeof(float)), *h = memory(n * 16 * sizeof(float));
  uint16_t *survivors = memory(n * sizeof(uint16_t));
  for (int step = -4; step < 8; step++) {
    size_t pick = n ? random_u64() % (n * 16) : 0;
    float threshold = step < -2 || !n ? (step == -4 ? NAN : -INFINITY)
                      : step == 7     ? INFINITY
                                      : middle[pick] + half[pick];
    if (step > 2 && step < 7) threshold = nextafterf(threshold, step % 2 ? INFINITY : -INFINITY);
    memset(m, 0x77, n * 16 * sizeof(float));
    memset(h, 0x77, n * 16 * sizeof(float));
    kernel->screen_i4(q, blocks, n, dim, threshold, survivors, m, h);
    int masks = 1, bounds = 1, silence = 1;
    for (size_t i = 0; i < n; i++) {
      uint32_t mask = 0;
      for (size_t r = 0; r < 16; r++) mask |= (middle[16 * i + r] + half[16 * i + r] < threshold ? 0u : 1u) << r;
      masks &= survivors[i] == mask;
      const uint8_t *at[2] = {(const uint8_t *)(m + 16 * i), (const uint8_t *)(h + 16 * i)};
      for (size_t b = 0; !mask && b < 64; b++) silence &= at[0][b] == 0x77 && at[1][b] == 0x77;
      if (mask) bounds &= memcmp(at[0], middle + 16 * i, 64) == 0 && memcmp(at[1], half + 16 * i, 64) == 0;
    }
    CHECK_MESSAGE(masks, "%s screen_i4 dim %zu, %zu blocks, threshold %g: survivors", path, dim, n, threshold);
    CHECK_MESSAGE(bounds, "%s screen_i4 dim %zu, %zu blocks, threshold %g: bounds", path, dim, n, threshold);
    CHECK_MESSAGE(silence, "%s screen_i4 dim %zu, %zu blocks, threshold %g: written", path, dim, n, threshold);
  }
  free(m);
  free(h);
  free(survivors);
}

/* Whether the truth, exact and in f32, is between the bounds of every row. */
static void check_bounds(const char *path, const float *q, const float *rows, const float *bias, size_t n, size_t dim,
                         const float *middle, const float *half, i4_shape asked) {
  float *dots = memory(n * sizeof(float));
  kernel->dot_f32(q, rows, n, dim, dots);
  for (size_t i = 0; i < n; i++) {
    long double sum = 0, b = bias[i];
    for (size_t j = 0; j < dim; j++) sum += (long double)q[j] * rows[i * dim + j];
    if (isinf(half[i])) continue;
    long double low = (long double)middle[i] - half[i], high = (long double)middle[i] + half[i];
    CHECK_MESSAGE(sum + b >= low && sum + b <= high && dots[i] + b >= low && dots[i] + b <= high,
                  "%s dim %zu question %d shape %zu: %.9Lg and %.9Lg, not in %.9Lg .. %.9Lg", path, dim, asked,
                  i % I4_SHAPES, sum + b, dots[i] + b, low, high);
  }
  free(dots);
}

static void test_screen_i4(const char *path) {
  const size_t counts[] = {0, 1, 2, 3, 5, 17};
  const i4_shape questions[] = {I4_GAUSS, I4_ONE_HOT, I4_EQUAL,    I4_HUGE_AND_TINY, I4_TINY,    I4_LARGE,
                                I4_MIXED, I4_LEVELS,  I4_POSITIVE, I4_ALTERNATING,   I4_DENORMAL};
  for (size_t d = 0; d < I4_DIMS; d++) {
    size_t dim = i4_dims[d], bytes = AME_I4_BYTES(dim), stride = AME_CODE_STRIDE(dim);
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
      size_t n = counts[c], count = n * 16;
      if (dim > 1000 && n > 5) continue;
      i4_shape asked = questions[(d * 5 + c) % (sizeof questions / sizeof questions[0])];
      float *q = memory(dim * sizeof(float)), *rows = memory(count * dim * sizeof(float));
      float *bias = memory(count * sizeof(float)), *middle = memory(count * sizeof(float));
      float *half = memory(count * sizeof(float));
      ame_i4_info *info = memory(count * sizeof *info);
      uint8_t *codes = memory(count * bytes), *blocks = memory(n * AME_BLOCK_BYTES(dim));
      int8_t *query_codes = memory(stride);
      i4_fill(q, dim, asked, NULL);
      if (asked == I4_TINY) q[0] = 1e-13f; /* a question of one dimension may not be smaller still */
      if (asked == I4_DENORMAL) {
        for (size_t j = 0; j < dim; j++) q[j] = j % 2 ? 1 : 1e-40f;
        q[0] = 3;
      }
      for (size_t i = 0; i < count; i++) {
        i4_fill(rows + i * dim, dim, (i4_shape)(i % I4_SHAPES), q);
        double norm = norm_of(rows + i * dim, dim);
        bias[i] = i % 3 == 0 ? (float)(-norm * norm / 2) : 0;
      }
      kernel->quantize_i4(rows, count, dim, codes, info);
      i4_blocks(blocks, codes, info, bias, count, dim);
      ame_i4_query question = i4_question(q, dim, query_codes);
      CHECK(question.length >= AME_I4_LEAST && question.length <= AME_I4_MOST);
      for (size_t i = 0; i < count; i++)
        i4_expected(&question, codes + i * bytes, &info[i], bias[i], dim, &middle[i], &half[i]);
      check_screen(path, &question, blocks, n, dim, middle, half);
      check_bounds(path, q, rows, bias, count, dim, middle, half, asked);
      free(q);
      free(rows);
      free(bias);
      free(middle);
      free(half);
      free(info);
      free(codes);
      free(blocks);
      free(query_codes);
    }
  }
}

/* Questions that lie in the plane of a row's levels and its error, and that have 8-bit codes without an error of their own: then the bound
 * is reached but for its provision for rounding. */
static void test_screen_i4_worst(const char *path) {
  const i4_shape shapes[] = {I4_GAUSS, I4_TINY, I4_LARGE, I4_POSITIVE, I4_NEIGHBOURS, I4_MIXED, I4_HUGE_AND_TINY};
  const float parts[] = {0, 0.01f, 0.2f, 1, -1, 10, -300};
  for (size_t d = 0; d < I4_DIMS; d++) {
    size_t dim = i4_dims[d];
    float *row = memory(dim * sizeof(float)), *q = memory(dim * sizeof(float)), bias = 0, middle, half;
    uint8_t *codes = memory(AME_I4_BYTES(dim));
    int8_t *query_codes = memory(AME_CODE_STRIDE(dim));
    for (size_t k = 0; k < sizeof shapes / sizeof shapes[0] * 7; k++) {
      ame_i4_info info;
      ame_code_info query_info;
      i4_fill(row, dim, shapes[k / 7], NULL);
      kernel->quantize_i4(row, 1, dim, codes, &info);
      for (size_t j = 0; j < dim; j++) {
        float hat = info.offset + info.scale * (float)(2 * i4_code(codes, j) - 15);
        q[j] = (row[j] - hat) + parts[k % 7] * hat;
      }
      kernel->quantize_i8(q, 1, dim, query_codes, &query_info);
      for (size_t j = 0; j < dim; j++) q[j] = query_info.scale * (float)query_codes[j];
      ame_i4_query question = i4_question(q, dim, query_codes);
      if (question.length < AME_I4_LEAST || question.length > AME_I4_MOST) continue;
      i4_expected(&question, codes, &info, bias, dim, &middle, &half);
      check_bounds(path, q, row, &bias, 1, dim, &middle, &half, I4_LIKE_QUERY);
    }
    free(row);
    free(q);
    free(codes);
    free(query_codes);
  }
}

/* The largest sums there are: every code 15 or 0 under every query byte 127 or -127, with the longest rows. */
static void test_screen_i4_extremes(const char *path) {
  enum { DIM = 131072 };
  int8_t *q = memory(DIM);
  uint8_t *block = memory(AME_BLOCK_BYTES(DIM));
  const float columns[5] = {1, 0, 0, 1, 0};
  for (int kind = 0; kind < 4; kind++) {
    memset(q, kind % 2 ? 127 : -127, DIM);
    memset(block, kind / 2 ? 0xff : 0, DIM / 8 * 64);
    for (size_t i = 0; i < 80; i++) memcpy(block + DIM / 8 * 64 + 4 * i, &columns[i / 16], 4);
    ame_i4_query question = {q, (kind % 2 ? 127 : -127) * DIM, 1, 1, 0, 0, 0};
    uint16_t survivors = 0;
    float middle[16], half[16];
    kernel->screen_i4(&question, block, 1, DIM, -INFINITY, &survivors, middle, half);
    int good = survivors == 0xffff;
    for (size_t r = 0; r < 16; r++) good &= middle[r] == (kind % 2 == kind / 2 ? 1.0f : -1.0f) * 127 * 15 * DIM;
    CHECK_MESSAGE(good, "%s screen_i4 extreme %d: %g", path, kind, middle[0]);
  }
  free(q);
  free(block);
}

/* Every half to f32 and back, and f32 to half against the nearest of two neighbours. */
static void test_halves(const char *path) {
  enum { N = 65536 };
  uint16_t *all = memory(N * sizeof(uint16_t)), *back = memory(N * sizeof(uint16_t));
  float *wide = memory(N * sizeof(float)), *part = memory(N * sizeof(float));
  for (size_t i = 0; i < N; i++) all[i] = (uint16_t)i;
  kernel->f16_to_f32(all, N, wide);
  kernel->f32_to_f16(wide, N, back);
  int values = 1, round_trip = 1, nearest = 1, lengths_agree = 1;
  for (size_t i = 0; i < N; i++) {
    int exponent = (int)(i >> 10 & 31), fraction = (int)(i & 1023), is_nan = exponent == 31 && fraction;
    double size =
        exponent == 31 ? INFINITY : ldexp(exponent ? 1024 + fraction : fraction, (exponent ? exponent : 1) - 25);
    if (is_nan) {
      uint32_t bits, expected = (uint32_t)(i & 0x8000) << 16 | 0x7fc00000u | (uint32_t)fraction << 13;
      memcpy(&bits, &wide[i], 4);
      values &= bits == expected;
    } else {
      values &= (double)wide[i] == (i & 0x8000 ? -size : size) && !signbit(wide[i]) == !(i & 0x8000);
    }
    round_trip &= back[i] == (is_nan ? i | 0x200 : i);
  }
  CHECK_MESSAGE(values, "%s f16_to_f32", path);
  CHECK_MESSAGE(round_trip, "%s f16 there and back", path);
  for (size_t i = 0; i < 0x7c00; i++) { /* between a half and the next: below, at and above the middle */
    double above = i + 1 < 0x7c00 ? (double)wide[i + 1] : 65536;
    float middle = (float)(((double)wide[i] + above) / 2), x[3];
    uint16_t out[3];
    x[0] = nextafterf(middle, 0);
    x[1] = middle;
    x[2] = nextafterf(middle, INFINITY);
    for (int sign = 0; sign < 2; sign++) {
      kernel->f32_to_f16(x, 3, out);
      uint16_t s = (uint16_t)(sign << 15);
      nearest &= out[0] == (i | s) && out[1] == ((i + (i & 1)) | s) && out[2] == ((i + 1) | s);
      for (int k = 0; k < 3; k++) x[k] = -x[k];
    }
  }
  CHECK_MESSAGE(nearest, "%s f32_to_f16 is to nearest, ties to even", path);
  const float special[6] = {3e38f, -INFINITY, 1e-45f, -1e-45f, 0x1p-25f, NAN};
  uint16_t out[6];
  kernel->f32_to_f16(special, 6, out);
  CHECK(out[0] == 0x7c00 && out[1] == 0xfc00 && out[2] == 0 && out[3] == 0x8000 && out[4] == 0);
  CHECK((out[5] & 0x7fff) > 0x7c00);
  for (size_t n = 0; n < 40; n++) {
    memset(part, 0x77, 41 * sizeof(float));
    kernel->f16_to_f32(all + 1000, n, part);
    lengths_agree &= memcmp(part, wide + 1000, n * sizeof(float)) == 0 && ((const uint8_t *)(part + n))[0] == 0x77;
  }
  CHECK_MESSAGE(lengths_agree, "%s f16_to_f32 of every length", path);
  free(all);
  free(back);
  free(wide);
  free(part);
}

static void test_sq_l2(const char *path) {
  for (size_t d = 0; d < I4_DIMS; d++) {
    size_t dim = i4_dims[d];
    float *q = memory(dim * sizeof(float)), *rows = memory(ROWS * dim * sizeof(float)), out[ROWS], truth[ROWS];
    for (int s = 0; s < 3; s++) {
      i4_fill(q, dim, I4_GAUSS, NULL);
      for (size_t i = 0; i < ROWS; i++)
        i4_fill(rows + i * dim, dim, s == 0 ? I4_GAUSS : s == 1 ? I4_LIKE_QUERY : I4_NEAR_QUERY, q);
      kernel->sq_l2(q, rows, ROWS, dim, out);
      ame_isa_force("scalar");
      kernel->sq_l2(q, rows, ROWS, dim, truth);
      ame_isa_force(path);
      CHECK_MESSAGE(memcmp(out, truth, sizeof out) == 0, "%s sq_l2 dim %zu", path, dim);
      for (size_t i = 0; i < ROWS; i++) {
        long double sum = 0;
        for (size_t j = 0; j < dim; j++) {
          long double difference = (long double)q[j] - rows[i * dim + j];
          sum += difference * difference;
        }
        CHECK_MESSAGE(fabsl(out[i] - sum) <= sum * (long double)dim * 0x1p-22L, "%s sq_l2 dim %zu: %g, not %Lg", path,
                      dim, out[i], sum);
      }
    }
    free(q);
    free(rows);
  }
  kernel->sq_l2(NULL, NULL, 0, 16, NULL);
}

static void test_rows(const char *path) {
  for (size_t l = 0; l < LENGTHS; l++) {
    size_t dim = lengths[l];
    float *rows = memory(ROWS * dim * sizeof(float));
    for (shape s = 0; s < SHAPES; s++) {
      fill(rows, ROWS * dim, s);
      int zero = norm_of(rows, dim) == 0;
      kernel->normalize(rows, ROWS, dim);
      double norm = norm_of(rows, dim);
      CHECK_MESSAGE(zero ? norm == 0 : fabs(norm - 1) < 1e-6, "%s normalize dim %zu shape %d: %g", path, dim, s, norm);
    }
    fill(rows, ROWS * dim, SHAPE_RANDOM);
    CHECK(kernel->all_finite(rows, ROWS * dim) == 1);
    for (size_t i = 0; i < ROWS * dim; i += 1 + ROWS * dim / 5) {
      float keep = rows[i];
      rows[i] = i % 2 ? NAN : -INFINITY;
      CHECK(kernel->all_finite(rows, ROWS * dim) == 0);
      rows[i] = keep;
    }
    free(rows);
  }
}

static double objective(const float *rows, size_t n, size_t dim, const float *centroids, const uint32_t *assign) {
  long double s = 0;
  for (size_t i = 0; i < n; i++) {
    for (size_t j = 0; j < dim; j++) {
      long double d = (long double)rows[i * dim + j] - centroids[assign[i] * dim + j];
      s += d * d;
    }
  }
  return (double)s;
}

static void test_kmeans(const char *path) {
  enum { N = 403, DIM = 33, K = 70 };
  float *rows = memory(sizeof(float) * N * DIM), *c = memory(sizeof(float) * K * DIM),
        *other = memory(sizeof(float) * K * DIM);
  float half[K], best[N], scratch[N];
  double *sums = memory(sizeof(double) * K * DIM);
  uint64_t counts[K];
  uint32_t assign[N], part[N];
  fill(rows, N * DIM, SHAPE_RANDOM);
  kernel->kmeans_seed(rows, N, DIM, K, 7, c, scratch);
  ame_isa_force("scalar");
  kernel->kmeans_seed(rows, N, DIM, K, 7, other, scratch);
  ame_isa_force(path);
  CHECK_MESSAGE(memcmp(c, other, sizeof(float) * K * DIM) == 0, "%s seeding is the same on every path", path);
  double before = INFINITY;
  for (int round = 0; round < 12; round++) {
    kernel->kmeans_half_norms(c, K, DIM, half);
    kernel->kmeans_assign(rows, N, DIM, c, half, K, assign, best);
    for (size_t i = 0; i < N; i++) {
      double least = INFINITY, mine = 0, square = 0;
      for (size_t j = 0; j < DIM; j++) square += (double)rows[i * DIM + j] * rows[i * DIM + j];
      for (size_t k = 0; k < K; k++) {
        double d = 0;
        for (size_t j = 0; j < DIM; j++)
          d += ((double)rows[i * DIM + j] - c[k * DIM + j]) * ((double)rows[i * DIM + j] - c[k * DIM + j]);
        if (d < least) least = d;
        if (k == assign[i]) mine = d;
      }
      CHECK_MESSAGE(mine <= least + 1e-4 && fabs(best[i] + square - mine) < 1e-4, "%s assign row %zu", path, i);
    }
    for (size_t i = 0; i < N; i += 3)
      kernel->kmeans_assign(rows + i * DIM, N - i < 3 ? N - i : 3, DIM, c, half, K, part + i, NULL);
    CHECK_MESSAGE(memcmp(part, assign, sizeof part) == 0, "%s an assignment depends on the batch", path);
    double now = objective(rows, N, DIM, c, assign);
    CHECK_MESSAGE(now <= before * (1 + 1e-6), "%s objective rose from %g to %g", path, before, now);
    before = now;
    float moved = kernel->kmeans_update(rows, N, DIM, assign, best, K, c, sums, counts);
    CHECK(moved >= 0);
    if (round == 5) memcpy(c, c + DIM, DIM * sizeof(float)); /* a twin loses all its rows */
    if (round == 5) before = INFINITY;
  }
  /* Ties go to the lowest index, and an empty centroid takes the farthest row. */
  float line[4] = {0, 0, 10, 1}, two[3] = {0, 0, 5};
  kernel->kmeans_half_norms(two, 3, 1, half);
  kernel->kmeans_assign(line, 4, 1, two, half, 3, assign, NULL);
  CHECK_MESSAGE(assign[0] == 0 && assign[1] == 0 && assign[2] == 2 && assign[3] == 0, "%s ties", path);
  uint32_t all[4] = {0, 0, 0, 0};
  kernel->kmeans_update(line, 4, 1, all, NULL, 3, two, sums, counts);
  CHECK_MESSAGE(two[1] == 10 && two[2] == 1 && two[0] == 0, "%s empty: %g %g %g", path, two[0], two[1], two[2]);
  float same[3] = {2, 2, 2};
  kernel->kmeans_seed(same, 3, 1, 3, 1, two, scratch);
  CHECK(two[0] == 2 && two[1] == 2 && two[2] == 2);
  kernel->kmeans_seed(same, 0, 1, 3, 1, two, scratch);
  kernel->kmeans_update(same, 0, 1, all, NULL, 3, two, sums, counts);
  free(rows);
  free(c);
  free(other);
  free(sums);
}

static int by_rank(const void *a, const void *b) {
  const ame_hit *x = a, *y = b;
  if (x->score != y->score) return x->score > y->score ? -1 : 1;
  return x->row < y->row ? -1 : x->row > y->row;
}

static void test_topk(void) {
  enum { N = 1000 };
  ame_hit hits[N], sorted[N], items[N + 5];
  const uint64_t sizes[] = {1, 2, 3, 10, 100, 999, 1000, 1005};
  for (int kind = 0; kind < 4; kind++) {
    for (size_t i = 0; i < N; i++) {
      float score = kind == 0   ? random_float()
                    : kind == 1 ? (float)(random_u64() % 7)
                    : kind == 2 ? (float)i
                                : -(float)i;
      hits[i] = (ame_hit){kind == 1 ? N - i : i, score, (uint32_t)i};
    }
    memcpy(sorted, hits, sizeof sorted);
    qsort(sorted, N, sizeof *sorted, by_rank);
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
      ame_topk heap = {items, sizes[s], 0};
      kernel->topk_offer(&heap, hits, 300);
      kernel->topk_offer(&heap, hits + 300, N - 300);
      uint64_t expected = sizes[s] < N ? sizes[s] : N;
      if (!CHECK(heap.count == expected)) continue;
      if (expected < N) CHECK(items[0].row == sorted[expected - 1].row);
      kernel->topk_sort(&heap);
      int good = 1;
      for (uint64_t i = 0; i < expected; i++)
        good &= items[i].row == sorted[i].row && items[i].position == sorted[i].position;
      CHECK_MESSAGE(good, "top %llu of kind %d", (unsigned long long)sizes[s], kind);
    }
  }
  ame_topk heap = {items, 2, 0};
  ame_hit strange[3] = {{1, NAN, 0}, {2, -INFINITY, 0}, {3, INFINITY, 0}};
  kernel->topk_offer(&heap, strange, 3);
  kernel->topk_sort(&heap);
  CHECK(heap.count == 2 && items[0].row == 3 && items[1].row == 2);
}

static void test_bm25(void) {
  ame_posting postings[] = {{0, 1}, {2, 3}, {3, 1000000}};
  float norms[4] = {0.3f, 1, 1.2f, 2.1f}, acc[4] = {0, 5, 1, 0};
  kernel->bm25_accumulate(postings, 3, 2.0f, 1.2f, norms, acc);
  CHECK(fabs(acc[0] - 2 * 2.2 / 1.3) < 1e-5 && acc[1] == 5 && fabs(acc[2] - (1 + 2 * 2.2 * 3 / 4.2)) < 1e-5);
  CHECK(acc[3] < 4.4f && acc[3] > 4.39f);
  kernel->bm25_accumulate(NULL, 0, 1, 1, norms, acc);
}

static void test_crc32c(const char *path) {
  /* RFC 3720, B.4. */
  uint8_t zeros[32] = {0}, ones[32], up[32], down[32];
  for (int i = 0; i < 32; i++) {
    ones[i] = 0xff;
    up[i] = (uint8_t)i;
    down[i] = (uint8_t)(31 - i);
  }
  const uint8_t scsi[48] = {0x01, 0xc0, 0, 0, 0, 0, 0,    0, 0,    0, 0, 0,    0, 0, 0, 0,
                            0x14, 0,    0, 0, 0, 0, 0x04, 0, 0,    0, 0, 0x14, 0, 0, 0, 0x18,
                            0x28, 0,    0, 0, 0, 0, 0,    0, 0x02, 0, 0, 0,    0, 0, 0, 0};
  CHECK_MESSAGE(kernel->crc32c(0, zeros, 32) == 0x8a9136aau, "%s zeros", path);
  CHECK_MESSAGE(kernel->crc32c(0, ones, 32) == 0x62a8ab43u, "%s ones", path);
  CHECK_MESSAGE(kernel->crc32c(0, up, 32) == 0x46dd794eu, "%s up", path);
  CHECK_MESSAGE(kernel->crc32c(0, down, 32) == 0x113fdb5cu, "%s down", path);
  CHECK_MESSAGE(kernel->crc32c(0, scsi, 48) == 0xd9963a56u, "%s iSCSI read", path);
  CHECK_MESSAGE(kernel->crc32c(0, "123456789", 9) == 0xe3069283u && kernel->crc32c(0, NULL, 0) == 0, "%s check value",
                path);
  uint8_t data[200];
  for (size_t i = 0; i < sizeof data; i++) data[i] = (uint8_t)random_u64();
  for (size_t n = 0; n <= sizeof data; n++) {
    uint32_t slow = 0xffffffffu;
    for (size_t i = 0; i < n; i++) {
      slow ^= data[i];
      for (int b = 0; b < 8; b++) slow = (slow >> 1) ^ (slow & 1 ? 0x82f63b78u : 0);
    }
    size_t cut = n / 3;
    CHECK_MESSAGE(kernel->crc32c(kernel->crc32c(0, data, cut), data + cut, n - cut) == ~slow, "%s crc of %zu bytes",
                  path, n);
  }
  for (uint32_t i = 0; i < 256; i++) {
    uint32_t c = i;
    for (int k = 0; k < 8; k++) {
      for (int b = 0; b < 8; b++) c = (c >> 1) ^ (c & 1 ? 0x82f63b78u : 0);
      CHECK(crc32c_table[k][i] == c);
    }
  }
}

static void test_hash64(void) {
  uint8_t data[100] = {0};
  uint64_t seen[300];
  size_t count = 0;
  for (size_t n = 0; n <= sizeof data; n++) seen[count++] = kernel->hash64(data, n, 1);
  for (size_t i = 0; i < sizeof data; i++) {
    data[i] = 1;
    seen[count++] = kernel->hash64(data, sizeof data, 1);
    data[i] = 0;
  }
  CHECK(kernel->hash64(data, 9, 1) != kernel->hash64(data, 9, 2));
  for (size_t i = 0; i < count; i++) {
    for (size_t j = 0; j < i; j++) CHECK_MESSAGE(seen[i] != seen[j], "hash64 %zu and %zu", i, j);
  }
}

/* ---- Text ---- */

typedef struct token_case {
  const char *name, *text, *terms; /* terms joined by a space */
} token_case;

static const token_case token_cases[] = {
    {"empty", "", ""},
    {"separators only", " .,;!? \t\r\n--- ", ""},
    {"case and stem", "The Running dogs ran", "the run dog ran"},
    {"Porter: step 1", "caresses ponies cats feed agreed plastered motoring sing",
     "caress poni cat feed agre plaster motor sing"},
    {"Porter: e and doubles", "conflated sized hopping falling hissing failing filing happy sky",
     "conflat size hop fall hiss fail file happi sky"},
    {"Porter: step 2", "relational conditional valenci digitizer radically vietnamization sensibiliti",
     "relat condit valenc digit radic vietnam sensibl"},
    {"Porter: step 3", "triplicate formative formalize electrical hopeful goodness",
     "triplic form formal electr hope good"},
    {"Porter: step 4", "revival allowance inference airliner adjustable replacement adoption",
     "reviv allow infer airlin adjust replac adopt"},
    {"Porter: step 5", "probate rate cease controll roll", "probat rate ceas control roll"},
    {"Porter: y", "yes toy syzygy crying dyed yyyyyyy", "ye toi syzygi cry dy yyyyyyi"},
    {"stop words stay", "to be or not", "to be or not"},
    {"one letter", "a I x", "a i x"},
    {"possessive", "The author's dog, Anna\xe2\x80\x99s cat", "the author dog anna cat"},
    {"apostrophe", "don't l'homme 'quoted'", "don t l homm quot"},
    {"camel case", "fooBar", "foo bar foobar"},
    {"snake case meets camel case", "foo_bar", "foo bar foobar"},
    {"acronym in front", "HTTPServer parseJSON", "http server httpserver pars json parsejson"},
    {"constant", "MAX_VALUE", "max valu maxvalu"},
    {"underscores outside", "__init__ _x", "init x"},
    {"letters and digits", "utf8 sha256sum x86_64", "utf 8 utf8 sha 256 sum sha256sum 86 64 x8664"},
    {"one-letter piece", "iPhone getX", "phone iphon get getx"},
    {"numbers", "3.14 2024-05-01 1e9", "3 14 2024 05 01 1 9 1e9"},
    {"capitals", "NASA Covid", "nasa covid"},
    {"accents", "Caf\xc3\xa9 na\xc3\xafve \xc3\x85ngstr\xc3\xb6m", "cafe naiv angstrom"},
    {"combining accent", "Cafe\xcc\x81", "cafe"},
    {"sharp s, ligatures, stroke",
     "Stra\xc3\x9f"
     "e \xc5\x93uvre \xc3\xb8l",
     "strass oeuvr ol"},
    {"Greek and its final sigma", "\xce\x9f\xce\x94\xce\x9f\xce\xa3 \xce\xbf\xce\xb4\xcf\x8c\xcf\x82",
     "\xce\xbf\xce\xb4\xce\xbf\xcf\x83 \xce\xbf\xce\xb4\xce\xbf\xcf\x83"},
    {"Cyrillic", "\xd0\x9c\xd0\xbe\xd1\x81\xd0\xba\xd0\xb2\xd0\xb0",
     "\xd0\xbc\xd0\xbe\xd1\x81\xd0\xba\xd0\xb2\xd0\xb0"},
    {"Arabic alef and marks", "\xd8\xa3\xd9\x8e\xd8\xa8", "\xd8\xa7\xd8\xa8"},
    {"Hebrew, right to left mark", "\xe2\x80\x8f\xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d", "\xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d"},
    {"Han pairs", "\xe5\x8c\x97\xe4\xba\xac\xe5\xb8\x82", "\xe5\x8c\x97\xe4\xba\xac \xe4\xba\xac\xe5\xb8\x82"},
    {"one Han character", "\xe6\xb0\xb4 x", "\xe6\xb0\xb4 x"},
    {"katakana is hiragana", "\xe3\x82\xab\xe3\x83\x8a", "\xe3\x81\x8b\xe3\x81\xaa"},
    {"Hangul pairs", "\xed\x95\x9c\xea\xb5\xad", "\xed\x95\x9c\xea\xb5\xad"},
    {"Thai pairs", "\xe0\xb9\x84\xe0\xb8\x97\xe0\xb8\xa2", "\xe0\xb9\x84\xe0\xb8\x97 \xe0\xb8\x97\xe0\xb8\xa2"},
    {"Latin beside Han", "iPad\xe6\xb0\xb4", "pad ipad \xe6\xb0\xb4"},
    {"full width", "\xef\xbc\xa1\xef\xbc\xa2\xef\xbc\x91", "ab 1 ab1"},
    {"Arabic digits", "\xd9\xa1\xd9\xa2\xd9\xa3", "123"},
    {"emoji family is three", "\xf0\x9f\x91\xa8\xe2\x80\x8d\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa7",
     "\xf0\x9f\x91\xa8 \xf0\x9f\x91\xa9 \xf0\x9f\x91\xa7"},
    {"soft hyphen", "co\xc2\xadoperate", "cooper"},
    {"lone continuation", "a\x80z", "a z"},
    {"overlong slash", "a\xc0\xafz", "a z"},
    {"surrogate", "a\xed\xa0\x80z", "a z"},
    {"beyond U+10FFFF", "a\xf4\x90\x80\x80z", "a z"},
    {"cut short", "abc\xe6\xb0", "abc"},
    {"broken, then whole", "\xe6\xb0\x61", "a"},
};

typedef struct collected {
  char joined[4096];
  size_t length, count, longest;
  uint32_t hash;
} collected;

static void collect(void *ctx, uint32_t hash, const uint8_t *term, size_t bytes) {
  collected *c = ctx;
  if (c->length + bytes + 2 < sizeof c->joined) {
    if (c->length) c->joined[c->length++] = ' ';
    memcpy(c->joined + c->length, term, bytes);
    c->length += bytes;
    c->joined[c->length] = 0;
  }
  c->count++;
  c->hash = c->hash * 31 + hash;
  if (bytes > c->longest) c->longest = bytes;
}

static collected tokens_of(const void *text, size_t bytes) {
  collected c = {{0}, 0, 0, 0, 0};
  uint8_t *exact = memory(bytes);
  memcpy(exact, text, bytes);
  kernel->tokenize(exact, bytes, collect, &c);
  free(exact);
  return c;
}

static void test_tokens(void) {
  for (size_t i = 0; i < sizeof token_cases / sizeof token_cases[0]; i++) {
    const token_case *t = &token_cases[i];
    collected c = tokens_of(t->text, strlen(t->text));
    CHECK_MESSAGE(strcmp(c.joined, t->terms) == 0, "%s: \"%s\", not \"%s\"", t->name, c.joined, t->terms);
  }
  CHECK(strcmp(tokens_of("a\0b", 3).joined, "a b") == 0);
  /* What is stored on disk: a change here is a change of format. */
  CHECK_MESSAGE(tokens_of("memory", 6).hash == 0x34e77a74u, "hash of memori: 0x%08x", tokens_of("memory", 6).hash);

  enum { LONG = 1000000 };
  uint8_t *word = memory(LONG);
  memset(word, 'q', LONG);
  collected c = tokens_of(word, LONG), shorter = tokens_of(word, LONG - 1);
  CHECK(c.count == 1 && c.longest <= 64 && c.hash != shorter.hash);
  for (size_t i = 0; i < LONG; i++) word[i] = i % 2 ? 'q' : 'Q';
  c = tokens_of(word, LONG);
  CHECK(c.count == LONG / 2 + 1 && c.longest <= 64);
  memset(word, '_', LONG);
  CHECK(tokens_of(word, LONG).count == 0);
  memset(word, 0xcc, LONG); /* never a character */
  CHECK(tokens_of(word, LONG).count == 0);
  for (size_t i = 0; i < LONG; i++) word[i] = i % 2 ? 0x81 : 0xcc; /* U+0301 for ever */
  CHECK(tokens_of(word, LONG).count == 0);
  free(word);
}

static void embed_one(uint32_t model, uint32_t role, const void *text, size_t bytes, float *out) {
  uint8_t *exact = memory(bytes);
  memcpy(exact, text, bytes);
  uint64_t end = bytes;
  CHECK(kernel->embed(model, role, exact, &end, 1, out) == 0);
  free(exact);
}

static double cosine(uint32_t model, const char *question, const char *document) {
  float q[1024], d[1024], out;
  embed_one(model, AME_ROLE_QUERY, question, strlen(question), q);
  embed_one(model, AME_ROLE_DOCUMENT, document, strlen(document), d);
  kernel->dot_f32(q, d, 1, ame_embed_dim(model), &out);
  return out;
}

/* The bits of a vector in one number. A difference here is a new ame_embed_version. */
static uint32_t bits_of(uint32_t model, uint32_t role, const char *text) {
  float v[1024];
  embed_one(model, role, text, strlen(text), v);
  return kernel->crc32c(0, v, ame_embed_dim(model) * sizeof(float));
}

static const struct pinned {
  uint32_t model, role;
  const char *text;
  uint32_t crc;
} pinned[] = {
#include "kernel_pinned.h"
};

static void test_embed(const char *path) {
  CHECK(ame_embed_dim(AME_MODEL_MULTIGRAM) == 1024 && ame_embed_dim(AME_MODEL_BIGRAM) == 256 && ame_embed_dim(2) == 0);
  CHECK(ame_embed_version(AME_MODEL_MULTIGRAM) >= 1 && ame_embed_version(2) == 0);
  for (size_t i = 0; i < sizeof pinned / sizeof pinned[0]; i++) {
    uint32_t crc = bits_of(pinned[i].model, pinned[i].role, pinned[i].text);
    CHECK_MESSAGE(crc == pinned[i].crc, "%s pinned %zu: 0x%08x, not 0x%08x", path, i, crc, pinned[i].crc);
  }
  float out[2 * 1024];
  uint64_t falling[2] = {3, 1}, rising[2] = {3, 3};
  CHECK(kernel->embed(9, 0, (const uint8_t *)"abc", rising, 1, out) == 1);
  CHECK(kernel->embed(0, 9, (const uint8_t *)"abc", rising, 1, out) == 1);
  CHECK(kernel->embed(0, 0, (const uint8_t *)"abc", falling, 2, out) == 1);
  CHECK(kernel->embed(0, 0, NULL, NULL, 0, NULL) == 0);
  CHECK(kernel->embed(0, 0, (const uint8_t *)"abc", rising, 2, out) == 0);
  CHECK(fabs(norm_of(out, 1024) - 1) < 1e-6 && norm_of(out + 1024, 1024) == 0);

  for (uint32_t m = 0; m < 2; m++) {
    uint32_t dim = ame_embed_dim(m);
    float a[1024], b[1024];
    for (size_t i = 0; i < sizeof token_cases / sizeof token_cases[0]; i++) {
      const char *text = token_cases[i].text;
      for (uint32_t role = 0; role < 2; role++) {
        embed_one(m, role, text, strlen(text), a);
        double norm = norm_of(a, dim);
        CHECK_MESSAGE(*token_cases[i].terms ? fabs(norm - 1) < 1e-6 : norm == 0, "model %u %s: norm %g", m,
                      token_cases[i].name, norm);
        if (role == AME_ROLE_QUERY) CHECK(a[dim - 1] == 0);
      }
    }
    CHECK(cosine(m, "how do I configure the database", "Configuring databases: the connection string") >
          cosine(m, "how do I configure the database", "The weather in Paris was fine all week"));
    CHECK(cosine(m, "parse json", "function parseJSON(text)") > cosine(m, "parse json", "function openFile(path)"));
    /* Vectors in a batch are those of the texts alone. */
    const char *batch = "first text here second";
    uint64_t ends[2] = {15, 22};
    CHECK(kernel->embed(m, 0, (const uint8_t *)batch, ends, 2, out) == 0);
    embed_one(m, 0, "first text here", 15, a);
    embed_one(m, 0, " second", 7, b);
    CHECK(memcmp(out, a, dim * sizeof(float)) == 0 && memcmp(out + dim, b, dim * sizeof(float)) == 0);
  }
  /* More distinct words than a block holds, and ten thousand repeats. */
  enum { LONG = 400000 };
  uint8_t *text = memory(LONG);
  for (size_t i = 0; i < LONG; i++) text[i] = i % 7 ? (uint8_t)('a' + random_u64() % 26) : ' ';
  embed_one(0, 0, text, LONG, out);
  CHECK(fabs(norm_of(out, 1024) - 1) < 1e-6);
  for (size_t i = 0; i < LONG; i++) text[i] = (uint8_t) "repeat "[i % 7];
  embed_one(0, 0, text, LONG, out);
  CHECK(fabs(norm_of(out, 1024) - 1) < 1e-6);
  free(text);
}

/* The hash of embed.c, written again: every listed word must be where its lookup begins to look. */
static uint64_t prior_hash(const char *word) {
  const uint64_t k = 0x9fb21c651e98df25ull;
  size_t n = strlen(word);
  uint64_t h = (n + 1) * 0x9e3779b97f4a7c15ull, v = 0, w = 0;
  if (n >= 8) {
    memcpy(&v, word, 8);
    memcpy(&w, word + n - 8, 8);
    if (n > 8) {
      h = (h ^ v) * k;
      h ^= h >> 32;
    }
    h ^= w;
  } else if (n >= 4) {
    memcpy(&v, word, 4);
    memcpy(&w, word + n - 4, 4);
    h ^= v | (w << 32);
  } else {
    h ^= (uint64_t)(uint8_t)word[0] << 16 | (uint64_t)(uint8_t)word[n / 2] << 8 | (uint8_t)word[n - 1];
  }
  h = (h ^ (h >> 32)) * k;
  h = (h ^ (h >> 29)) * k;
  return h ^ (h >> 32);
}

static void test_prior_table(void) {
  size_t count = sizeof prior_words / sizeof prior_words[0], indexed = 0;
  for (size_t i = 0; i < 4096; i++) indexed += prior_index[i] != 0;
  CHECK(indexed == count);
  for (size_t i = 0; i < count; i++) {
    const struct prior_word *p = &prior_words[i];
    CHECK(p->tier < 3 && p->word[PRIOR_WORD_MAX - 1] == 0);
    if (i) CHECK_MESSAGE(strcmp(prior_words[i - 1].word, p->word) < 0, "%s is out of order", p->word);
    size_t at = prior_hash(p->word) >> 52;
    while (prior_index[at] && prior_index[at] != i + 1) at = (at + 1) % 4096;
    CHECK_MESSAGE(prior_index[at] == i + 1, "%s is not found", p->word);
  }
}

int main(int argc, char **argv) {
  kernel = ame_kernel_table();
  if (argc > 1 && strcmp(argv[1], "--pin") == 0) { /* prints kernel_pinned.h's numbers, after a change of version */
    for (size_t i = 0; i < sizeof pinned / sizeof pinned[0]; i++)
      printf("0x%08x\n", bits_of(pinned[i].model, pinned[i].role, pinned[i].text));
    return 0;
  }
  test_table();
  for (uint32_t i = 0; i < ame_isa_count(); i++) {
    const char *path = ame_isa_name(i);
    if (ame_isa_force(path)) {
      fprintf(stderr, "%s: not on this machine\n", path);
      continue;
    }
    test_dot_f32(path);
    test_dot_i8(path);
    test_quantize(path);
    test_quantize_i4(path);
    test_screen_i4(path);
    test_screen_i4_worst(path);
    test_screen_i4_extremes(path);
    test_halves(path);
    test_sq_l2(path);
    test_rows(path);
    test_kmeans(path);
    test_crc32c(path);
    test_embed(path);
  }
  test_topk();
  test_bm25();
  test_hash64();
  test_tokens();
  test_prior_table();
  return check_report();
}

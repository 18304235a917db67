/* Screening of vertical codes: the survivors to the bit, and the exact bound within the rounding that the header
 * states. Part of kernel_lines_test.c. */
#include "kernel_common.h"
#include "kernel_guard.h"

/* The header's formula, rounded at each operation. */
static float bound_in_f32(const ame_line_bound *b, int32_t p, float scale, const float *offset) {
  if (!offset) {
    float product = scale * (b->by * (float)p), width = scale * b->per_scale;
    float sum = product + (width < b->most ? width : b->most);
    return sum + b->each;
  }
  float middle = *offset * b->by_offset, product = scale * (b->by * (float)(2 * p - 15 * b->sum));
  float size = fabsf(*offset) + 15 * scale, width = size * b->per_scale;
  float sum = middle + product;
  sum += width < b->most ? width : b->most;
  return sum + b->each;
}

/* The same without rounding, and in *slack how far the computed one may be from it. */
static long double bound_exact(const ame_line_bound *b, int32_t p, float scale, const float *offset,
                               long double *slack) {
  long double steps = offset ? 2 * (long double)p - 15 * (long double)b->sum : p;
  long double middle = offset ? (long double)*offset * b->by_offset : 0, product = (long double)scale * b->by * steps;
  long double size = offset ? fabsl((long double)*offset) + 15 * (long double)scale : scale;
  long double width = size * b->per_scale < b->most ? size * b->per_scale : b->most;
  *slack = 0x1p-20L * (fabsl(middle) + fabsl(product) + fabsl(width) + fabsl((long double)b->each)) + 0x1p-148L;
  return middle + product + width + b->each;
}

typedef struct screen_case {
  ame_line_bound b;
  size_t n;
  const int32_t *dots;
  const float *scales, *offsets;
} screen_case;

/* One call: its masks, with room before them and none behind. */
static void check_survivors(const char *path, screen_case c, float threshold) {
  const size_t words = (c.n + 63) / 64;
  guarded out = guarded_memory((words + 1) * sizeof(uint64_t), GUARD_BEHIND);
  uint64_t *survivors = (uint64_t *)out.at + 1;
  memset(out.at, 0x5a, (words + 1) * sizeof(uint64_t));
  kernel->screen_lines(&c.b, c.dots, c.scales, c.offsets, c.n, threshold, survivors);
  CHECK_MESSAGE(survivors[-1] == 0x5a5a5a5a5a5a5a5a, "%s screen_lines: written before survivors", path);
  for (size_t r = 0; r < words * 64; r++) {
    int survives = (int)(survivors[r / 64] >> r % 64 & 1);
    if (r >= c.n) {
      CHECK_MESSAGE(!survives, "%s screen_lines of %zu rows: a bit beyond, %zu", path, c.n, r);
      continue;
    }
    const float *offset = c.offsets ? c.offsets + r : NULL;
    float upper = bound_in_f32(&c.b, c.dots[r], c.scales[r], offset);
    CHECK_MESSAGE(survives == !(upper < threshold), "%s screen_lines row %zu of %zu, %s: %d with %.9g against %.9g",
                  path, r, c.n, offset ? "4 bits" : "8 bits", survives, upper, threshold);
    long double slack, exact = bound_exact(&c.b, c.dots[r], c.scales[r], offset, &slack);
    CHECK_MESSAGE(survives || !(exact - slack >= threshold),
                  "%s screen_lines row %zu of %zu is lost: %.12Lg against %.9g", path, r, c.n, exact, threshold);
    CHECK_MESSAGE(!survives || !(exact + slack < threshold),
                  "%s screen_lines row %zu of %zu stays: %.12Lg against %.9g", path, r, c.n, exact, threshold);
  }
  guarded_free(out);
}

/* Below, among and above the bounds: at some rows' computed and exact ones, and at their neighbours. */
static void check_thresholds(const char *path, screen_case c) {
  const float always[] = {-INFINITY, INFINITY, NAN, 0};
  for (size_t i = 0; i < 4; i++) check_survivors(path, c, always[i]);
  for (size_t i = 0; i < 12 && c.n; i++) {
    size_t r = i == 11 ? c.n - 1 : random_u64() % c.n;
    const float *offset = c.offsets ? c.offsets + r : NULL;
    long double slack, exact = bound_exact(&c.b, c.dots[r], c.scales[r], offset, &slack);
    float threshold = i % 2 ? (float)exact : bound_in_f32(&c.b, c.dots[r], c.scales[r], offset);
    if (i % 3) threshold = nextafterf(threshold, i % 3 == 1 ? INFINITY : -INFINITY);
    check_survivors(path, c, threshold);
  }
}

static float random_size(int exponent) { return ldexpf(1 + fabsf(random_float()), exponent + (int)(random_u64() % 8)); }

/* Products of ordinary size, the largest ones, and those at which the two parts of 2 p - 15 sum nearly cancel. */
static void test_screen_lines(const char *path) {
  const size_t counts[] = {0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 63, 64, 65, 127, 128, 129, 333};
  const int exponents[] = {-4, -30, 20, -75, -140};
  for (size_t k = 0; k < 19 * 2 * 3 * 5; k++) {
    const size_t n = counts[k % 19], kind = k / 38 % 3;
    const int narrow = k / 19 % 2, exponent = exponents[k / 114];
    guarded products = guarded_memory(n * 4, GUARD_BEHIND), rows = guarded_memory(n * 4, GUARD_BEHIND);
    guarded middles = guarded_memory(n * 4, GUARD_BEHIND);
    int32_t *dots = products.at;
    float *scales = rows.at, *offsets = middles.at;
    const int32_t largest = 127 * (int32_t)AME_LINE_DIMS, most = narrow ? 15 * largest : 127 * largest;
    screen_case c = {{random_size(exponent), random_float() * random_size(0), random_size(0), 0, 0, 0},
                     n,
                     dots,
                     scales,
                     narrow ? offsets : NULL};
    c.b.sum = kind == 0 ? (int32_t)(random_u64() % 4000) - 2000 : (int32_t)(random_u64() % (size_t)largest);
    c.b.most = random_size(exponent + 4);
    c.b.each = random_float() * random_size(exponent);
    for (size_t r = 0; r < n; r++) {
      dots[r] = kind == 0   ? (int32_t)(random_u64() % 200000) - 100000
                : kind == 1 ? (int32_t)(random_u64() % (size_t)most) * (r % 2 ? -1 : 1)
                            : 15 * (c.b.sum / 2) + (int32_t)(random_u64() % 64);
      scales[r] = r % 13 == 5 ? 0 : random_size(exponent / 2);
      offsets[r] = r % 17 == 3 ? 0 : random_float() * random_size(exponent / 2);
    }
    check_thresholds(path, c);
    guarded_free(products);
    guarded_free(rows);
    guarded_free(middles);
  }
}

/* A row whose numbers are damaged is never excluded. */
static void test_screen_lines_nan(const char *path) {
  enum { ROWS = 70 };
  int32_t dots[ROWS] = {0};
  float scales[ROWS], offsets[ROWS];
  for (int k = 0; k < 4; k++) {
    for (int r = 0; r < ROWS; r++) {
      scales[r] = k % 2 == 0 && r % 3 == 0 ? NAN : 1;
      offsets[r] = k % 2 == 1 && r % 3 == 0 ? NAN : 1;
    }
    screen_case c = {{1, 1, 1, 1, 1, 0}, ROWS, dots, scales, k < 2 ? offsets : NULL};
    if (k == 3) continue; /* no offset in eight bits */
    uint64_t survivors[2];
    kernel->screen_lines(&c.b, dots, scales, c.offsets, ROWS, INFINITY, survivors);
    for (int r = 0; r < ROWS; r++)
      CHECK_MESSAGE((survivors[r / 64] >> r % 64 & 1) == (r % 3 == 0), "%s screen_lines NaN %d, row %d", path, k, r);
  }
}

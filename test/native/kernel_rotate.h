/* The rotation before four-bit codes. Part of kernel_i4_test.c. */
#include "kernel_common.h"

#define ROTATE_ROWS 6

static const size_t rotate_dims[] = {1,  2,  3,   8,   15,  16,  17,  31,   32,   33,
                                     64, 65, 100, 129, 384, 768, 784, 1000, 1024, 4096};
#define ROTATE_DIMS (sizeof rotate_dims / sizeof rotate_dims[0])

static double inner(const float *a, const float *b, size_t dim) {
  long double s = 0;
  for (size_t j = 0; j < dim; j++) s += (long double)a[j] * b[j];
  return (double)s;
}

/* Rows of unlike kinds: Gaussian, near the first one, non-negative, with few large values, one-hot, zero. */
static void rotate_fill(float *rows, size_t dim) {
  for (size_t j = 0; j < dim; j++) {
    float g = random_gauss();
    rows[j] = g;
    rows[dim + j] = g + 0.01f * random_gauss();
    rows[2 * dim + j] = fabsf(random_gauss()) * 1e6f;
    rows[3 * dim + j] = j % 50 ? random_gauss() * 1e-3f : 3;
    rows[4 * dim + j] = j == dim / 2 ? 1 : 0;
    rows[5 * dim + j] = 0;
  }
}

/* Lengths and inner products stay, every path has the scalar one's bits, and a row's do not depend on its place. */
static void test_rotate(const char *path) {
  for (size_t d = 0; d < ROTATE_DIMS; d++) {
    size_t dim = rotate_dims[d], bytes = ROTATE_ROWS * dim * sizeof(float);
    float *rows = memory(bytes), *turned = memory(bytes), *truth = memory(bytes), *alone = memory(dim * sizeof(float));
    rotate_fill(rows, dim);
    memcpy(turned, rows, bytes);
    memcpy(truth, rows, bytes);
    kernel->rotate(turned, ROTATE_ROWS, dim);
    ame_isa_force("scalar");
    kernel->rotate(truth, ROTATE_ROWS, dim);
    ame_isa_force(path);
    CHECK_MESSAGE(memcmp(turned, truth, bytes) == 0, "%s rotate dim %zu", path, dim);
    int stays = 1;
    for (size_t j = 0; j < dim; j++) stays &= turned[5 * dim + j] == 0;
    CHECK_MESSAGE(stays, "%s rotate dim %zu: the zero row moves", path, dim);
    for (size_t i = 0; i < ROTATE_ROWS; i++) {
      memcpy(alone, rows + i * dim, dim * sizeof(float));
      kernel->rotate(alone, 1, dim);
      CHECK_MESSAGE(memcmp(alone, turned + i * dim, dim * sizeof(float)) == 0, "%s rotate dim %zu: row %zu alone", path,
                    dim, i);
      for (size_t k = 0; k <= i; k++) {
        double before = inner(rows + i * dim, rows + k * dim, dim);
        double after = inner(turned + i * dim, turned + k * dim, dim);
        double bound = 0x1p-18 * norm_of(rows + i * dim, dim) * norm_of(rows + k * dim, dim);
        CHECK_MESSAGE(fabs(before - after) <= bound, "%s rotate dim %zu: <%zu, %zu> is %g, was %g", path, dim, i, k,
                      after, before);
      }
    }
    free(rows);
    free(turned);
    free(truth);
    free(alone);
  }
  kernel->rotate(NULL, 0, 16);
  kernel->rotate(NULL, 5, 0);
}

/* A single coordinate is spread over all: none is above seven times the mean size. The dimensions just above a power
 * of two have two transforms that nearly undo each other. */
static void test_rotate_spreads(const char *path) {
  const size_t dims[] = {64, 65, 66, 100, 127, 128, 129, 257, 384, 513, 768, 784, 1000, 1024, 1025, 1536};
  for (size_t d = 0; d < sizeof dims / sizeof dims[0]; d++) {
    size_t dim = dims[d];
    float *x = memory(dim * sizeof(float)), largest = 0;
    for (size_t i = 0; i < dim; i += 1 + (i > 1 && i + 3 < dim) * dim / 50) {
      memset(x, 0, dim * sizeof(float));
      x[i] = 1;
      kernel->rotate(x, 1, dim);
      for (size_t j = 0; j < dim; j++) largest = fabsf(x[j]) > largest ? fabsf(x[j]) : largest;
    }
    CHECK_MESSAGE(largest <= 7 / sqrt((double)dim), "%s rotate dim %zu leaves %g of 1", path, dim, (double)largest);
    free(x);
  }
}

/* Screening by signs. Part of kernel_i4_test.c. */
#include "kernel_common.h"

#define SIGN_BLOCKS 5u

static const size_t sign_dims[] = {1, 7, 8, 31, 32, 33, 64, 100, 384, 784, 2047, 2048, 2049, 4100, 65536};
#define SIGN_DIMS (sizeof sign_dims / sizeof sign_dims[0])

/* What a row's bits select of the tables, by the format's words. */
static int32_t sign_sum(const uint8_t *tables, const uint8_t *block, size_t dim, size_t r) {
  int32_t sum = 0;
  for (size_t line = 0; line < (dim + 31) / 32; line++) {
    for (size_t i = 0; i < 4; i++) {
      uint8_t byte = block[64 * line + 16 * i + r];
      sum += tables[128 * line + 16 * i + byte % 16] - 63;
      sum += tables[128 * line + 64 + 16 * i + byte / 16] - 63;
    }
  }
  return sum;
}

/* Every value is the format's to the bit, and marks follow from it. kind 1: the largest sums; 2: columns that are not
 * numbers or infinite. */
static void check_signs(const char *path, size_t dim, int kind, int values_wanted) {
  size_t bytes = AME_SIGN_BLOCK_BYTES(dim), lines = AME_SIGN_LINES(dim);
  uint8_t *tables = memory(AME_SIGN_TABLE_BYTES(dim)), *blocks = memory(SIGN_BLOCKS * bytes);
  float *values = memory(SIGN_BLOCKS * 16 * sizeof(float));
  uint16_t marks[SIGN_BLOCKS];
  ame_sign_query q = {tables, random_float(), random_float(), fabsf(random_float())};
  float threshold = random_float();
  for (size_t i = 0; i < AME_SIGN_TABLE_BYTES(dim); i++)
    tables[i] = (uint8_t)(kind == 1 ? AME_SIGN_ENTRY : random_u64() % (AME_SIGN_ENTRY + 1));
  for (size_t i = 0; i < SIGN_BLOCKS * bytes; i++) blocks[i] = (uint8_t)random_u64();
  for (size_t i = 0; i < SIGN_BLOCKS; i++) {
    for (size_t c = 0; c < 48; c++) {
      const float odd[] = {NAN, INFINITY, -INFINITY, 0};
      float x = kind == 2 ? odd[random_u64() % 4] : random_float();
      memcpy(blocks + i * bytes + 64 * lines + 4 * c, &x, sizeof x);
    }
  }
  kernel->screen_signs(&q, blocks, SIGN_BLOCKS, dim, threshold, marks, values_wanted ? values : NULL);
  for (size_t i = 0; i < SIGN_BLOCKS; i++) {
    float columns[48];
    memcpy(columns, blocks + i * bytes + 64 * lines, sizeof columns);
    for (size_t r = 0; r < 16; r++) {
      volatile float first = q.along * columns[r], second = q.scale * columns[16 + r],
                     third = q.across * columns[32 + r];
      second *= (float)sign_sum(tables, blocks + i * bytes, dim, r);
      volatile float value = first + second;
      value += third;
      CHECK_MESSAGE((marks[i] >> r & 1) == !(value < threshold), "%s signs dim %zu row %zu: mark", path, dim, r);
      float got = values_wanted ? values[16 * i + r] : value, want = value;
      CHECK_MESSAGE(memcmp(&got, &want, sizeof got) == 0 || (isnan(got) && isnan(want)),
                    "%s signs dim %zu row %zu: %g, not %g", path, dim, r, (double)got, (double)want);
    }
  }
  kernel->screen_signs(&q, NULL, 0, dim, threshold, marks, NULL);
  free(tables);
  free(blocks);
  free(values);
}

static void test_signs(const char *path) {
  for (size_t d = 0; d < SIGN_DIMS; d++) {
    for (int kind = 0; kind < 3; kind++) check_signs(path, sign_dims[d], kind, kind != 1 || d % 2);
  }
}

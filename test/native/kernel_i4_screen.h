/* Screening blocks: survivors and bounds to the bit, and the truth between them. Part of kernel_i4_test.c, after
 * kernel_i4_rows.h. */
#include "kernel_common.h"

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

/* A query as the runtime screens it. */
static ame_i4_query i4_question(const float *q, size_t dim, int8_t *codes) {
  ame_code_info info;
  kernel->quantize_i8(q, 1, dim, codes, &info);
  int32_t sum = 0;
  for (size_t j = 0; j < dim; j++) sum += codes[j];
  double each = ((double)info.err + norm_of(q, dim) * (1 + 0x1p-30) * (double)dim * 0x1p-22) * (1 + 0x1p-18);
  float up = nextafterf((float)each, INFINITY);
  double squares = 0, mean = (double)sum / (double)dim;
  for (size_t j = 0; j < dim; j++) squares += ((double)codes[j] - mean) * ((double)codes[j] - mean);
  float rest = nextafterf((float)((double)info.scale * sqrt(squares) * (1 + 0x1p-30)), INFINITY);
  return (ame_i4_query){codes, sum, info.scale, info.norm, up, up, 0x1p-21f, rest};
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
  floor = q->rest > q->length / 16 ? q->rest : q->length / 16;
  across = across < floor ? across : floor;
  *middle = m + bias;
  *half = (x->err * (across + q->per_err) + x->norm * q->per_norm) + fabsf(bias) * q->per_bias;
}

/* Masks and bounds to the bit for thresholds below, among and above the rows, and nothing written for a block
 * without survivors. */
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
    const size_t later = step % 2 ? n / 2 : 0, now = n - later; /* in one call or two */
    kernel->screen_i4(q, blocks, now, later, dim, threshold, survivors, m, h);
    kernel->screen_i4(q, blocks + now * AME_BLOCK_BYTES(dim), later, 0, dim, threshold, survivors + now, m + 16 * now,
                      h + 16 * now);
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

/* Questions that lie in the plane of a row's levels and its error, and that have 8-bit codes without an error of
 * their own: then the bound is reached but for its provision for rounding. */
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
    ame_i4_query question = {q, (kind % 2 ? 127 : -127) * DIM, 1, 1, 0, 0, 0, 1};
    uint16_t survivors = 0;
    float middle[16], half[16];
    kernel->screen_i4(&question, block, 1, 0, DIM, -INFINITY, &survivors, middle, half);
    int good = survivors == 0xffff;
    for (size_t r = 0; r < 16; r++) good &= middle[r] == (kind % 2 == kind / 2 ? 1.0f : -1.0f) * 127 * 15 * DIM;
    CHECK_MESSAGE(good, "%s screen_i4 extreme %d: %g", path, kind, middle[0]);
  }
  free(q);
  free(block);
}

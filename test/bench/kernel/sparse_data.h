/* Rows at random in sparse blocks and as dense lines, and questions about them. Part of sparse.c. */
#pragma once

#include "../../native/kernel_common.h"

/* As the embedder's, of which a note has 291 that are not 0. */
enum { DIM = 2048, DENSE_RUN = 1024, MADE = 24 };
#define DENSITY 0.15 /* before the most frequent ones are cut to 0.99 */

typedef struct bench_rows {
  size_t count; /* blocks of AME_SPARSE_RUN rows; from MADE on copies, in memory of their own */
  ame_sparse_block *blocks;
  uint8_t *dense;
  double density[DIM];
  double bytes; /* of all blocks with their directories */
  size_t forms[3];
} bench_rows;

static double bench_uniform(void) { return (double)(random_u64() >> 11) * 0x1p-53; }

/* Log-normal. */
static void bench_densities(double density[DIM]) {
  double sum = 0;
  for (size_t d = 0; d < DIM; d++) sum += density[d] = exp(random_gauss());
  for (size_t d = 0; d < DIM; d++) density[d] = fmin(density[d] * DENSITY * DIM / sum, 0.99);
}

static void bench_fill(const double density[DIM], int8_t *const *rows) {
  for (size_t r = 0; r < AME_SPARSE_RUN; r++) {
    for (size_t d = 0; d < DIM; d++) {
      const uint64_t x = random_u64();
      const int code = (int)(x % 127 + 1) * (x >> 20 & 1 ? 1 : -1);
      rows[r][d] = (int8_t)((double)(x >> 32) * 0x1p-32 < density[d] ? code : 0);
    }
  }
}

static void bench_lay(int8_t *const *rows, uint8_t *dense) {
  for (size_t r = 0; r < AME_SPARSE_RUN; r++) {
    uint8_t *at = dense + r / DENSE_RUN * DENSE_RUN * DIM + r % DENSE_RUN / 64 * 64 + AME_LINE_BYTE(r % 64);
    for (size_t d = 0; d < DIM; d++) at[d * DENSE_RUN] = (uint8_t)(rows[r][d] + 128);
  }
}

static ame_sparse_block bench_copy(const ame_sparse_block *from) {
  ame_sparse_block b = *from;
  uint32_t *directory = memory((DIM + 1) * sizeof *directory);
  uint8_t *data = memory(b.bytes + AME_SPARSE_SLACK);
  memcpy(directory, b.directory, (DIM + 1) * sizeof *directory);
  memcpy(data, b.data, b.bytes);
  b.directory = directory;
  b.data = data;
  return b;
}

/* `each` gets the rows of each block that is made, and makes the block in the memory given. */
static bench_rows bench_rows_of(size_t count, void (*each)(int8_t *const *rows, ame_sparse_block *out)) {
  const size_t block = (size_t)AME_SPARSE_RUN * DIM;
  bench_rows x = {.count = count, .blocks = memory(count * sizeof *x.blocks), .dense = memory(count * block)};
  int8_t *codes = memory(block), *rows[AME_SPARSE_RUN];
  uint8_t *data = memory(kernel->sparse_bound(AME_SPARSE_RUN, DIM) + AME_SPARSE_SLACK);
  uint32_t *directory = memory((DIM + 1) * sizeof *directory);
  for (size_t r = 0; r < AME_SPARSE_RUN; r++) rows[r] = codes + r * DIM;
  bench_densities(x.density);
  for (size_t b = 0; b < count; b++) {
    ame_sparse_block made = {directory, data, 0, AME_SPARSE_LINES, DIM};
    if (b < MADE) {
      bench_fill(x.density, rows);
      bench_lay(rows, x.dense + b * block);
      each(rows, &made);
      for (size_t d = 0; d < DIM; d++) x.forms[directory[d] & 3]++;
    } else {
      memcpy(x.dense + b * block, x.dense + b % MADE * block, block);
    }
    x.blocks[b] = bench_copy(b < MADE ? &made : &x.blocks[b % MADE]);
    x.bytes += (double)(x.blocks[b].bytes + (DIM + 1) * sizeof *directory);
  }
  free(codes), free(data), free(directory);
  return x;
}

typedef struct bench_question {
  ame_line_query q;
  uint32_t dims[DIM];
  int8_t codes[DIM];
} bench_question;

/* `count` dimensions, one as often as the root of its density: between that of a word of the rows and of any word. */
static void bench_question_of(const bench_rows *rows, size_t count, bench_question *x) {
  uint8_t there[DIM] = {0};
  for (size_t n = 0; n < count;) {
    const size_t d = random_u64() % DIM;
    if (there[d] || bench_uniform() * bench_uniform() > rows->density[d]) continue;
    there[d] = 1;
    n++;
  }
  x->q = (ame_line_query){x->dims, x->codes, 0, 0};
  for (uint32_t d = 0; d < DIM; d++) {
    if (!there[d]) continue;
    x->dims[x->q.count] = d;
    x->codes[x->q.count] = (int8_t)((int)(random_u64() % 127 + 1) * (random_u64() % 2 ? 1 : -1));
    x->q.sum += x->codes[x->q.count++];
  }
  for (; x->q.count % AME_LINE_TOGETHER; x->q.count++) x->dims[x->q.count] = 0, x->codes[x->q.count] = 0;
}

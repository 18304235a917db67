/* Rows at random with their sparse block, in memory of exact size. Part of kernel_sparse_test.c. */
#pragma once

#include "kernel_common.h"
#include "kernel_guard.h"

typedef struct sparse_case {
  size_t rows, dim;
  double density; /* of codes that are not 0; below 0: another one in each dimension */
} sparse_case;

typedef struct sparse_sample {
  sparse_case c;
  size_t lines, bytes;
  guarded codes; /* row by row, dim bytes each */
  int8_t **rows; /* their rows */
  guarded directory, data;
  uint8_t *dense; /* the block's dense form */
  ame_sparse_block block;
} sparse_sample;

static double sparse_uniform(void) { return (double)(random_u64() >> 11) * 0x1p-53; }

/* Densities of dimensions go over all sizes, with the ends among them. */
static double sparse_density(double density) {
  if (density >= 0) return density;
  const double u = sparse_uniform();
  return u < 0.1 ? 0 : u > 0.9 ? 1 : exp(-7 * sparse_uniform());
}

static void sparse_fill(const sparse_sample *s) {
  for (size_t d = 0; d < s->c.dim; d++) {
    const double density = sparse_density(s->c.density);
    for (size_t r = 0; r < s->c.rows; r++) {
      int code = (int)(random_u64() % 255) - 128; /* -128, which no row has, is allowed */
      code += code >= 0;
      s->rows[r][d] = (int8_t)(sparse_uniform() < density ? code : 0);
    }
  }
}

static void sparse_put_block(const sparse_sample *s, uint32_t *directory, uint8_t *data, size_t *bytes) {
  guarded scratch = guarded_memory(AME_SPARSE_SCRATCH, GUARD_BEHIND);
  memset(scratch.at, 0xa5, AME_SPARSE_SCRATCH);
  *bytes = kernel->sparse_put((const int8_t *const *)s->rows, s->c.rows, s->c.dim, scratch.at, directory, data);
  guarded_free(scratch);
}

/* The block as the active path makes it. */
static sparse_sample sparse_sample_of(sparse_case c, guard_end end) {
  sparse_sample s = {.c = c, .lines = (c.rows + 63) / 64};
  s.codes = guarded_memory(c.rows * c.dim, end);
  s.rows = memory(c.rows * sizeof *s.rows);
  for (size_t r = 0; r < c.rows; r++) s.rows[r] = (int8_t *)s.codes.at + r * c.dim;
  sparse_fill(&s);
  s.directory = guarded_memory((c.dim + 1) * sizeof(uint32_t), end);
  const size_t bound = kernel->sparse_bound(c.rows, c.dim);
  guarded made = guarded_memory(bound, GUARD_BEHIND);
  sparse_put_block(&s, s.directory.at, made.at, &s.bytes);
  CHECK(s.bytes <= bound);
  s.data = guarded_memory(s.bytes + AME_SPARSE_SLACK, end);
  memcpy(s.data.at, made.at, s.bytes);
  guarded_free(made);
  s.dense = memory(s.lines * 64 * c.dim);
  memset(s.dense, 0x80, s.lines * 64 * c.dim);
  for (size_t r = 0; r < c.rows; r++) {
    for (size_t d = 0; d < c.dim; d++)
      s.dense[(d * s.lines + r / 64) * 64 + AME_LINE_BYTE(r % 64)] = (uint8_t)(s.rows[r][d] + 128);
  }
  s.block = (ame_sparse_block){s.directory.at, s.data.at, s.bytes, s.lines, c.dim};
  return s;
}

static void sparse_sample_free(sparse_sample *s) {
  guarded_free(s->codes);
  guarded_free(s->directory);
  guarded_free(s->data);
  free(s->rows);
  free(s->dense);
}

/* A question of `count` codes that are not 0, in dimensions that may repeat, padded to a multiple of four. */
typedef struct sparse_question {
  ame_line_query q;
  uint32_t *dims;
  int8_t *codes;
} sparse_question;

static sparse_question sparse_question_of(size_t dim, size_t count) {
  const size_t padded = (count + AME_LINE_TOGETHER - 1) / AME_LINE_TOGETHER * AME_LINE_TOGETHER;
  sparse_question x = {.dims = memory(padded * sizeof(uint32_t)), .codes = memory(padded)};
  x.q = (ame_line_query){.dims = x.dims, .codes = x.codes, .count = padded};
  for (size_t i = 0; i < padded; i++) {
    x.dims[i] = (uint32_t)(random_u64() % dim);
    x.codes[i] = (int8_t)(i < count ? (int)(random_u64() % 127 + 1) * (random_u64() % 2 ? 1 : -1) : 0);
    x.q.sum += x.codes[i];
  }
  return x;
}

static void sparse_question_free(sparse_question *x) {
  free(x->dims);
  free(x->codes);
}

enum { SPARSE_UNTOUCHED = 0x5a5a5a5a };

/* The products of a path, all at once or as those of a part and of the rest, and its status; numbers that are not asked
 * for stay SPARSE_UNTOUCHED. */
static int32_t sparse_dots(const sparse_question *x, int in_parts, const ame_sparse_block *b, uint64_t lines,
                           const ame_sparse_block *next, int32_t *out) {
  guarded dots = guarded_memory(b->lines * 64 * sizeof(int32_t), GUARD_BEHIND);
  memset(dots.at, 0x5a, b->lines * 64 * sizeof(int32_t));
  ame_line_query some = x->q, rest;
  some.count = x->q.count / 8 * AME_LINE_TOGETHER;
  rest = (ame_line_query){.dims = x->dims + some.count, .codes = x->codes + some.count, .adds = 1};
  rest.count = x->q.count - some.count;
  int32_t status = 0;
  if (in_parts) {
    status = kernel->dot_sparse(&some, b, lines, next, dots.at);
    status |= kernel->dot_sparse(&rest, b, lines, NULL, dots.at);
  } else {
    status = kernel->dot_sparse(&x->q, b, lines, next, dots.at);
  }
  memcpy(out, dots.at, b->lines * 64 * sizeof(int32_t));
  guarded_free(dots);
  return status;
}

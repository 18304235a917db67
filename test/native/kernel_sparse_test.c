/* Sparse vertical codes on every CPU path that runs here, against the rows that they were made of:
 * kernel_sparse_test [rounds] [seed] [few], the rounds being damaged blocks. `few` leaves out most of the largest
 * blocks: for QEMU, which takes ten times as long. */
#include <stdbool.h>

#include "kernel_sparse_block.h"
#include "kernel_sparse_damage.h"

static void check_put(const sparse_sample *s, const char *path) {
  guarded directory = guarded_memory((s->c.dim + 1) * sizeof(uint32_t), GUARD_BEHIND);
  guarded data = guarded_memory(kernel->sparse_bound(s->c.rows, s->c.dim), GUARD_BEHIND);
  size_t bytes = 0;
  sparse_put_block(s, directory.at, data.at, &bytes);
  CHECK_MESSAGE(bytes == s->bytes && memcmp(data.at, s->data.at, bytes) == 0 &&
                    memcmp(directory.at, s->directory.at, (s->c.dim + 1) * 4) == 0,
                "%s sparse_put: %zu x %zu, %g, another block", path, s->c.rows, s->c.dim, s->c.density);
  guarded_free(directory);
  guarded_free(data);
}

/* The block of the rows' dense lines is the block of the rows. */
static void check_pack(const sparse_sample *s, const char *path) {
  const size_t dim = s->c.dim;
  guarded dense = guarded_memory(s->lines * AME_LINE * dim, GUARD_BEHIND);
  guarded directory = guarded_memory((dim + 1) * sizeof(uint32_t), GUARD_BEHIND);
  guarded data = guarded_memory(kernel->sparse_bound(s->c.rows, dim), GUARD_BEHIND);
  guarded scratch = guarded_memory(AME_SPARSE_SCRATCH, GUARD_BEHIND);
  memset(scratch.at, 0xa5, AME_SPARSE_SCRATCH);
  memset(dense.at, 0x80, s->lines * AME_LINE * dim);
  for (size_t r = 0; r < s->c.rows; r++) {
    uint8_t *line = (uint8_t *)dense.at + r / AME_LINE * AME_LINE * dim + AME_LINE_BYTE(r % AME_LINE);
    for (size_t d = 0; d < dim; d++) line[AME_LINE * d] = (uint8_t)s->rows[r][d] ^ 0x80;
  }
  const size_t bytes =
      kernel->sparse_pack(dense.at, s->lines, dim, scratch.at, (uint32_t *)(void *)directory.at, data.at);
  CHECK_MESSAGE(bytes == s->bytes && memcmp(data.at, s->data.at, bytes) == 0 &&
                    memcmp(directory.at, s->directory.at, (dim + 1) * 4) == 0,
                "%s sparse_pack: %zu x %zu, %g, another block", path, s->c.rows, dim, s->c.density);
  guarded_free(dense);
  guarded_free(directory);
  guarded_free(data);
  guarded_free(scratch);
}

static void check_rows(const sparse_sample *s, const char *path) {
  const size_t some = random_u64() % (s->c.rows + 1), dim = s->c.dim;
  guarded out = guarded_memory(some * dim, GUARD_BEHIND);
  int8_t **rows = memory(some * sizeof *rows);
  for (size_t r = 0; r < some; r++) rows[r] = (int8_t *)out.at + r * dim;
  const int32_t status = kernel->sparse_rows(&s->block, some, rows);
  CHECK_MESSAGE(status == 0 && memcmp(out.at, s->codes.at, some * dim) == 0, "%s sparse_rows: %zu of %zu x %zu, %g",
                path, some, s->c.rows, dim, s->c.density);
  free(rows);
  guarded_free(out);
}

static void check_take(const sparse_sample *s, const char *path) {
  const size_t dim = s->c.dim;
  int8_t *all = memory(dim), *some = memory(dim);
  uint32_t *dims = memory(dim * sizeof *dims);
  for (size_t i = 0; i < 40; i++) {
    const size_t row = random_u64() % s->c.rows, n = random_u64() % (dim + 1);
    int32_t status = kernel->sparse_take(&s->block, row, NULL, dim, all);
    for (size_t d = 0; d < n; d++) dims[d] = (uint32_t)(random_u64() % dim);
    status |= kernel->sparse_take(&s->block, row, dims, n, some);
    int same = status == 0 && memcmp(all, s->rows[row], dim) == 0;
    for (size_t d = 0; d < n; d++) same &= some[d] == all[dims[d]];
    CHECK_MESSAGE(same, "%s sparse_take: row %zu of %zu x %zu, %g", path, row, s->c.rows, dim, s->c.density);
  }
  free(all);
  free(some);
  free(dims);
}

static void check_dot(const sparse_sample *s, const char *path, const sparse_question *x, const int32_t *truth) {
  const size_t rows = s->lines * 64;
  int32_t *dots = memory(rows * sizeof *dots);
  for (size_t i = 0; i < 12; i++) {
    const uint64_t one = (uint64_t)1 << random_u64() % s->lines, any = random_u64(), few = any & random_u64();
    const uint64_t masks[] = {~(uint64_t)0, one, any, few & random_u64(), (uint64_t)0 - one, 0};
    const uint64_t lines = masks[i % 6];
    const int32_t status = sparse_dots(x, i > 5, &s->block, lines, i % 2 ? &s->block : NULL, dots);
    size_t wrong = 0;
    while (wrong < rows && dots[wrong] == (lines >> wrong / 64 & 1 ? truth[wrong] : SPARSE_UNTOUCHED)) wrong++;
    CHECK_MESSAGE(status == 0 && wrong == rows, "%s dot_sparse: row %zu of %zu x %zu, %g, lines %llx, %zu dims", path,
                  wrong, s->c.rows, s->c.dim, s->c.density, (unsigned long long)lines, x->q.count);
  }
  free(dots);
}

static void check_case(sparse_case c, guard_end end) {
  const size_t counts[] = {0, 1, 7, 60, 300, 600};
  ame_isa_force("scalar");
  sparse_sample s = sparse_sample_of(c, end);
  int32_t *truth = memory(s.lines * 64 * sizeof *truth);
  for (size_t k = 0; k < 6; k++) {
    sparse_question x = sparse_question_of(c.dim, counts[k]);
    ame_isa_force("scalar");
    kernel->dot_lines(&x.q, s.dense, s.lines * AME_LINE, 0, s.lines, 0, truth);
    for (uint32_t i = 0; i < ame_isa_count(); i++) {
      if (ame_isa_force(ame_isa_name(i)) == 0) check_dot(&s, ame_isa_name(i), &x, truth);
    }
    sparse_question_free(&x);
  }
  for (uint32_t i = 0; i < ame_isa_count(); i++) {
    const char *path = ame_isa_name(i);
    if (ame_isa_force(path)) continue;
    check_put(&s, path);
    check_pack(&s, path);
    check_rows(&s, path);
    check_take(&s, path);
    CHECK_MESSAGE(kernel->sparse_check(&s.block, 0, c.dim) == 0, "%s sparse_check: %zu x %zu", path, c.rows, c.dim);
    CHECK(kernel->sparse_check(&s.block, c.dim / 2, c.dim - c.dim / 2) == 0);
  }
  free(truth);
  sparse_sample_free(&s);
}

static void test_sparse(bool few) {
  const double densities[] = {-1, 0, 0.02, 0.14, 0.5, 0.86, 0.9, 1};
  const size_t rows[] = {1, 63, 64, 65, 512, 700, AME_SPARSE_RUN}, dims[] = {1, 5, 63, 64, 130};
  for (size_t i = 0; i < 7 * 5; i++) {
    for (size_t k = 0; k < 8; k++) {
      const bool is_large = i / 7 > 1 && i % 7 > 4;
      if (is_large && k % 3 != 0) continue; /* the largest with some densities */
      if (few && (is_large || rows[i % 7] > 65) && (i + k) % 7 != 0) continue;
      check_case((sparse_case){rows[i % 7], dims[i / 7], densities[k]}, k % 2 ? GUARD_BEFORE : GUARD_BEHIND);
    }
  }
}

/* The largest sums there are, in runs that are not dense. */
static void test_sparse_extremes(void) {
  enum { ROWS = 64, EVERY = 3 };
  static int8_t codes[ROWS][AME_SPARSE_DIMS];
  static int32_t dots[ROWS], truth[ROWS];
  const int8_t *rows[ROWS];
  uint32_t *dims = memory(AME_SPARSE_DIMS * sizeof *dims), *directory = memory((AME_SPARSE_DIMS + 1) * 4);
  int8_t *question = memory(AME_SPARSE_DIMS);
  uint8_t *data = memory(kernel->sparse_bound(ROWS, AME_SPARSE_DIMS) + AME_SPARSE_SLACK);
  void *scratch = aligned_alloc(64, AME_SPARSE_SCRATCH);
  if (!scratch) abort();
  for (size_t sign = 0; sign < 2; sign++) {
    ame_line_query q = {.dims = dims, .codes = question, .count = AME_SPARSE_DIMS};
    for (size_t r = 0; r < ROWS; r++) {
      rows[r] = codes[r];
      memset(codes[r], r % EVERY ? 0 : -128, AME_SPARSE_DIMS);
      truth[r] = r % EVERY ? 0 : (sign ? 128 : -128) * 127 * (int32_t)AME_SPARSE_DIMS;
    }
    for (uint32_t d = 0; d < AME_SPARSE_DIMS; d++) dims[d] = d;
    memset(question, sign ? -127 : 127, AME_SPARSE_DIMS);
    q.sum = (sign ? -127 : 127) * (int32_t)AME_SPARSE_DIMS;
    for (uint32_t i = 0; i < ame_isa_count(); i++) {
      if (ame_isa_force(ame_isa_name(i))) continue;
      const size_t bytes = kernel->sparse_put(rows, ROWS, AME_SPARSE_DIMS, scratch, directory, data);
      ame_sparse_block b = {directory, data, bytes, 1, AME_SPARSE_DIMS};
      const int32_t status = kernel->dot_sparse(&q, &b, 1, NULL, dots);
      CHECK_MESSAGE(status == 0 && memcmp(dots, truth, sizeof dots) == 0, "%s: the largest sums", ame_isa_name(i));
    }
  }
  free(dims), free(directory), free(question), free(data), free(scratch);
}

static void test_sparse_bounds(void) {
  CHECK(kernel->sparse_bound(0, 2048) == 0 && kernel->sparse_bound(1, 2048) == 64 * 2048);
  CHECK(kernel->sparse_bound(AME_SPARSE_RUN, AME_SPARSE_DIMS) == (size_t)1 << 29);
  CHECK(kernel->sparse_bound(AME_SPARSE_RUN + 1, 1) == SIZE_MAX && kernel->sparse_bound(1, SIZE_MAX) == SIZE_MAX);
  for (uint32_t i = 0; i < ame_isa_count(); i++) {
    uint32_t directory[3] = {9, 9, 9};
    if (ame_isa_force(ame_isa_name(i)) == 0) {
      guarded scratch = guarded_memory(AME_SPARSE_SCRATCH, GUARD_BEHIND);
      CHECK(kernel->sparse_put(NULL, 0, 2, scratch.at, directory, NULL) == 0 && directory[2] == 0);
      guarded_free(scratch);
    }
  }
}

int main(int argc, char **argv) {
  const uint64_t rounds = argc > 1 ? strtoull(argv[1], NULL, 10) : 2000;
  const uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
  kernel = ame_kernel_table();
  test_sparse_bounds();
  test_sparse(argc > 3 && strcmp(argv[3], "few") == 0);
  test_sparse_extremes();
  test_sparse_refusals();
  test_sparse_empty_bytes();
  test_sparse_damage(seed, rounds);
  return check_report();
}

/* Inner products of vertical codes against sums of the codes they were laid out from. Part of kernel_lines_test.c. */
#include "kernel_common.h"
#include "kernel_guard.h"

/* Extremes go up to the largest sums there are: AME_LINE_DIMS products of 127 and 127, or -128, the code of a byte that
 * no row has. */
typedef enum line_codes {
  LINE_RANDOM,
  LINE_MOST,         /* every code the largest */
  LINE_LEAST,        /* every code the smallest */
  LINE_WITH_QUERY,   /* each the one with the largest product */
  LINE_AGAINST_QUERY /* each the one with the smallest product */
} line_codes;

typedef enum line_question { LINE_ANY, LINE_ALL_127, LINE_ALL_MINUS_127, LINE_IN_TURN } line_question;

typedef struct line_case {
  size_t dims;  /* of the block */
  size_t lines; /* of a run */
  size_t count; /* dimensions of the question that are not 0 */
  size_t bits;
  line_codes codes;
  line_question question;
} line_case;

/* The question: `count` dimensions at random, each once, then dimensions whose code is 0 up to a multiple of four. */
typedef struct line_query {
  ame_line_query q;
  guarded dims, codes;
} line_query;

static line_query line_query_of(line_case c) {
  const size_t padded = (c.count + AME_LINE_TOGETHER - 1) / AME_LINE_TOGETHER * AME_LINE_TOGETHER;
  line_query x;
  x.dims = guarded_memory(padded * sizeof(uint32_t), GUARD_BEHIND);
  x.codes = guarded_memory(padded, GUARD_BEHIND);
  uint32_t *dims = x.dims.at, *order = memory(c.dims * sizeof *order);
  int8_t *codes = x.codes.at;
  for (size_t d = 0; d < c.dims; d++) order[d] = (uint32_t)d;
  x.q = (ame_line_query){.dims = dims, .codes = codes, .count = padded};
  for (size_t i = 0; i < c.count; i++) {
    size_t pick = i + random_u64() % (c.dims - i);
    dims[i] = order[pick];
    order[pick] = order[i];
    int size = c.question == LINE_ANY ? 1 + (int)(random_u64() % 127) : 127;
    int minus = c.question == LINE_ANY ? random_u64() % 2 : c.question == LINE_IN_TURN ? i % 2 : 0;
    codes[i] = (int8_t)(minus || c.question == LINE_ALL_MINUS_127 ? -size : size);
    x.q.sum += codes[i];
  }
  for (size_t i = c.count; i < padded; i++) dims[i] = i % 2 ? (uint32_t)c.dims - 1 : 0;
  free(order);
  return x;
}

/* Codes of row r in dimension d at [d * rows + r]; `sign` of the question's code in each dimension. */
static void line_fill(line_case c, const int8_t *sign, int8_t *codes) {
  const size_t rows = c.lines * AME_LINE_ROWS(c.bits);
  const int least = c.bits == 8 ? -128 : 0, most = c.bits == 8 ? 127 : 15;
  for (size_t d = 0; d < c.dims; d++) {
    int with = sign[d] < 0 ? least : most, against = sign[d] < 0 ? most : least;
    int all = c.codes == LINE_MOST ? most : c.codes == LINE_LEAST ? least : c.codes == LINE_WITH_QUERY ? with : against;
    memset(codes + d * rows, all, rows);
    if (c.codes != LINE_RANDOM) continue;
    for (size_t r = 0; r < rows; r++)
      codes[d * rows + r] = (int8_t)(least + (int)(random_u64() % (size_t)(most - least + 1)));
  }
}

/* As the header has it: of 64 rows, row 16 i + 4 l + e is byte 16 l + 4 i + e. */
static void line_lay(line_case c, const int8_t *codes, uint8_t *block) {
  const size_t rows = AME_LINE_ROWS(c.bits);
  for (size_t line = 0; line < c.dims * c.lines; line++) {
    for (size_t row = 0; row < rows; row++) {
      size_t i = row % 64 / 16, l = row % 16 / 4, e = row % 4;
      int code = codes[line * rows + row];
      uint8_t *byte = block + line * 64 + 16 * l + 4 * i + e;
      if (c.bits == 8) *byte = (uint8_t)(code + 128);
      else *byte = (uint8_t)(row < 64 ? code : *byte | code << 4);
    }
  }
}

static void line_expected(line_case c, const ame_line_query *q, const int8_t *codes, int64_t *sums) {
  const size_t rows = c.lines * AME_LINE_ROWS(c.bits);
  memset(sums, 0, rows * sizeof *sums);
  for (size_t i = 0; i < q->count; i++) {
    for (size_t r = 0; r < rows; r++) sums[r] += (int64_t)q->codes[i] * codes[(size_t)q->dims[i] * rows + r];
  }
}

/* Lines first .. first + n - 1: equal sums, and not a number before the first or beyond the last. */
static void check_lines(const char *path, line_case c, const ame_line_query *q, const uint8_t *block, size_t first,
                        size_t n, size_t next, const int64_t *sums) {
  enum { BEFORE = 64, UNTOUCHED = 0x5a5a5a5a };
  const size_t rows = AME_LINE_ROWS(c.bits);
  guarded out = guarded_memory((BEFORE + n * rows) * sizeof(int32_t), GUARD_BEHIND);
  int32_t *dots = (int32_t *)out.at + BEFORE;
  memset(out.at, 0x5a, (BEFORE + n * rows) * sizeof(int32_t));
  (c.bits == 8 ? kernel->dot_lines : kernel->dot_lines_i4)(q, block, c.lines * AME_LINE, first, n, next, dots);
  int before = 1;
  for (int i = 1; i <= BEFORE; i++) before &= dots[-i] == UNTOUCHED;
  size_t wrong = 0;
  while (wrong < n * rows && dots[wrong] == sums[first * rows + wrong]) wrong++;
  CHECK_MESSAGE(before, "%s dot_lines, %zu bits: written before dots", path, c.bits);
  const int good = wrong == n * rows;
  CHECK_MESSAGE(
      good,
      "%s dot_lines, %zu bits, %zu of %zu dims, codes %d, question %d, lines %zu + %zu of %zu: row %zu is %d, "
      "not %lld",
      path, c.bits, c.count, c.dims, c.codes, c.question, first, n, c.lines, wrong, good ? 0 : dots[wrong],
      good ? 0 : (long long)sums[first * rows + wrong]);
  guarded_free(out);
}

static void check_lines_on_path(const char *path, line_case c, const ame_line_query *q, const uint8_t *block,
                                const int64_t *sums) {
  const size_t bytes = c.dims * c.lines * AME_LINE;
  /* What is prefetched need not exist. */
  const size_t nexts[] = {0, bytes, 64, (size_t)1 << 40, (size_t)0 - bytes};
  const size_t step = c.lines > 3 ? 5 : 1;
  for (size_t first = 0; first < c.lines; first += step) {
    for (size_t n = 0; first + n <= c.lines; n += step)
      check_lines(path, c, q, block, first, n, nexts[(first + n) % 5], sums);
  }
  if (step > 1) check_lines(path, c, q, block, 0, c.lines, bytes, sums);
}

/* Laid out and summed once for all paths: that takes longer than their inner products. */
static void check_line_case(line_case c, guard_end end) {
  const size_t rows = c.lines * AME_LINE_ROWS(c.bits), bytes = c.dims * c.lines * AME_LINE;
  line_query x = line_query_of(c);
  guarded block = guarded_memory(bytes, end);
  int8_t *codes = memory(c.dims * rows), *sign = memory(c.dims);
  int64_t *sums = memory(rows * sizeof *sums);
  memset(sign, 0, c.dims);
  for (size_t i = 0; i < c.count; i++) sign[x.q.dims[i]] = x.q.codes[i];
  line_fill(c, sign, codes);
  line_lay(c, codes, block.at);
  line_expected(c, &x.q, codes, sums);
  for (uint32_t i = 0; i < ame_isa_count(); i++) {
    const char *path = ame_isa_name(i);
    if (ame_isa_force(path) == 0) check_lines_on_path(path, c, &x.q, block.at, sums);
  }
  guarded_free(x.dims);
  guarded_free(x.codes);
  guarded_free(block);
  free(codes);
  free(sign);
  free(sums);
}

static void test_dot_lines(void) {
  const size_t dims[] = {1, 3, 4, 5, 8, 63, 200}, lines[] = {1, 2, 3, 16};
  for (size_t k = 0; k < 7 * 4 * 2; k++) {
    line_case c = {dims[k % 7], lines[k / 7 % 4], 0, k / 28 ? 4 : 8, LINE_RANDOM, LINE_ANY};
    for (size_t i = 0; i < 6; i++) {
      const size_t counts[] = {0, 1, 4, 6, 8, c.dims};
      c.count = counts[i];
      if (c.count <= c.dims) check_line_case(c, i % 2 ? GUARD_BEFORE : GUARD_BEHIND);
    }
    for (size_t i = 0; i < 5 * 4; i++) {
      c.count = c.dims - c.dims / 3;
      c.codes = (line_codes)(i % 5);
      c.question = (line_question)(i / 5);
      check_line_case(c, i % 2 ? GUARD_BEFORE : GUARD_BEHIND);
    }
  }
}

/* Every dimension of long rows: at random, and where sums are largest. */
static void test_dot_lines_long(void) {
  const size_t dims[] = {2048, 65536, AME_LINE_DIMS};
  for (size_t k = 0; k < 3 * 2; k++) {
    line_case c = {dims[k % 3], k % 3 ? 1 : 3, dims[k % 3], k / 3 ? 4 : 8, LINE_RANDOM, LINE_ANY};
    check_line_case(c, GUARD_BEHIND);
    for (size_t i = 0; k % 3 != 1 && i < 6; i++) {
      c.codes = i % 2 ? LINE_AGAINST_QUERY : LINE_WITH_QUERY;
      c.question = (line_question)(LINE_ALL_127 + i / 2);
      check_line_case(c, GUARD_BEHIND);
    }
  }
}

/* The header's place of a row is the one that line_lay has. */
static void test_line_bytes(void) {
  for (size_t i = 0; i < 4; i++) {
    for (size_t l = 0; l < 4; l++) {
      for (size_t e = 0; e < 4; e++) CHECK(AME_LINE_BYTE(16 * i + 4 * l + e) == 16 * l + 4 * i + e);
    }
  }
}

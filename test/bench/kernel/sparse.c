/* sparse [thousand rows] [tries]: inner products of sparse and dense vertical codes on every CPU path, and what makes
 * and reads sparse blocks. Prints a line for each figure, its parts between tabs: what it is, the figure, its unit. */
#include "sparse_data.h"

#include <time.h>

enum { QUESTIONS = 9, SIZES = 5, PATHS = 8, TAKEN = 64 };
static const size_t sizes[SIZES] = {12, 40, 90, 220, 1000};
static int tries = 3;

static double cpu_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static void line(const char *path, const char *what, const char *more, double value, const char *unit) {
  printf("%s: %s%s\t%.3f\t%s\n", path, what, more, value, unit);
  fflush(stdout);
}

/* Of each path, over all blocks that are made. */
static double put_us[PATHS], rows_us[PATHS], take_us[PATHS];
static size_t made;

/* Makes a block on every path; the scalar one is ten times slower and so has only the first. */
static void make_block(int8_t *const *rows, ame_sparse_block *out) {
  void *scratch = aligned_alloc(64, AME_SPARSE_SCRATCH);
  int8_t code[DIM];
  if (!scratch) abort();
  for (uint32_t i = made++ > 0; i < ame_isa_count() && i < PATHS; i++) {
    if (ame_isa_force(ame_isa_name(i))) continue;
    double from = cpu_us();
    out->bytes = kernel->sparse_put((const int8_t *const *)rows, AME_SPARSE_RUN, DIM, scratch,
                                    (uint32_t *)(uintptr_t)out->directory, (uint8_t *)(uintptr_t)out->data);
    put_us[i] += cpu_us() - from;
    from = cpu_us();
    kernel->sparse_rows(out, AME_SPARSE_RUN, rows);
    rows_us[i] += cpu_us() - from;
    from = cpu_us();
    for (size_t r = 0; r < TAKEN; r++) kernel->sparse_take(out, r * 61, NULL, DIM, code);
    take_us[i] += cpu_us() - from;
  }
  free(scratch);
}

typedef void (*asked)(const bench_rows *rows, const ame_line_query *q, int32_t *dots);

static void ask_dense(const bench_rows *rows, const ame_line_query *q, int32_t *dots) {
  for (size_t b = 0; b < rows->count * (AME_SPARSE_RUN / DENSE_RUN); b++)
    kernel->dot_lines(q, rows->dense + b * DIM * DENSE_RUN, DENSE_RUN, 0, DENSE_RUN / 64, DIM * DENSE_RUN, dots);
}

static void ask_lines(const bench_rows *rows, const ame_line_query *q, uint64_t lines, int32_t *dots) {
  for (size_t b = 0; b < rows->count; b++)
    kernel->dot_sparse(q, &rows->blocks[b], lines, b + 1 < rows->count ? &rows->blocks[b + 1] : NULL, dots);
}

static void ask_sparse(const bench_rows *rows, const ame_line_query *q, int32_t *dots) {
  ask_lines(rows, q, ~(uint64_t)0, dots);
}

static void ask_four(const bench_rows *rows, const ame_line_query *q, int32_t *dots) {
  ask_lines(rows, q, (uint64_t)1 << 3 | (uint64_t)1 << 20 | (uint64_t)1 << 41 | (uint64_t)1 << 60, dots);
}

static int ascending(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* The median over questions of the best of the tries. */
static void time_questions(const bench_rows *rows, const char *path, const char *what, asked ask,
                           bench_question x[SIZES][QUESTIONS]) {
  static int32_t dots[AME_SPARSE_RUN];
  for (size_t s = 0; s < SIZES; s++) {
    double took[QUESTIONS];
    char more[40];
    for (size_t i = 0; i < QUESTIONS; i++) {
      took[i] = INFINITY;
      for (int t = 0; t < tries; t++) {
        const double from = cpu_us();
        ask(rows, &x[s][i].q, dots);
        took[i] = fmin(took[i], cpu_us() - from);
      }
    }
    qsort(took, QUESTIONS, sizeof *took, ascending);
    snprintf(more, sizeof more, ", %zu dimensions", sizes[s]);
    line(path, what, more, took[QUESTIONS / 2] * 1e5 / (double)(rows->count * AME_SPARSE_RUN), "us/100k rows");
  }
}

int main(int argc, char **argv) {
  static bench_question x[SIZES][QUESTIONS];
  const size_t wanted = (argc > 1 ? strtoull(argv[1], NULL, 10) : 100) * 1000;
  tries = argc > 2 ? atoi(argv[2]) : tries;
  kernel = ame_kernel_table();
  const bench_rows rows = bench_rows_of((wanted + AME_SPARSE_RUN - 1) / AME_SPARSE_RUN, make_block);
  const double runs = (double)made * DIM;
  line("blocks", "bytes a row", "", rows.bytes / (double)(rows.count * AME_SPARSE_RUN), "bytes");
  line("blocks", "runs with a bitmap", "", (double)rows.forms[AME_SPARSE_BITMAP] / runs, "of all");
  line("blocks", "runs with a map", "", (double)rows.forms[AME_SPARSE_MAPPED] / runs, "of all");
  for (uint32_t i = 0; i < ame_isa_count() && i < PATHS; i++) {
    const double n = i == 0 ? 1 : (double)made, each = 1e5 / AME_SPARSE_RUN / n * 1e-3;
    if (ame_isa_force(ame_isa_name(i))) continue;
    line(ame_isa_name(i), "sparse_put", "", put_us[i] * each, "ms/100k rows");
    line(ame_isa_name(i), "sparse_rows", "", rows_us[i] * each, "ms/100k rows");
    line(ame_isa_name(i), "sparse_take of a row", "", take_us[i] / TAKEN / n, "us");
  }
  for (size_t s = 0; s < SIZES; s++) {
    for (size_t i = 0; i < QUESTIONS; i++) bench_question_of(&rows, sizes[s], &x[s][i]);
  }
  for (uint32_t i = 1; i < ame_isa_count(); i++) {
    const char *path = ame_isa_name(i);
    if (ame_isa_force(path)) continue;
    time_questions(&rows, path, "dense", ask_dense, x);
    time_questions(&rows, path, "sparse", ask_sparse, x);
    time_questions(&rows, path, "sparse, 4 of 64 lines", ask_four, x);
  }
  return 0;
}

#include "rows/coding.h"

#include <math.h>
#include <string.h>

#include "os/arena.h"
#include "rows/vector.h"

/* Rows that the mean is taken of, and rows whose error is measured: spread evenly over all. */
#define MEAN_ROWS  4096u
#define TRIAL_ROWS 128u
/* Bytes that such a row makes resident: the sixteen pages of a fault, with no other row of the sample. */
#define SAMPLED ((uint64_t)64 << 10)
/* Another coding is taken if its error is less than this part of the current one. */
#define WORTH_IT 0.9
/* Larger rows have no bound, and a rotation must not overflow. */
#define ROTATED_MAX AME_I4_MOST

static bool beyond(const float *row, uint32_t dim) {
  float largest = 0;
  for (uint32_t i = 0; i < dim; i++) {
    float a = fabsf(row[i]);
    largest = a > largest || isnan(a) ? a : largest; /* NaN stays: nothing is larger than it */
  }
  return !(largest <= ROTATED_MAX);
}

void ty_coding_turn(const ame_kernel *k, const ty_coding *coding, uint32_t dim, float *row) {
  if (coding->rotated) k->rotate(row, 1, dim);
  if (coding->mirror == NULL) return;
  double along = 0;
  for (uint32_t i = 0; i < dim; i++) along += (double)row[i] * (double)coding->mirror[i];
  float twice = (float)(2 * along);
  for (uint32_t i = 0; i < dim; i++) row[i] -= twice * coding->mirror[i];
}

/* The reflection that maps a unit vector a to another, b, is along a - b. */
void ty_coding_mirror(const ame_kernel *k, const float *anchor, bool rotated, uint32_t dim, float *out) {
  memcpy(out, anchor, dim * sizeof *out);
  if (rotated) k->rotate(out, 1, dim);
  k->normalize(out, 1, dim);
  float one = (float)(1 / sqrt((double)dim));
  for (uint32_t i = 0; i < dim; i++) out[i] -= one;
  k->normalize(out, 1, dim);
}

void ty_coding_quantize(const ame_kernel *k, const ty_coding *coding, uint32_t dim, const float *rows, uint64_t n,
                        float *scratch, uint8_t *codes, ame_i4_info *info) {
  if (coding->anchor == NULL && !coding->rotated && k->all_finite(rows, (size_t)n * dim)) {
    k->quantize_i4(rows, (size_t)n, dim, codes, info);
    return;
  }
  for (uint64_t i = 0; i < n; i++) {
    memcpy(scratch, rows + i * dim, dim * sizeof *scratch);
    for (uint32_t d = 0; coding->anchor != NULL && d < dim; d++) scratch[d] -= coding->anchor[d];
    if (beyond(scratch, dim)) {
      memset(codes + i * AME_I4_BYTES(dim), 0, AME_I4_BYTES(dim));
      info[i] = (ame_i4_info){.err = INFINITY, .norm = 1}; /* no bound excludes it */
      continue;
    }
    ty_coding_turn(k, coding, dim, scratch);
    k->quantize_i4(scratch, 1, dim, codes + i * AME_I4_BYTES(dim), info + i);
  }
}

bool ty_coding_same(const ty_coding *a, const ty_coding *b, uint32_t dim) {
  if (a->rotated != b->rotated || (a->anchor == NULL) != (b->anchor == NULL)) return false;
  return a->anchor == NULL || (memcmp(a->anchor, b->anchor, dim * sizeof *a->anchor) == 0 &&
                               memcmp(a->mirror, b->mirror, dim * sizeof *a->mirror) == 0);
}

/* The mean of a sample of rows; false where a row is too large. */
static bool mean_row(const ty_rebase *r, float *row, float *anchor) {
  uint32_t dim = r->c->dim;
  uint64_t every = r->count / MEAN_ROWS + 1, n = (r->count + every - 1) / every;
  memset(anchor, 0, dim * sizeof *anchor);
  for (uint64_t i = 0; i < r->count; i += every) {
    const float *x = ty_row_vector(r->c, r->rows[i].segment, r->rows[i].at, row);
    ty_read_row(r->c, r->rows[i], SAMPLED, TY_RESIDENT_MOST);
    if (beyond(x, dim)) return false;
    for (uint32_t d = 0; d < dim; d++) anchor[d] += x[d] / (float)n;
  }
  return true;
}

typedef struct trial {
  const ty_rebase *r;
  float *row, *scratch;
  uint8_t *codes;
} trial;

static double length_of(const float *row, uint32_t dim) {
  double squares = 0;
  for (uint32_t i = 0; i < dim; i++) squares += (double)row[i] * (double)row[i];
  return sqrt(squares);
}

/* The length of a row after ty_coding_turn, less its mean. */
static double apart(const ame_kernel *k, const ty_coding *coding, uint32_t dim, const float *row, float *scratch) {
  double mean = 0, squares = 0;
  memcpy(scratch, row, dim * sizeof *scratch);
  if (!beyond(scratch, dim)) ty_coding_turn(k, coding, dim, scratch);
  for (uint32_t i = 0; i < dim; i++) mean += (double)scratch[i] / (double)dim;
  for (uint32_t i = 0; i < dim; i++) squares += ((double)scratch[i] - mean) * ((double)scratch[i] - mean);
  double floor = length_of(row, dim) / 16; /* the floor in the kernel's bound */
  return fmax(sqrt(squares), floor);
}

/* The width of bounds with a coding, summed over a sample of rows, each also taken as the query: its error times the
 * part of the turned row that is not along the vector of ones. The error of a row without a bound is its length. */
static double error_of(const trial *t, const ty_coding *coding) {
  const ty_rebase *r = t->r;
  uint64_t every = r->count / TRIAL_ROWS + 1;
  double sum = 0;
  for (uint64_t i = 0; i < r->count; i += every) {
    ame_i4_info info;
    const float *x = ty_row_vector(r->c, r->rows[i].segment, r->rows[i].at, t->row);
    ty_read_row(r->c, r->rows[i], SAMPLED, TY_RESIDENT_MOST);
    ty_coding_quantize(r->c->env->kernel, coding, r->c->dim, x, 1, t->scratch, t->codes, &info);
    double error = isinf(info.err) ? length_of(x, r->c->dim) : (double)info.err;
    sum += error * apart(r->c->env->kernel, coding, r->c->dim, x, t->scratch);
  }
  return sum;
}

ty_status ty_coding_choose(const ty_rebase *r, float *room, ty_coding *out, ty_error *err) {
  const ty_collection *c = r->c;
  float *anchor = room, *plain = room + c->dim, *rotated = plain + c->dim;
  *out = (ty_coding){0};
  if (c->dtype == TY_INT4 || r->count == 0) return TY_OK; /* the codes of int4 are the rows */
  ty_arena memory = {0};
  trial t = {.r = r,
             .row = ty_arena_take(&memory, c->dim, sizeof *t.row),
             .scratch = ty_arena_take(&memory, c->dim, sizeof *t.scratch),
             .codes = ty_arena_take(&memory, AME_I4_BYTES(c->dim), 1)};
  ty_status status = TY_OK;
  if (memory.failed) {
    status = ty_fail(err, TY_NO_MEMORY, "out of memory to choose a coding");
    goto done;
  }
  *out = c->base.coding;
  double least = WORTH_IT * error_of(&t, out);
  bool anchored = mean_row(r, t.row, anchor);
  if (anchored) {
    ty_coding_mirror(c->env->kernel, anchor, false, c->dim, plain);
    ty_coding_mirror(c->env->kernel, anchor, true, c->dim, rotated);
  }
  const ty_coding tried[] = {{NULL, NULL, false}, {NULL, NULL, true}, {anchor, plain, false}, {anchor, rotated, true}};
  for (size_t i = 0; i < (anchored ? 4 : 2); i++) {
    double error = error_of(&t, &tried[i]);
    if (error >= least) continue;
    least = error;
    *out = tried[i];
  }
done:
  ty_arena_free(&memory);
  return status;
}

/* Damaged blocks: on every path the same numbers and the same status, and nothing outside of the block and its slack is
 * read. Part of kernel_sparse_test.c. */
#pragma once

#include "kernel_sparse_block.h"

/* Changes some bits, bytes or offsets. */
static void sparse_damage(sparse_sample *s) {
  uint32_t *directory = s->directory.at;
  uint8_t *data = s->data.at;
  for (size_t i = random_u64() % 4 + 1; i > 0; i--) {
    const uint64_t r = random_u64();
    const size_t d = random_u64() % (s->c.dim + 1);
    if (r % 8 == 0) directory[d] = (uint32_t)random_u64();
    else if (r % 8 == 1) directory[d] ^= 1u << random_u64() % 32;
    else if (r % 8 == 2) directory[d] += (uint32_t)(random_u64() % 257 * 4) - 512;
    else if (r % 8 == 3 && d < s->c.dim) directory[d] = directory[d + 1];
    else if (s->bytes == 0) continue;
    else if (r % 8 < 6) data[random_u64() % s->bytes] ^= (uint8_t)(1u << random_u64() % 8);
    else if (r % 8 == 6) data[random_u64() % s->bytes] = (uint8_t)random_u64();
    else memset(data + random_u64() % s->bytes, (int)(random_u64() % 2 * 255), 1);
  }
  if (random_u64() % 16 == 0) s->block.lines = random_u64() % AME_SPARSE_LINES + 1;
}

/* What a path makes of a damaged block, one after the other. */
typedef struct sparse_outcome {
  int32_t dot, rows, take, check;
  int32_t *dots;
  int8_t *codes, *taken;
} sparse_outcome;

static sparse_outcome sparse_outcome_of(const sparse_sample *s, const sparse_question *x, uint64_t lines) {
  const size_t rows = s->block.lines * 64, dim = s->c.dim;
  sparse_outcome o = {.dots = memory(rows * 4), .codes = memory(rows * dim), .taken = memory(rows * dim)};
  int8_t **at = memory(rows * sizeof *at);
  for (size_t r = 0; r < rows; r++) at[r] = o.codes + r * dim;
  o.dot = sparse_dots(x, 0, &s->block, lines, &s->block, o.dots);
  o.rows = kernel->sparse_rows(&s->block, rows, at);
  for (size_t r = 0; r < rows; r++) o.take |= kernel->sparse_take(&s->block, r, NULL, dim, o.taken + r * dim);
  o.check = kernel->sparse_check(&s->block, 0, dim);
  free(at);
  return o;
}

static void sparse_outcome_free(sparse_outcome *o) {
  free(o->dots);
  free(o->codes);
  free(o->taken);
}

static void check_damaged(const sparse_sample *s, uint64_t seed) {
  const size_t rows = s->block.lines * 64, dim = s->c.dim;
  const uint64_t lines = random_u64() % 2 ? ~(uint64_t)0 : random_u64();
  sparse_question x = sparse_question_of(dim, random_u64() % 12);
  ame_isa_force("scalar");
  sparse_outcome truth = sparse_outcome_of(s, &x, lines);
  CHECK_MESSAGE(truth.check || (!truth.dot && !truth.rows && !truth.take), "damage %llu: checked and yet refused",
                (unsigned long long)seed);
  CHECK_MESSAGE(truth.rows || memcmp(truth.codes, truth.taken, rows * dim) == 0, "damage %llu: rows not as taken",
                (unsigned long long)seed);
  for (uint32_t i = 1; i < ame_isa_count(); i++) {
    if (ame_isa_force(ame_isa_name(i))) continue;
    sparse_outcome o = sparse_outcome_of(s, &x, lines);
    const int same = o.dot == truth.dot && o.rows == truth.rows && o.take == truth.take && o.check == truth.check;
    CHECK_MESSAGE(same, "damage %llu: another status on %s", (unsigned long long)seed, ame_isa_name(i));
    CHECK_MESSAGE(memcmp(o.dots, truth.dots, rows * 4) == 0 && memcmp(o.codes, truth.codes, rows * dim) == 0 &&
                      memcmp(o.taken, truth.taken, rows * dim) == 0,
                  "damage %llu: other numbers on %s", (unsigned long long)seed, ame_isa_name(i));
    sparse_outcome_free(&o);
  }
  sparse_outcome_free(&truth);
  sparse_question_free(&x);
}

static void test_sparse_damage(uint64_t seed, uint64_t rounds) {
  for (uint64_t r = 0; r < rounds; r++) {
    random_state = seed * 1000003 + r;
    const size_t most = random_u64() % 8 ? 300 : AME_SPARSE_RUN;
    sparse_case c = {random_u64() % most + 1, random_u64() % 5 + 1, random_u64() % 2 ? -1 : sparse_uniform()};
    ame_isa_force("scalar");
    sparse_sample s = sparse_sample_of(c, random_u64() % 2 ? GUARD_BEFORE : GUARD_BEHIND);
    sparse_damage(&s);
    check_damaged(&s, r);
    sparse_sample_free(&s);
  }
}

/* Forms of damage that the check alone finds, or that lie at the end of what may be there. */
static void test_sparse_refusals(void) {
  const uint8_t bitmap[8 + 64] = {3, 0, 0, 0, 0, 0, 0, 0, 7, 0x80}, mapped[2 + 64 + 64] = {1, 3, 7, 9},
                           empty[2 + 64 + 64] = {3, 3, 0, 7, 9};
  const struct {
    uint32_t directory[2];
    const uint8_t *data;
    size_t bytes, lines, dim;
    int32_t check, dot;
  } cases[] = {
      {{AME_SPARSE_BITMAP, 10 << 2}, bitmap, 10, 1, 1, 1, 0},                 /* a code of 0 */
      {{AME_SPARSE_BITMAP, 9 << 2}, bitmap, 9, 1, 1, 1, 1},                   /* a code too few */
      {{AME_SPARSE_BITMAP, 11 << 2}, bitmap, 11, 1, 1, 1, 1},                 /* one too many */
      {{AME_SPARSE_BITMAP, 7 << 2}, bitmap, 7, 1, 1, 1, 1},                   /* no whole bitmap */
      {{AME_SPARSE_DENSE, 63 << 2}, bitmap, 63, 1, 1, 1, 1},                  /* no whole line */
      {{3, 8 << 2}, bitmap, 8, 1, 1, 1, 1},                                   /* no form */
      {{AME_SPARSE_MAPPED, 4 << 2}, mapped, 4, 1, 1, 0, 0},                   /* as it should be: two codes */
      {{AME_SPARSE_MAPPED, 4 << 2 | 1}, mapped, 4, 1, 1, 1, 0},               /* a form after the last run */
      {{4 << 2 | AME_SPARSE_MAPPED, 4 << 2}, mapped, 4, 1, 1, 1, 1},          /* not from the start, and empty */
      {{AME_SPARSE_MAPPED, 5 << 2}, empty, 5, 1, 1, 1, 0},                    /* a byte of the bitmap that is 0 */
      {{AME_SPARSE_MAPPED, 5 << 2}, mapped, 4, 1, 1, 1, 1},                   /* beyond the data */
      {{8 << 2 | AME_SPARSE_MAPPED, 4 << 2}, mapped, 4, 1, 1, 1, 1},          /* backwards */
      {{AME_SPARSE_MAPPED, 4 << 2}, mapped, 4, 0, 1, 1, 0},                   /* no lines */
      {{AME_SPARSE_MAPPED, 4 << 2}, mapped, 4, 1, AME_SPARSE_DIMS + 1, 1, 0}, /* too many dimensions */
  };
  sparse_question x = sparse_question_of(1, 4);
  for (uint32_t i = 0; i < ame_isa_count(); i++) {
    if (ame_isa_force(ame_isa_name(i))) continue;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
      int32_t dots[64];
      ame_sparse_block b = {cases[k].directory, cases[k].data, cases[k].bytes, cases[k].lines, cases[k].dim};
      CHECK_MESSAGE(kernel->sparse_check(&b, 0, b.dim) == cases[k].check, "refusal %zu", k);
      if (b.lines == 1 && b.dim == 1)
        CHECK_MESSAGE(sparse_dots(&x, 0, &b, 1, NULL, dots) == cases[k].dot, "dot %zu", k);
    }
    ame_sparse_block b = {cases[6].directory, mapped, 4, 1, 1};
    CHECK(kernel->sparse_check(&b, 1, 0) == 0 && kernel->sparse_check(&b, 1, 1) && kernel->sparse_check(&b, 2, 0));
  }
  sparse_question_free(&x);
}

/* A map whose bits are all set, of a bitmap whose bytes are all 0: as many bytes as there may be, and not a code. */
static void test_sparse_empty_bytes(void) {
  enum { MAP = AME_SPARSE_LINES, BITMAP = AME_SPARSE_RUN / 8 };
  static int8_t codes[AME_SPARSE_RUN], *rows[AME_SPARSE_RUN];
  static int32_t dots[AME_SPARSE_RUN];
  const uint32_t directory[] = {AME_SPARSE_MAPPED, (MAP + BITMAP) << 2};
  guarded data = guarded_memory(MAP + BITMAP + AME_SPARSE_SLACK, GUARD_BEHIND);
  memset(data.at, 255, MAP);
  const ame_sparse_block b = {directory, data.at, MAP + BITMAP, AME_SPARSE_LINES, 1};
  sparse_question x = sparse_question_of(1, 4);
  for (size_t r = 0; r < AME_SPARSE_RUN; r++) rows[r] = codes + r;
  for (uint32_t i = 0; i < ame_isa_count(); i++) {
    if (ame_isa_force(ame_isa_name(i))) continue;
    memset(codes, 1, sizeof codes);
    int good =
        sparse_dots(&x, 0, &b, ~(uint64_t)0, NULL, dots) == 0 && kernel->sparse_rows(&b, AME_SPARSE_RUN, rows) == 0;
    for (size_t r = 0; r < AME_SPARSE_RUN; r++) good &= dots[r] == 0 && codes[r] == 0;
    CHECK_MESSAGE(good && kernel->sparse_check(&b, 0, 1) == 1, "%s: a bitmap of empty bytes", ame_isa_name(i));
  }
  sparse_question_free(&x);
  guarded_free(data);
}

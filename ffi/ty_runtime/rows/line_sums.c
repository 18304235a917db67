#include "rows/line_sums.h"

#include <string.h>

enum { SOME_LOST = 1, AS_SUMMED = 2, NOT_AS_SUMMED = 4 };

ty_status ty_line_sums_open(ty_line_sums *x, ty_error *err) {
  uint64_t left = x->rows % x->run_rows, bits = (x->dim + 63) / 64 * x->blocks * sizeof(uint64_t);
  x->words = (x->dim + 63) / 64;
  x->last_run = left == 0 ? x->run : (x->bytes - (x->blocks - 1) * x->run * x->dim) / x->dim;
  x->good = ty_damage_memory(x->sums.damages, bits);
  x->bad = ty_damage_memory(x->sums.damages, bits);
  x->whole = ty_damage_memory(x->sums.damages, x->dim * sizeof *x->whole);
  x->lost = ty_damage_memory(x->sums.damages, x->blocks);
  x->about = ty_damage_memory(x->sums.damages, sizeof *x->about);
  if (x->good != NULL && x->bad != NULL && x->whole != NULL && x->lost != NULL && x->about != NULL) return TY_OK;
  return ty_fail(err, TY_NO_MEMORY, "out of memory opening %s", x->sums.file);
}

void ty_line_sums_lose(const ty_line_sums *x, uint64_t row) {
  atomic_store(&x->lost[row / x->run_rows], 1);
  atomic_fetch_or(x->about, SOME_LOST);
}

static inline uint64_t run_of(const ty_line_sums *x, uint64_t block) {
  return block + 1 == x->blocks ? x->last_run : x->run;
}

/* Where the checksums of runs are damaged, all lines are compared with theirs, once. */
static bool is_as_summed(const ty_line_sums *x) {
  uint64_t known = atomic_load(x->about) & (AS_SUMMED | NOT_AS_SUMMED);
  if (known == 0) {
    known = x->sums.kernel->crc32c(0, x->lines, (size_t)x->bytes) == x->crc ? AS_SUMMED : NOT_AS_SUMMED;
    atomic_fetch_or(x->about, known);
  }
  return known == AS_SUMMED;
}

static bool is_good(const ty_line_sums *x, uint64_t block, uint32_t d) {
  const uint64_t at = (block * x->dim + d) * sizeof(uint32_t), run = run_of(x, block);
  uint32_t crc;
  if (!ty_is_intact(&x->sums, at, sizeof crc)) return is_as_summed(x);
  memcpy(&crc, x->sums.data + at, sizeof crc);
  return x->sums.kernel->crc32c(0, x->lines + block * x->run * x->dim + d * run, (size_t)run) == crc;
}

static void note(const ty_line_sums *x, uint64_t block, uint32_t d) {
  const uint64_t run = run_of(x, block);
  ty_damage n = ty_damage_of(x->sums.file, TY_PART_CODES, 19, x->offset + block * x->run * x->dim + d * run, run,
                             "a run of codes does not match its checksum");
  n.first = block * x->run_rows;
  n.rows = x->rows - n.first < x->run_rows ? x->rows - n.first : x->run_rows;
  ty_damage_add(x->sums.damages, &n);
}

static bool compare(const ty_line_sums *x, uint64_t block, uint32_t d) {
  const uint64_t bit = (uint64_t)1 << d % 64, word = block * x->words + d / 64;
  bool good = is_good(x, block, d);
  if (good) {
    if ((atomic_fetch_or(&x->good[word], bit) & bit) == 0) atomic_fetch_add(&x->whole[d], 1);
  } else {
    if ((atomic_fetch_or(&x->bad[word], bit) & bit) == 0) note(x, block, d);
    if ((atomic_fetch_and(&x->good[word], ~bit) & bit) != 0) atomic_fetch_sub(&x->whole[d], 1);
  }
  return good;
}

bool ty_line_sums_whole(const ty_line_sums *x, const uint32_t *dims, uint64_t count) {
  if (x->lines == NULL) return true;
  bool whole = (atomic_load_explicit(x->about, memory_order_relaxed) & SOME_LOST) == 0;
  for (uint64_t i = 0; i < count && whole; i++)
    whole = atomic_load_explicit(&x->whole[dims[i]], memory_order_relaxed) == x->blocks;
  return whole;
}

bool ty_line_sums_good(const ty_line_sums *x, uint64_t row, const uint32_t *dims, uint64_t count) {
  if (x->lines == NULL) return true;
  const uint64_t block = row / x->run_rows;
  const _Atomic uint64_t *good = x->good + block * x->words, *bad = x->bad + block * x->words;
  bool all = atomic_load_explicit(&x->lost[block], memory_order_relaxed) == 0;
  for (uint64_t i = 0; i < count && all; i++) {
    const uint32_t d = dims[i];
    if (atomic_load_explicit(&good[d / 64], memory_order_relaxed) >> d % 64 & 1) continue;
    all = (atomic_load_explicit(&bad[d / 64], memory_order_relaxed) >> d % 64 & 1) == 0 && compare(x, block, d);
  }
  return all;
}

bool ty_line_sums_all(const ty_line_sums *x, uint64_t row) {
  if (x->lines == NULL) return true;
  const uint64_t block = row / x->run_rows;
  bool all = atomic_load_explicit(&x->lost[block], memory_order_relaxed) == 0;
  for (uint64_t w = 0; w < x->words && all; w++) {
    const uint64_t dims = x->dim - w * 64 < 64 ? x->dim - w * 64 : 64, every = dims == 64 ? ~0ull : (1ull << dims) - 1;
    uint64_t left = every & ~atomic_load_explicit(&x->good[block * x->words + w], memory_order_relaxed);
    for (; left != 0 && all; left &= left - 1) {
      const uint32_t d = (uint32_t)(w * 64) + (uint32_t)__builtin_ctzll(left);
      all = ty_line_sums_good(x, row, &d, 1);
    }
  }
  return all;
}

bool ty_line_sums_again(const ty_line_sums *x, ty_go_on go_on, void *context) {
  for (uint64_t block = 0; x->lines != NULL && block < x->blocks; block++) {
    for (uint32_t d = 0; d < x->dim; d++) compare(x, block, d);
    if (!go_on(context, run_of(x, block) * x->dim)) return false;
  }
  return true;
}

uint64_t ty_line_sums_where(const ty_line_sums *x, uint64_t row) {
  const uint64_t block = row / x->run_rows;
  for (uint32_t d = 0; d < x->dim; d++) {
    if (atomic_load(&x->bad[block * x->words + d / 64]) >> d % 64 & 1)
      return x->offset + block * x->run * x->dim + d * run_of(x, block);
  }
  return x->offset + block * x->run * x->dim;
}

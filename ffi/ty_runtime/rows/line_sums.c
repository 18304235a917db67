#include "rows/line_sums.h"

#include <string.h>

/* Flags. Whether section 19 as a whole matches its checksum is known once one of the last two is set. */
enum { SOME_LOST = 1, AS_SUMMED = 2, NOT_AS_SUMMED = 4 };

ty_status ty_line_sums_open(ty_line_sums *x, ty_error *err) {
  x->words = (x->runs.dim + 63) / 64;
  const uint64_t bits = x->words * x->runs.blocks * sizeof(uint64_t);
  x->good = ty_damage_memory(x->sums.damages, bits);
  x->bad = ty_damage_memory(x->sums.damages, bits);
  x->whole = ty_damage_memory(x->sums.damages, x->runs.dim * sizeof *x->whole);
  x->lost = ty_damage_memory(x->sums.damages, x->runs.blocks);
  x->flags = ty_damage_memory(x->sums.damages, sizeof *x->flags);
  if (x->good != NULL && x->bad != NULL && x->whole != NULL && x->lost != NULL && x->flags != NULL) return TY_OK;
  return ty_fail(err, TY_NO_MEMORY, "out of memory opening %s", x->sums.file);
}

void ty_line_sums_lose(const ty_line_sums *x, uint64_t row) {
  atomic_store(&x->lost[row / x->runs.block_rows], 1);
  atomic_fetch_or(x->flags, SOME_LOST);
}

/* Whether all lines together match the checksum of their section, for where the checksums of runs are damaged. They are
 * compared once. */
static bool is_as_summed(const ty_line_sums *x) {
  uint64_t known = atomic_load(x->flags) & (AS_SUMMED | NOT_AS_SUMMED);
  if (known == 0) {
    known = x->sums.kernel->crc32c(0, x->lines, (size_t)x->runs.bytes) == x->crc ? AS_SUMMED : NOT_AS_SUMMED;
    atomic_fetch_or(x->flags, known);
  }
  return known == AS_SUMMED;
}

static bool is_good(const ty_line_sums *x, uint64_t block, uint32_t d) {
  const uint64_t at = (block * x->runs.dim + d) * sizeof(uint32_t);
  const ty_line_run run = ty_line_run_of(&x->runs, block, d);
  uint32_t crc;
  if (run.bytes == 0) return false; /* its entry in the directory is damaged */
  if (!ty_is_intact(&x->sums, at, sizeof crc)) return is_as_summed(x);
  memcpy(&crc, x->sums.data + at, sizeof crc);
  if (x->sums.kernel->crc32c(0, x->lines + run.at, (size_t)run.bytes) != crc) return false;
  if (x->runs.directory == NULL) return true;
  /* In a forged run, whose checksum fits, a query and the read of a single row could see different codes. */
  const ame_sparse_block b = ty_sparse_block_of(&x->runs, x->lines, block);
  return x->sums.kernel->sparse_check(&b, d, 1) == 0;
}

static void note(const ty_line_sums *x, uint64_t block, uint32_t d) {
  const ty_line_run run = ty_line_run_of(&x->runs, block, d);
  ty_damage n = ty_damage_of(x->sums.file, TY_PART_CODES, 19, x->offset + run.at, run.bytes,
                             "a run of codes does not match its checksum");
  n.first = block * x->runs.block_rows;
  n.rows = ty_line_block_rows(&x->runs, block);
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
  bool whole = (atomic_load_explicit(x->flags, memory_order_relaxed) & SOME_LOST) == 0;
  for (uint64_t i = 0; i < count && whole; i++)
    whole = atomic_load_explicit(&x->whole[dims[i]], memory_order_relaxed) == x->runs.blocks;
  return whole;
}

bool ty_line_sums_good(const ty_line_sums *x, uint64_t row, const uint32_t *dims, uint64_t count) {
  if (x->lines == NULL) return true;
  const uint64_t block = row / x->runs.block_rows;
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
  const uint64_t block = row / x->runs.block_rows;
  bool all = atomic_load_explicit(&x->lost[block], memory_order_relaxed) == 0;
  for (uint64_t w = 0; w < x->words && all; w++) {
    const uint64_t left_dims = x->runs.dim - w * 64, dims = left_dims < 64 ? left_dims : 64;
    const uint64_t every = dims == 64 ? ~0ull : (1ull << dims) - 1;
    uint64_t left = every & ~atomic_load_explicit(&x->good[block * x->words + w], memory_order_relaxed);
    for (; left != 0 && all; left &= left - 1) {
      const uint32_t d = (uint32_t)(w * 64) + (uint32_t)__builtin_ctzll(left);
      all = ty_line_sums_good(x, row, &d, 1);
    }
  }
  return all;
}

bool ty_line_sums_again(const ty_line_sums *x, ty_go_on go_on, void *context) {
  for (uint64_t block = 0; x->lines != NULL && block < x->runs.blocks; block++) {
    uint64_t bytes = 0;
    for (uint32_t d = 0; d < x->runs.dim; d++) {
      compare(x, block, d);
      bytes += ty_line_run_of(&x->runs, block, d).bytes;
    }
    if (!go_on(context, bytes)) return false;
  }
  return true;
}

uint64_t ty_line_sums_where(const ty_line_sums *x, uint64_t row) {
  const uint64_t block = row / x->runs.block_rows;
  for (uint32_t d = 0; d < x->runs.dim; d++) {
    if (atomic_load(&x->bad[block * x->words + d / 64]) >> d % 64 & 1)
      return x->offset + ty_line_run_of(&x->runs, block, d).at;
  }
  return x->offset + ty_line_run_of(&x->runs, block, 0).at;
}

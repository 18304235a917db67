/* The checksums of the runs of a vertical base. A run is compared with its checksum when it is first read.
 *
 * A query reads some dimensions of all blocks. So each block has a bit for each dimension, side by side, and each
 * dimension has the number of its good runs: a query whose dimensions were all read before looks at no run. */
#pragma once

#include "rows/intact.h"
#include "rows/line_runs.h"

typedef struct ty_line_sums {
  const uint8_t *lines; /* section 19; NULL: there is nothing to compare, and all is taken as good */
  uint64_t offset;
  uint32_t crc;            /* of the whole section */
  ty_intact sums;          /* section 21 */
  ty_line_runs runs;       /* of section 19 */
  uint64_t words;          /* words of 64 bits for each block, in `good` and in `bad` */
  _Atomic uint64_t *good;  /* by block, a bit for each dimension whose run is good */
  _Atomic uint64_t *bad;   /* the same of damaged runs */
  _Atomic uint32_t *whole; /* by dimension: its good runs */
  _Atomic uint8_t *lost; /* by block: 1 if its levels or its directory are damaged, so that no row of it can be read */
  _Atomic uint64_t *flags; /* see line_sums.c */
} ty_line_sums;

/* Sets `words` and allocates the states, which follow it; the caller has set what precedes it. TY_NO_MEMORY. */
ty_status ty_line_sums_open(ty_line_sums *x, ty_error *err);
/* Marks the block of a row as lost. */
void ty_line_sums_lose(const ty_line_sums *x, uint64_t row);
static inline bool ty_line_sums_lost(const ty_line_sums *x, uint64_t row) {
  return atomic_load_explicit(&x->lost[row / x->runs.block_rows], memory_order_relaxed) != 0;
}
/* Whether all runs of these dimensions were read before, and are good. */
bool ty_line_sums_whole(const ty_line_sums *x, const uint32_t *dims, uint64_t count);
/* Whether the runs of these dimensions, or of all, in the block of a row are good. Runs that were not read yet are
 * compared, and damage is noted. Several threads may call these at a time. */
bool ty_line_sums_good(const ty_line_sums *x, uint64_t row, const uint32_t *dims, uint64_t count);
bool ty_line_sums_all(const ty_line_sums *x, uint64_t row);
/* Compares all runs again, as ty_intact_again does. */
bool ty_line_sums_again(const ty_line_sums *x, ty_go_on go_on, void *context);
/* The offset in the file of the first damaged run in the block of a row; if none is damaged, of its first run. */
uint64_t ty_line_sums_where(const ty_line_sums *x, uint64_t row);

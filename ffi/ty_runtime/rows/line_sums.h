/* The checksums of the runs of a vertical base, compared when a run is first read. A question reads some dimensions of
 * all blocks: what is remembered of a block lies side by side, a bit for each dimension, and of a dimension there is
 * how many of its runs are good, so that a question whose dimensions were all read before looks at no run. */
#pragma once

#include "rows/intact.h"
#include "rows/line_runs.h"

typedef struct ty_line_sums {
  const uint8_t *lines; /* section 19; NULL: taken as good */
  uint64_t offset;
  uint32_t crc;            /* of all of it */
  ty_intact sums;          /* section 21 */
  ty_line_runs runs;       /* of section 19 */
  uint64_t words;          /* of bits of a block */
  _Atomic uint64_t *good;  /* by block, a bit for each dimension whose run is good */
  _Atomic uint64_t *bad;   /* the same of damaged runs */
  _Atomic uint32_t *whole; /* by dimension: its good runs */
  _Atomic uint8_t *lost;   /* by block: 1 where something else of it is damaged, so that no run helps */
  _Atomic uint64_t *about; /* 1: some block is lost; 2: section 19 is as `crc` says, 4: it is not */
} ty_line_sums;

/* Allocates the states; `x` has what precedes them but words. TY_NO_MEMORY. */
ty_status ty_line_sums_open(ty_line_sums *x, ty_error *err);
/* Takes the block of a row as lost. */
void ty_line_sums_lose(const ty_line_sums *x, uint64_t row);
static inline bool ty_line_sums_lost(const ty_line_sums *x, uint64_t row) {
  return atomic_load_explicit(&x->lost[row / x->runs.block_rows], memory_order_relaxed) != 0;
}
/* Whether all runs of these dimensions were read before, and are good. */
bool ty_line_sums_whole(const ty_line_sums *x, const uint32_t *dims, uint64_t count);
/* Whether the runs of these dimensions in the block of a row are good, and whether all are; compares what was not read
 * yet, and notes damage. For several threads at a time. */
bool ty_line_sums_good(const ty_line_sums *x, uint64_t row, const uint32_t *dims, uint64_t count);
bool ty_line_sums_all(const ty_line_sums *x, uint64_t row);
/* As ty_intact_again. */
bool ty_line_sums_again(const ty_line_sums *x, ty_go_on go_on, void *context);
/* The offset in the file of the first damaged run of a row's block; of its first run where none is. */
uint64_t ty_line_sums_where(const ty_line_sums *x, uint64_t row);

/* Where the runs of a vertical base lie in its lines: by their size where they are dense, else by the directory of
 * their block. */
#pragma once

#include "rows/collection.h"

/* Rows of a block whose runs are dense. A question reads some lines of each run: with runs of 64 rows the same scan
 * takes 1.4 to 3 times as long, and touches every page of the base instead of those with its dimensions. A multiple of
 * both AME_LINE_ROWS. */
#define TY_RUN_ROWS 1024u
/* Rows of a sparse block. 1,000,000 notes take 106 us of a question for each 100,000 rows; with 1,024 rows, whose runs
 * are short and whose directories are four times as many, 165. */
#define TY_SPARSE_ROWS AME_SPARSE_RUN

/* Bytes of a block's directory: u64 where its data begin in the lines, its dim + 1 entries, zeros up to a multiple of
 * 8. */
static inline uint64_t ty_directory_bytes(uint32_t dim) { return 8 + ((uint64_t)dim + 2) / 2 * 8; }

typedef struct ty_line_runs {
  const uint8_t *directory; /* of sparse blocks; NULL: runs are dense */
  uint64_t bytes;           /* of the lines of all blocks */
  uint64_t rows, blocks, block_rows;
  uint64_t run, last_run; /* of dense blocks: bytes of a run, and of one of the last block */
  uint32_t dim;
} ty_line_runs;

/* Bytes of a dense run of so many rows: whole lines. */
uint64_t ty_line_run_bytes(const ty_collection *c, uint64_t rows);
/* Of at least one row, in lines of so many bytes. */
ty_line_runs ty_line_runs_of(const ty_collection *c, const uint8_t *directory, uint64_t rows, uint64_t bytes);
/* Whether lines and, if there is one, a directory of so many bytes can be those of the runs. */
bool ty_line_runs_fit(const ty_line_runs *r, uint64_t directory_bytes);
static inline uint64_t ty_line_block_rows(const ty_line_runs *r, uint64_t block) {
  const uint64_t left = r->rows - block * r->block_rows;
  return left < r->block_rows ? left : r->block_rows;
}

typedef struct ty_line_run {
  uint64_t at, bytes;
} ty_line_run;
/* The run of a dimension: where it begins in the lines, and its bytes. Within the lines, also where a directory is
 * damaged: no bytes then. */
ty_line_run ty_line_run_of(const ty_line_runs *r, uint64_t block, uint32_t d);

/* Sparse block `block`, within the lines as well. */
ame_sparse_block ty_sparse_block_of(const ty_line_runs *r, const uint8_t *lines, uint64_t block);
/* Whether its directory is one that a writer writes. */
bool ty_directory_good(const ty_line_runs *r, uint64_t block);

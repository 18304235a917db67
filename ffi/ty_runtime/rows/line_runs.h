/* Where the runs of a vertical base lie in its lines. Dense runs of a block have all the same size, so their place is
 * computed; sparse runs differ in size, so each block has a directory. FORMAT.md describes the bytes. */
#pragma once

#include "rows/collection.h"

/* Rows of a dense block. A query reads a few runs of each block. With 64 rows in a block the same scan takes 1.4 to 3
 * times as long, and it touches every page of the base instead of those with its dimensions. A multiple of
 * AME_LINE_ROWS(4) and of AME_LINE_ROWS(8). */
#define TY_RUN_ROWS 1024u
/* Rows of a sparse block. Over 1,000,000 notes a query takes 106 us for each 100,000 rows. With 1,024 rows in a block
 * it takes 165: runs are shorter, and there are four times as many directories to read. */
#define TY_SPARSE_ROWS AME_SPARSE_RUN

/* Bytes of the directory of a block: a u64, where the block begins in the lines; dim + 1 entries of u32, as those of an
 * ame_sparse_block; zeros up to a multiple of 8. At most 2^18 + 16. */
static inline uint64_t ty_directory_bytes(uint32_t dim) { return 8 + ((uint64_t)dim + 2) / 2 * 8; }

typedef struct ty_line_runs {
  const uint8_t *directory; /* of all blocks, one after the other; NULL: the runs are dense */
  uint64_t bytes;           /* of the lines of all blocks */
  uint64_t rows, blocks;
  uint64_t block_rows;    /* rows of each block but the last one */
  uint64_t run, last_run; /* dense: bytes of a run, and of a run of the last block */
  uint32_t dim;
} ty_line_runs;

/* Bytes of a dense run of this many rows, in whole lines. */
uint64_t ty_line_run_bytes(const ty_collection *c, uint64_t rows);
/* The runs of 1 to TY_ROWS_MAX rows whose lines have `bytes` bytes; with these limits no size here overflows.
 * `directory` is NULL if the runs are dense. Call ty_line_runs_fit before anything else below. */
ty_line_runs ty_line_runs_of(const ty_collection *c, const uint8_t *directory, uint64_t rows, uint64_t bytes);
/* Whether the sizes are right: of the directory if there is one, else of the lines. */
bool ty_line_runs_fit(const ty_line_runs *r, uint64_t directory_bytes);
static inline uint64_t ty_line_block_rows(const ty_line_runs *r, uint64_t block) {
  const uint64_t left = r->rows - block * r->block_rows;
  return left < r->block_rows ? left : r->block_rows;
}

typedef struct ty_line_run {
  uint64_t at, bytes;
} ty_line_run;
/* Where the run of a dimension begins in the lines, and its bytes. It is always within the lines: if the directory is
 * damaged there, it has 0 bytes at 0. */
ty_line_run ty_line_run_of(const ty_line_runs *r, uint64_t block, uint32_t d);

/* A sparse block as the kernel takes it. Its data are always within `lines`: without bytes if the directory is damaged.
 */
ame_sparse_block ty_sparse_block_of(const ty_line_runs *r, const uint8_t *lines, uint64_t block);
/* Whether a writer may have written the directory of a block: its runs begin at 0, follow each other without a gap,
 * have at least one byte each and end within the lines. */
bool ty_directory_good(const ty_line_runs *r, uint64_t block);

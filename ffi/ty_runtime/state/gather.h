/* The live rows in the order of a base that is to be written. */
#pragma once

#include "os/spill.h"
#include "rows/rewrite.h"

typedef struct ty_gathered {
  ty_place *rank;     /* of a place's row by birth */
  ty_place *by_birth; /* the places */
  ty_spill rank_memory, by_birth_memory, rows_memory;
} ty_gathered;
/* Ranks the rows by birth and sorts them by (partition, birth), with a counting sort over the partitions' codes. Fills
 * rows, count and spans of `r`. Also on failure the caller calls ty_gathered_free, and free() for the spans. */
ty_status ty_gather(ty_collection *c, ty_rebase *r, ty_gathered *g, ty_error *err);
void ty_gathered_free(const ty_collection *c, ty_gathered *g);

/* ---- source.c: the base that the rows are copied from ---- */

/* Compares all that is copied of the base with its checksums, read before or not. TY_CORRUPT where a section is damaged
 * that all rows need; of others see the next. */
ty_status ty_source_check(ty_collection *c, const ty_phases *phases, ty_error *err);
/* TY_CORRUPT naming the first of the rows to be written whose vector, text or metadata is damaged. Rows that are dead
 * stop nothing, nor does what is made of vectors: codes, blocks, sums, rows by value, partitions. */
ty_status ty_source_rows(const ty_rebase *r, ty_error *err);

/* Copies of the delta's rows in the order of the base that is to be written.
 *
 * A base has its rows by partition, and a rewrite reads them in that order, once for each section. In a delta, rows
 * that follow each other in that order are far apart: if the file is larger than what may stay resident, each read is a
 * page fault. Making the copies reads the delta once from front to back, and the rewrite then reads the copies from
 * front to back. They are in files without names (os/spill.h). */
#pragma once

#include "os/spill.h"
#include "rows/rewrite.h"

typedef struct ty_sorted {
  ty_segment segment; /* the copies, as rows of a delta */
  ty_place *places;   /* of the originals */
  ty_spill bytes;     /* the payloads */
  ty_spill columns;   /* all other arrays of the segment, and `places` */
  uint32_t *keys[TY_MAX_COLUMNS];
  ty_resident resident; /* of the copies */
  ty_env *env;
} ty_sorted;

/* Copies the rows of `r` that are in the delta, and makes `r` refer to the copies. `out` must stay at its address until
 * ty_sorted_free. `r` is not changed if memory or room on the disk is missing, a row has no 8-bit codes, or `r` is
 * cancelled: the rewrite then reads the delta itself. */
void ty_sort_rows(ty_rebase *r, ty_sorted *out);
void ty_sorted_free(ty_sorted *s);

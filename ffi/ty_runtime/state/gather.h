/* The live rows in the order of a base that is to be written. */
#ifndef TY_GATHER_H
#define TY_GATHER_H

#include "os/spill.h"
#include "rows/rewrite.h"

typedef struct ty_gathered {
  ty_place *rank;     /* of a place's row by birth */
  ty_place *by_birth; /* the places */
  ty_spill rank_memory, by_birth_memory, rows_memory;
} ty_gathered;
/* Rows by birth, their ranks, and from both the order (partition, birth) by a counting sort over the partitions' codes:
 * fills rows, count and spans of `r`. ty_gathered_free, and free() for the spans, also on failure. */
ty_status ty_gather(ty_collection *c, ty_rebase *r, ty_gathered *g, ty_error *err);
void ty_gathered_free(const ty_collection *c, ty_gathered *g);

#endif

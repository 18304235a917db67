/* The base as a file. */
#pragma once

#include "disk/file.h"
#include "rows/rewrite.h"

/* What a base is made of: the rows in their final order, and each one's rank by birth. A row's new number is first_row
 * + rank. */
typedef struct ty_base_plan {
  const ty_rebase *rebase;
  const ty_collection *into; /* the state that the new base belongs to */
  const ty_place *rank;      /* by old place */
  uint64_t first_row, generation;
} ty_base_plan;
ty_status ty_base_write(const ty_base_plan *plan, ty_file *out, ty_error *err);
/* Fills base, spans, dictionaries, first and next row of `c` from its mapped store->base. */
ty_status ty_base_open(ty_collection *c, ty_error *err);

/* Rows of the delta, copied in the order of the base that is to be written.
 *
 * A base has its rows by partition. Rows of a delta that are read in that order come from everywhere in its file, once
 * for each section: beyond what may stay resident, each of these reads is a page fault. The copies are made with one
 * read from front to back and then read from front to back too. They are in files without names (os/spill.h). */
#pragma once

#include "os/spill.h"
#include "rows/rewrite.h"

typedef struct ty_sorted {
  ty_segment segment; /* the copies, as rows of a delta */
  ty_place *places;   /* of the rows that they are copies of */
  ty_spill bytes;     /* of the payloads */
  ty_spill columns;
  uint32_t *keys[TY_MAX_COLUMNS];
  ty_resident resident; /* of the copies */
  ty_env *env;
} ty_sorted;

/* Copies the delta's rows among those of `r`, which then names the copies; `out` must not move until ty_sorted_free.
 * Without memory or room on the disk, for rows without codes of eight bits, and where `r` is cancelled, `r` stays as it
 * is. */
void ty_sort_rows(ty_rebase *r, ty_sorted *out);
void ty_sorted_free(ty_sorted *s);

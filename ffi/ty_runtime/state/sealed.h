/* Rows of a delta whose vertical codes are sparse: the first ones, TY_SPARSE_ROWS at a time. An import of notes would
 * hold four times their memory in dense lines, and copy them whenever these grow. */
#pragma once

#include "os/spill.h"
#include "rows/collection.h"

typedef struct ty_sealed {
  ty_growing bytes;         /* of the blocks: their directories and data */
  ame_sparse_block *blocks; /* in these bytes */
  uint64_t count;
  bool counts;   /* whether: */
  uint64_t from; /* rows that were there when this process began to put some */
} ty_sealed;

/* Makes the next rows of the delta sparse where enough of them were saved, and this process has put as many since the
 * last time: one that puts a few rows into a long delta does not pay for it. Takes the lock exclusively for the
 * exchange. For the change's own thread. Without memory the rows stay as they are. */
void ty_delta_seal(ty_collection *c);
void ty_sealed_free(ty_env *env, ty_sealed *s);

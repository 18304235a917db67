/* The sparse blocks of a delta: the vertical codes of its first rows, TY_SPARSE_ROWS rows in each block. Without them
 * an import of notes would hold four times as much memory, in dense lines, and copy these whenever they grow. */
#pragma once

#include "os/spill.h"
#include "rows/collection.h"

typedef struct ty_delta_sparse {
  ty_growing bytes;         /* the directory and the data of each block in turn */
  ame_sparse_block *blocks; /* they point into `bytes` */
  uint64_t count;
  bool started;       /* this process has put rows into this delta */
  uint64_t first_put; /* then: the rows that the delta had before the first of them */
} ty_delta_sparse;

/* Moves the next TY_SPARSE_ROWS rows of the delta into a sparse block, if that many are saved and this process has put
 * as many rows as would then be sparse: a process that puts a few rows into a long delta does not pay for it. Call it
 * before the process's next rows are put, on the change's own thread. It takes the lock exclusively for the exchange.
 * Without memory the rows stay in dense lines. */
void ty_delta_make_sparse(ty_collection *c);
void ty_delta_sparse_free(ty_env *env, ty_delta_sparse *s);

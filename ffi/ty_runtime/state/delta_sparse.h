/* The sparse blocks of a delta: the vertical codes of its first rows, TY_SPARSE_ROWS rows in each block. Without them
 * an import of notes would hold four times as much memory, in dense lines, and copy these whenever they grow. */
#pragma once

#include "os/spill.h"
#include "rows/collection.h"

typedef struct ty_delta_sparse {
  ty_spill *parts;           /* the directory and the data of each block in turn; a block lies in one of them */
  uint64_t part_count, used; /* bytes of the last part */
  ame_sparse_block *blocks;  /* they point into the parts */
  uint64_t count;
  bool started;       /* this process has put rows into this delta */
  uint64_t put_after; /* then: the delta's rows before the first of them, or before those that blocks lack */
} ty_delta_sparse;

/* Moves saved rows of the delta from dense lines into sparse blocks of TY_SPARSE_ROWS rows, if that many were added
 * since the last time, and a quarter of the rows that are dense: a process that puts a few rows into a long delta does
 * not pay for it, and the dense rows that are left are moved once for all blocks. Call it before the process's next
 * rows are put, on the change's own thread. It takes the lock exclusively for the exchange. Without memory the rows
 * stay in dense lines. */
void ty_delta_make_sparse(ty_collection *c);
/* The same while rows are loaded or followed, under the exclusive lock or in a state that no other thread has: whenever
 * it has TY_DENSE_LOADED dense rows. */
#define TY_DENSE_LOADED (2 * TY_SPARSE_ROWS)
void ty_delta_sparse_loaded(ty_collection *c);
/* The lines and blocks of a state before rows were added to it. */
typedef struct ty_delta_before {
  ty_spill lines; /* the dense lines; `data` NULL: they had no rows */
  uint64_t lines_capacity, sparse_rows, block_count, part_count, used;
} ty_delta_before;
/* Copies the dense lines before `more` rows of another process are added. Adding may turn rows into blocks; if the save
 * then fails, ty_delta_sparse_restore goes back to the copy. False, without a copy, if the rows are too few for blocks,
 * or without memory: they then have to stay dense. This function, ty_delta_sparse_restore and ty_delta_before_free are
 * called under the exclusive lock. */
bool ty_delta_sparse_prepare(ty_collection *c, uint64_t more, ty_delta_before *out);
/* Goes back to `before`, which was prepared, after the rows were undone. */
void ty_delta_sparse_restore(ty_collection *c, ty_delta_before *before);
void ty_delta_before_free(const ty_collection *c, ty_delta_before *before);
/* Evicts the pages of parts in files. */
void ty_delta_sparse_evict(ty_env *env, const ty_delta_sparse *s);
void ty_delta_sparse_free(ty_env *env, ty_delta_sparse *s);

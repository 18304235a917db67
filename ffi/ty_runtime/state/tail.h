/* The saves that follow the state which a rewrite beside writers has read (beside.h). They are copied to the files of
 * the new state: operations to a fresh delta, with the row numbers of the new base; vectors of meaning; and ids. */
#pragma once

#include "disk/blocks.h"
#include "state/rewriting.h"

typedef struct ty_tail {
  ty_rewriting *w;
  /* The state that was read. */
  uint64_t next_row;   /* the rows from this number on were put later */
  uint64_t places;     /* how many rows it has */
  uint64_t delta_rows; /* how many of these are in the delta */
  ty_buffer origin;    /* of its last block; empty if there is no block */
  /* How far later saves were copied. */
  uint32_t delta;    /* the delta in which the next block begins, */
  uint64_t at;       /* and its offset there */
  ty_file meaning;   /* the file of meaning: its name, and how many of its bytes */
  uint64_t rows;     /* how many of the rows have their ids in the new id map */
  bool ids_outgrown; /* the new id map has no room for their ids, and is written again at the end */
  /* The fresh delta, which is created for the first block. */
  ty_append append;
  ty_file file;
  bool open;
  uint64_t bytes;  /* of operations that were copied to it */
  ty_buffer piece; /* bytes that are collected for one write */
} ty_tail;

/* Call it after ty_rewriting_write, before the collection follows saves of others. ty_tail_close has to follow, also
 * after a failure. */
ty_status ty_tail_open(ty_tail *x, ty_rewriting *w, ty_error *err);
/* Copies the saves that the collection has followed since the last call. */
ty_status ty_tail_copy(ty_tail *x, ty_error *err);
/* Syncs what is written so far, so that ty_tail_end, which holds the lock, takes less time. */
ty_status ty_tail_sync(const ty_tail *x, ty_error *err);
/* Syncs and closes all files, and adds them to the files of the new state. */
ty_status ty_tail_end(ty_tail *x, ty_error *err);
/* Frees the memory. If ty_tail_end did not run, it also removes the fresh delta. */
void ty_tail_close(ty_tail *x);

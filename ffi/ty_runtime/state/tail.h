/* The saves since the state that a rewrite beside writers has read, for the files that it writes: operations with the
 * row numbers of the new base in a fresh delta, records of meaning, and ids. */
#pragma once

#include "disk/blocks.h"
#include "state/rewriting.h"

typedef struct ty_tail {
  ty_rewriting *w;
  /* That state. */
  uint64_t next_row;   /* rows from here on were put since */
  uint64_t places;     /* all rows */
  uint64_t delta_rows; /* of these in the delta */
  ty_buffer origin;    /* of its last block; empty: there is none */
  /* How far the saves since were copied. */
  uint32_t delta; /* where the next block begins: in which delta, and at which offset */
  uint64_t at;
  ty_file meaning; /* its name and how many of its bytes */
  uint64_t rows;   /* in the id map */
  bool ids_anew;   /* it has to be written again */
  /* The fresh delta, once there is a block. */
  ty_append append;
  ty_file file;
  bool open;
  uint64_t bytes;  /* that were copied to it */
  ty_buffer piece; /* that is written next */
} ty_tail;

/* Begins, when all of ty_rewriting_write is written and the collection has not followed others' saves yet.
 * ty_tail_close comes after it in any case. */
ty_status ty_tail_open(ty_tail *x, ty_rewriting *w, ty_error *err);
/* Copies what the collection has followed since the last call. */
ty_status ty_tail_copy(ty_tail *x, ty_error *err);
/* Syncs what was written so far, so that the end has less to wait for. */
ty_status ty_tail_sync(const ty_tail *x, ty_error *err);
/* Syncs and closes all files, and names them in the new state. */
ty_status ty_tail_end(ty_tail *x, ty_error *err);
void ty_tail_close(ty_tail *x);

/* state: an open collection from one state to the next. Uses all of os, work, rows, scan, ivf, lexical, meaning and
 * disk.
 *
 *   state.h       a handle's changes and tables; entering, leaving and undoing
 *   load.h        loading what a manifest names, and following other processes' saves
 *   delta_rows.h  the delta's columns; delta_sparse.h: its sparse blocks; replay.h: filling them from a file
 *   ids.h         tables over the live rows; text_sums.h: over the texts of the delta
 *   history.h     what the saves that are remembered have changed
 *   meanings.h    the vectors of meaning
 *   commit.h      saving; decision.h: saves that another program decides; rebase.h: rewriting the base, and how much
 * room that needs; gather.h: the rows of a new base; sorted.h: copies of the delta's rows in the order of that base
 *   beside.h      rewriting the base while others save; tail.h: copying these saves; rewriting.h: the steps of both
 * kinds of rewrites
 */
#pragma once

#include "disk/disk.h"
#include "state/delta_rows.h"

typedef struct ty_id_slot {
  uint32_t tag;   /* upper half of the id's hash: it gives the slot's place, and excludes most other ids without reading
                     them */
  uint32_t place; /* + 1; 0: free; TY_SLOT_GONE: was in use */
} ty_id_slot;
#define TY_SLOT_GONE 0xffffffffu

/* The saves and changes of the deltas as far as they were read: history.h. */
typedef struct ty_past_memory {
  ty_buffer saves, changes;
  uint32_t delta; /* where the next block begins: in which delta, and at which offset */
  uint64_t at;
  uint32_t origin_delta; /* where the origin of the last block lies */
  uint64_t origin_at;
  uint32_t origin_bytes;
} ty_past_memory;

struct ty_state {
  _Atomic bool writing;   /* from ty_begin to the end of that change */
  pthread_mutex_t change; /* one changing call at a time */
  bool changed;           /* anything since ty_begin */
  uint64_t put_time;      /* when the rows of the last put since ty_begin were put; 0: none were */

  /* Since ty_begin. */
  uint64_t kept_rows, kept_next_row; /* delta.count and next_row as they were */
  ty_buffer kept_schema;             /* empty: not changed */
  ty_place *killed;                  /* rows that died, so that they can be revived */
  uint64_t killed_count, killed_capacity;

  pthread_mutex_t past_lock; /* of: */
  ty_past_memory past;
  ty_delta_memory delta;
  ty_resident resident;

  /* Derived tables, built at the first use under `derive`, updated under the exclusive lock. */
  pthread_mutex_t derive;
  _Atomic bool ids_ready, order_ready, base_at_ready, texts_ready;
  _Atomic bool looked_through;           /* by ty_find_few */
  uint64_t texts;                        /* live rows with a text */
  ty_spill id_table;                     /* of ty_id_slot */
  uint64_t id_table_size, id_table_used; /* used: live and gone */
  ty_spill order;                        /* of ty_place, by birth - first_row: place + 1; 0: no live row */
  uint64_t order_size;
  ty_spill base_at;     /* of ty_place, by row - first_row: position in the base */
  ty_growing text_sums; /* of u32, by position in the delta: text_sums.h */
};

/* Enters a reading call: follows other processes' saves where no change is under way, then takes the lock shared. */
ty_status ty_enter(ty_collection *c, ty_error *err);
/* Releases the lock and returns the call's status; TY_CORRUPT where a file was truncated, as the call may have read
 * zeros. The next call opens the files again. */
ty_status ty_leave(ty_collection *c, ty_status status, ty_error *err);

/* Enters a changing call: takes `change`. TY_STATE, with nothing held, where no change is under way. */
ty_status ty_change_enter(ty_collection *c, ty_error *err);
/* As ty_leave. Where a file was truncated, the change cannot be saved any more. */
ty_status ty_change_leave(ty_collection *c, ty_status status, ty_error *err);
/* Ends the change with its status, which is returned: undoes on failure, releases the writer's lock and `change`.
 * `unknown` as in ty_next. */
ty_status ty_change_end(ty_collection *c, ty_status status, bool unknown);

/* ---- undo.c: marking rows dead, and undoing what happened since a mark ---- */

void ty_mark(ty_collection *c); /* ty_undo_locked goes back to here */
ty_status ty_kill_reserve(ty_collection *c, uint64_t more, ty_error *err);
void ty_kill(ty_collection *c, ty_place place); /* a live row; room was reserved */
void ty_undo_locked(ty_collection *c);          /* under the exclusive lock */
void ty_note_lexical(ty_collection *c);         /* the lexical index counts the delta again */

/* tree: a folder tree outside of the store, walked and read without following a link. Uses os and work.
 *
 *   tree.h     the tree, and what is done with it: tell.c, walk.c, visit.c and gone.c (one folder of a walk), file.c
 *   nodes.h    the entries that are known
 *   paths.h    paths: which are any, their order, the names that are UTF-8
 *   folders.h  open folders, from the root down to one
 *   pending.h  the folders that a walk has yet to visit
 *   events.h   what a walk reports
 *
 * Nothing here reads a path twice: a folder is opened by its name in the one above, so that a folder that is replaced
 * by a link meanwhile is found and not followed. A folder that is known costs an openat, an fstat, the reading of its
 * entries and a close; a file an fstatat and a look into the table of names. */
#pragma once

#include "tree/events.h"
#include "tree/folders.h"
#include "tree/paths.h"
#include "tree/pending.h"

#define TY_TREE_ENTRIES_BYTES 32768u

struct ty_tree {
  ty_env *env;
  char root[TY_PATH_MAX];
  ty_nodes nodes;
  ty_folders walked, read; /* apart: files are read while a walk is under way */

  /* The walk under way. */
  ty_pending pending;
  char after[TY_TREE_PATH_MAX + 1];
  uint32_t after_bytes;
  uint32_t walk; /* its number; 0: none has begun */
  bool is_walking;
  ty_node *start;      /* visited whatever its verdict; NULL once it was dropped */
  ty_node *current;    /* the folder that is being visited, or NULL */
  ty_node *last;       /* its entry that was compared last, or NULL */
  bool is_open;        /* current is, and its entries are being read or were */
  bool is_read;        /* they were read to the end */
  void *reading;       /* for the table's entries_end */
  uint32_t at, filled; /* the next entry in `entries`, and where they end */
  uint64_t visited, undecodable;
  char reached[TY_TREE_PATH_MAX + 1];
  uint32_t reached_bytes;
  _Alignas(8) uint8_t entries[TY_TREE_ENTRIES_BYTES];
};

/* How the visit of a folder ended. */
typedef enum ty_visit { TY_VISIT_DONE, TY_VISIT_FULL, TY_VISIT_LATE, TY_VISIT_CANCELLED, TY_VISIT_FAILED } ty_visit;

/* What one call of a walk may do. */
typedef struct ty_walk_call {
  ty_events events;
  const ty_progress *progress;
  uint64_t deadline_ns; /* of CLOCK_MONOTONIC; 0: none */
  bool may_be_late;     /* a folder that is none of those above `after` was read */
  ty_error *err;
} ty_walk_call;
/* For long loops, every 64 steps. */
bool ty_walk_is_late(const ty_walk_call *call);

/* tell.c. */
ty_status ty_tell(ty_tree *tree, const ty_tree_tell_args *args, ty_error *err);
/* walk.c. */
ty_status ty_walk(ty_tree *tree, ty_tree_walk_args *args, const ty_progress *progress, ty_error *err);
void ty_walk_end(ty_tree *tree); /* ends the walk under way, if one is */
/* visit.c: visits the current folder, or goes on with it. */
ty_visit ty_visit_current(ty_tree *tree, ty_walk_call *call);
void ty_visit_end(ty_tree *tree); /* gives the visit up */
/* gone.c: reports and drops what is gone; false where the buffer is full: to be called again. */
bool ty_gone_below(ty_tree *tree, ty_walk_call *call, ty_node *folder);  /* all below a folder */
bool ty_gone_entry(ty_tree *tree, ty_walk_call *call, ty_node *node);    /* an entry and all below it */
bool ty_gone_unseen(ty_tree *tree, ty_walk_call *call, ty_node *folder); /* entries that this walk has not seen */
/* file.c. */
ty_status ty_read_below(ty_tree *tree, ty_tree_read_args *args, ty_error *err);

/* ---- mark.c: the mark of an entry, and the hash of a file's content. Callers store both, so both are defined for
 * good: XXH64 ---- */

/* XXH64 (Collet, 2014) with seed 0. */
uint64_t ty_content_hash(const void *data, size_t bytes);
/* 53 bits of the hash of what changes with any edit, as an integer; never 0. */
double ty_mark_of(const ty_lstat *seen);
/* The later of both times, in ms since 1970, rounded down. */
double ty_changed_ms(const ty_lstat *seen);

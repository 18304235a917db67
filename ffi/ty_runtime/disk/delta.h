/* A delta as a file. */
#pragma once

#include "disk/blocks.h"

/* Maps a delta and checks its header and the checksum of its committed bytes. */
ty_status ty_delta_open(const ty_collection *c, ty_file *file, ty_error *err);
/* ty_delta_append writes the unsaved operations as one block to the last delta of `files`, or to a fresh one that it
 * adds (not mapped), sets its size and checksum there, and begins its sync. ty_delta_finish waits for the sync and
 * closes the file: exactly one call after each successful ty_delta_append, also where the save fails. */
/* Whether the next save begins a fresh one: there is none, the sync of the last one failed, or it is of an earlier
 * version. */
bool ty_delta_begins(const ty_collection *c);
typedef struct ty_delta_write {
  ty_append append;   /* its collection and generation are set by the caller */
  uint64_t first_row; /* number of the first row put since the save before */
  uint64_t time;      /* of the save, milliseconds since 1970 */
  ty_files *files;    /* with room for one more delta */
} ty_delta_write;
ty_status ty_delta_append(ty_delta_write *w, ty_error *err);
ty_status ty_delta_finish(ty_delta_write *w, ty_error *err);

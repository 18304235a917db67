/* A delta as a file. */
#pragma once

#include "disk/blocks.h"

/* Maps a delta and checks its header and the checksum of its committed bytes. */
ty_status ty_delta_open(const ty_collection *c, ty_file *file, ty_error *err);
/* ty_delta_append writes the unsaved operations as one block to the last delta of `files`, or to a fresh one that it
 * adds (not mapped), sets its size and checksum there, and begins its sync. ty_delta_finish waits for the sync and
 * closes the file: exactly one call after each successful ty_delta_append, also where the save fails. */
typedef struct ty_delta_write {
  ty_append append;   /* its collection and generation are set by the caller */
  uint64_t first_row; /* number of the first row put since the save before */
  ty_files *files;    /* with room for one more delta */
} ty_delta_write;
ty_status ty_delta_append(ty_delta_write *w, ty_error *err);
ty_status ty_delta_finish(ty_delta_write *w, ty_error *err);

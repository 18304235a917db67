/* A delta as a file. */
#pragma once

#include "disk/disk.h"

/* Maps a delta and checks its header and the checksum of its committed bytes. */
ty_status ty_delta_open(const ty_collection *c, ty_file *file, ty_error *err);
/* The offset of the first header of a block, from `at` on, that is as it was written, with room for its payload up to
 * `end`, and that header; `end` where there is none. The payload is not compared. */
uint64_t ty_block_find(const ame_kernel *k, const ty_file *file, uint64_t at, uint64_t end, ty_block_header *out);
/* ty_delta_append writes the unsaved operations as one block to the last delta of `files`, or to a fresh one that it
 * adds (not mapped), sets its size and checksum there, and begins its sync. ty_delta_finish waits for the sync and
 * closes the file: exactly one call after each successful ty_delta_append, also where the save fails. */
typedef struct ty_delta_write {
  ty_collection *c;
  uint64_t generation; /* of the save */
  uint64_t first_row;  /* number of the first row put since the save before */
  ty_files *files;     /* with room for one more delta */
  /* What ty_delta_append fills. */
  int fd;
  char name[64];
  uint64_t from; /* where the block starts */
  bool fresh, beside;
} ty_delta_write;
ty_status ty_delta_append(ty_delta_write *w, ty_error *err);
ty_status ty_delta_finish(ty_delta_write *w, ty_error *err);

/* A delta as a file. */
#ifndef TY_DELTA_H
#define TY_DELTA_H

#include "disk/disk.h"

/* Maps a delta and checks its header and the checksum of its committed bytes. */
ty_status ty_delta_open(const ty_collection *c, ty_file *file, ty_error *err);
/* Writes the unsaved operations as one block, to the last of `files` or as a fresh one at its end. The file's record
 * there gets its new size and checksum; a fresh one's is not mapped. Its sync is begun and may go on beside;
 * ty_delta_finish waits for it and closes. After a successful ty_delta_append it is called exactly once, also where the
 * save fails for another reason. */
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

#endif

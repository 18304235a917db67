/* disk: the files of a collection, as bytes. Uses os, work and rows; FORMAT.md has the tables.
 *
 *   disk.h        what a handle knows of its directory; a directory without a manifest, and what is left over in one
 *   format.h      every magic number and offset
 *   file.h        mapping, creating, replacing; lock.h: the writer's lock
 *   manifest.h    collection.json; json.h: its reader
 *   slab.h        sealed files of sections; base.h: that of the rows
 *   delta.h       the file that saves are appended to; operations.h: its records, saved or not yet
 *   idmap.h       id_map.npy
 */
#ifndef TY_DISK_H
#define TY_DISK_H

#include "disk/file.h"
#include "os/spill.h"

/* Memory for unsaved operations, in the very form they take on disk. Chunks never move: rows point into them. */
typedef struct ty_chunk {
  ty_spill memory;
  uint64_t used;
} ty_chunk;

struct ty_store {
  char *manifest_path;
  int lock_fd;        /* -1: not held */
  bool marker_gone;   /* that of a first save was removed by this handle, if it was there */
  bool abandon_delta; /* a sync of the last delta failed: what follows goes to a fresh file */

  /* The saved state. */
  ty_stamp stamp; /* of the manifest last read or written; all zero: look again */
  uint64_t manifest_bytes;
  uint64_t first_row; /* of the base */
  ty_files files;
  bool id_map_checked; /* its bytes were compared once by this handle */

  /* Unsaved operations. */
  ty_chunk *chunks;
  uint32_t chunk_count, chunk_capacity;
  uint64_t ops;
};

/* Whether a name is that of a base, a delta, or an index. */
bool ty_is_slab(const char *name);
/* TY_CORRUPT where rows would be lost by taking the directory for a new collection's. Without the writer's lock another
 * process's first save may be ending: then there is a manifest now. */
ty_status ty_first_check(const ty_collection *c, ty_error *err);
/* What a first save begins and ends with, under the writer's lock. */
ty_status ty_first_begin(const ty_collection *c, ty_error *err);
void ty_first_end(ty_collection *c);

/* Removes files of ours that the manifest does not name: what the last state used, and what a writer that was killed
 * left behind. Failures are passed over: the next rewrite tries again. */
void ty_clear_away(const ty_collection *c);

#endif

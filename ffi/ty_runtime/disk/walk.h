/* Reading every byte of a collection's files: all that is damaged is noted, and where. Nothing of them has to open. */
#pragma once

#include "disk/disk.h"
#include "work/work.h"

typedef struct ty_walk {
  ty_collection
      *c;       /* an object of the directory with the schema and the names of its files; its damages are the list */
  bool unnamed; /* no manifest names the files: of what it would say of them nothing is compared */
  bool stops;   /* the first damage ends the walk: TY_CORRUPT */
  uint64_t done, total; /* bytes, of all files */
  ty_progress *progress;
} ty_walk;

/* Reads the slab `file`, of any kind, which it maps where it is not. TY_CANCELLED, TY_VERSION for another version of
 * the format, TY_IO where it cannot be read; damage is TY_OK and noted. */
ty_status ty_walk_file(ty_walk *w, ty_file *file, uint32_t kind, ty_error *err);
/* All that the object names but the id map, which is counted in the total. */
ty_status ty_walk_files(ty_walk *w, ty_error *err);
/* Compares the id map. A running save writes it just before its manifest: a mismatch may end with the manifest, so it
 * is compared again for a while. The status is that of ty_id_map_check. */
ty_status ty_walk_id_map(const ty_walk *w, ty_error *err);
/* What a section of a slab is a part of. */
ty_part ty_part_of(uint32_t kind, uint32_t section);

/* id_map.npy, the external ids by row number: a copy for numpy. */
#ifndef TY_IDMAP_H
#define TY_IDMAP_H

#include "disk/file.h"

/* The ids of `rows` row numbers, of which `id` yields the i-th: empty where there is no such row. */
typedef struct ty_id_list {
  uint64_t rows;
  ty_slice (*id)(const void *ctx, uint64_t i);
  const void *ctx;
} ty_id_list;
/* Writes the whole map anew. */
ty_status ty_id_map_write(const ty_collection *c, const ty_id_list *ids, ty_file *out, ty_error *err);
/* Appends the ids from `from` on to the map that `file` says, which has as many. False where the map is not fit for
 * that or the attempt failed: it is to be written anew. */
bool ty_id_map_append(const ty_collection *c, const ty_id_list *ids, uint64_t from, ty_file *file);
/* Writes the header of the map that the saved state names over the one in `head`, TY_NPY_HEADER bytes. */
void ty_id_map_head(const ty_collection *c, uint8_t *head);
/* TY_CORRUPT where the map is not the one that the manifest names. */
ty_status ty_id_map_check(const ty_collection *c, ty_error *err);

#endif

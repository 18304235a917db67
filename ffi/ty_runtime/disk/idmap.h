/* id_map.npy, the external ids by row number: a copy for numpy. */
#pragma once

#include "disk/file.h"

/* The ids of `rows` row numbers; `id` returns the i-th, empty where there is no such row. */
typedef struct ty_id_list {
  const ty_collection *from; /* the collection that the ids are read from */
  uint64_t rows;
  ty_slice (*id)(void *ctx, uint64_t i); /* valid until the next call */
  void *ctx;
} ty_id_list;
/* Writes a new map of all rows. */
ty_status ty_id_map_write(const ty_collection *c, const ty_id_list *ids, ty_file *out, ty_error *err);
/* Appends the ids from number `from` on to the map described by `file`, which has `from` entries, and updates `file`.
 * False: it does not match or an append failed; write it again. */
bool ty_id_map_append(const ty_collection *c, const ty_id_list *ids, uint64_t from, ty_file *file);
/* Puts the header of a map of so many bytes and rows into `head`, TY_NPY_HEADER bytes; nothing where there is none. */
void ty_id_map_head(uint64_t bytes, uint64_t rows, uint8_t *head);
/* TY_CORRUPT where the map is not the manifest's. */
ty_status ty_id_map_check(const ty_collection *c, ty_error *err);

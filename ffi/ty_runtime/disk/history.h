/* The history as bytes: a sealed slab that is written with a base. It has what the saves before that base have changed,
 * and the rows that they replaced or deleted. */
#pragma once

#include "disk/slab.h"

/* What every reader compares before it uses any of it: all sections but that of the rows. Bounds are kept to at every
 * look all the same: what is read of a file that was truncated since are zeros. */
typedef struct ty_history_view {
  const ty_file *file; /* NULL: there is no history */
  const ty_history_save *saves;
  const ty_history_change *changes;
  const uint8_t *ids, *rows, *origins;
  uint64_t save_count, change_count;
  uint64_t id_bytes, row_bytes, origin_bytes; /* of these sections */
} ty_history_view;
/* Gets the sections of a mapped history. `compare`: with their checksums and bounds; once for each mapping. TY_CORRUPT
 * where they are damaged. */
ty_status ty_history_view_open(const ty_collection *c, const ty_file *file, bool compare, ty_history_view *out,
                               ty_error *err);
/* Whether the row before a change, if there is one, is one that a writer writes. `scratch` has TY_HISTORY_SCRATCH. */
#define TY_HISTORY_SCRATCH(dim) (2 * ty_align_up((uint64_t)(dim) * sizeof(float) + TY_ALIGN))
bool ty_history_row_good(const ty_collection *c, const ty_history_view *v, uint64_t change, uint8_t *scratch);
/* Compares what it has and every row, and notes what is damaged. Not TY_OK where there is no memory for it. */
ty_status ty_history_check(const ty_collection *c, const ty_file *file, ty_error *err);
ty_slice ty_history_id(const ty_history_view *v, uint64_t change);
ty_slice ty_history_origin(const ty_history_view *v, const ty_history_save *save);
/* The bytes of the row before a change, none of an added one. */
ty_slice ty_history_bytes(const ty_history_view *v, uint64_t change);

/* The parts of a row of the history. */
typedef struct ty_history_parts {
  ty_times times;
  ty_slice vector, meta, text;
  uint32_t flags;
} ty_history_parts;
/* Takes a row apart, compared with its checksum. False where it is damaged, or no bytes are there. */
bool ty_history_row_read(const ty_collection *c, ty_slice bytes, uint32_t crc, ty_history_parts *out);
/* Appends a row and its padding. `vector` is in the collection's stored form, or in that of TY_INT8 where `flags` has
 * TY_AS_CODES; it is written sparse where that is shorter. */
void ty_history_row_put(const ty_collection *c, const ty_history_parts *row, ty_buffer *out);
/* The row's vector in the collection's stored form: ty_vector_bytes at `out`, 4-byte aligned. False where it has not
 * the bytes of one; whether it is one that a writer writes, ty_vector_good says. `scratch` has room for the form of
 * TY_INT8.
 */
bool ty_history_vector(const ty_collection *c, const ty_history_parts *row, uint8_t *scratch, uint8_t *out);

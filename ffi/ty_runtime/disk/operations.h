/* Operations, the records of a delta: where their parts lie, and the memory of unsaved ones, in their form on disk. */
#pragma once

#include "disk/disk.h"

/* Fills op->bytes from the other lengths; false where they are out of bounds. */
bool ty_operation_size(const ty_collection *c, ty_operation *op);
/* A copy of the operation that begins at `at` and has at most `room` bytes; false where there is none. */
bool ty_operation_get(const ty_collection *c, const uint8_t *at, uint64_t room, ty_operation *out);
/* Offsets of the parts of a put, from its header on. */
typedef struct ty_put_layout {
  uint64_t vector, id, meta, text, terms, key_lengths, keys, created;
} ty_put_layout;
ty_put_layout ty_put_place(const ty_collection *c, const ty_operation *op);

/* The filter values of a put that lies at `at`, by column; false where they have not op->keys_bytes together. */
bool ty_put_keys(const ty_collection *c, const ty_operation *op, const uint8_t *at, ty_slice out[TY_MAX_COLUMNS]);
/* When the id became live, of a put at `at` that replaces no row. */
uint64_t ty_put_created(const ty_collection *c, const ty_operation *op, const uint8_t *at);
/* The payload of a put that lies, or will lie, at `at`. */
ty_payload ty_put_payload(const ty_collection *c, const ty_operation *op, const uint8_t *at);

/* Allocates `bytes` for an operation, after the unsaved ones. */
ty_status ty_chunk_take(ty_collection *c, uint64_t bytes, uint8_t **out, ty_error *err);
void ty_chunks_free(ty_collection *c);
/* Where the unsaved operations end, so that a failed call can free what it took. */
typedef struct ty_chunk_mark {
  uint32_t count;
  uint64_t used, ops;
} ty_chunk_mark;
ty_chunk_mark ty_chunk_mark_take(const ty_collection *c);
void ty_chunk_mark_restore(ty_collection *c, ty_chunk_mark mark);

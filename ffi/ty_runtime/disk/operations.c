#include "disk/operations.h"

#include <stdlib.h>
#include <string.h>

#include "rows/sparse.h"
#include "rows/vector.h"

#define CHUNK_MIN       ((uint64_t)256 << 10)
#define CHUNK_DOUBLINGS 7u /* to 32 MiB, in files; the smaller ones, 32 MB together, are in memory */

static uint64_t vector_bytes(const ty_collection *c, const ty_operation *op) {
  if ((op->flags & TY_PUT_SPARSE) != 0) return op->sparse_bytes;
  return ty_form_bytes(ty_form_of(c, (op->flags & TY_AS_CODES) != 0), c->dim);
}

/* Whether a sparse vector may have this size: it is only used where it is shorter than the form of TY_INT8. An
 * operation without one has 0 there. */
static bool is_sparse_size(const ty_collection *c, const ty_operation *op) {
  if (op->kind != TY_OPERATION_PUT || (op->flags & TY_PUT_SPARSE) == 0) return op->sparse_bytes == 0;
  return ty_form_of(c, (op->flags & TY_AS_CODES) != 0) == TY_INT8 && op->sparse_bytes >= ty_sparse_least(c->dim) &&
         op->sparse_bytes < ty_form_bytes(TY_INT8, c->dim);
}

bool ty_operation_size(const ty_collection *c, ty_operation *op) {
  op->bytes = sizeof *op;
  if (!is_sparse_size(c, op)) return false;
  if (op->kind == TY_OPERATION_DELETE) return true;
  if (op->kind == TY_OPERATION_ORIGIN) {
    op->bytes = ty_align_up(op->bytes + op->text_bytes);
    return op->text_bytes >= 1 && op->text_bytes <= TY_ORIGIN_MAX;
  }
  if (op->id_bytes < 1 || op->id_bytes > TY_ID_MAX || op->meta_bytes > TY_META_MAX || op->text_bytes > TY_TEXT_MAX ||
      op->keys_bytes > TY_KEY_MAX * TY_MAX_COLUMNS)
    return false;
  uint64_t bytes = op->bytes + vector_bytes(c, op) + op->id_bytes + op->meta_bytes + op->text_bytes + op->terms_bytes +
                   (uint64_t)c->columns * sizeof(uint32_t) + op->keys_bytes +
                   ((op->flags & TY_HAS_CREATED) != 0 ? sizeof(uint64_t) : 0);
  op->bytes = ty_align_up(bytes);
  return true;
}

bool ty_operation_get(const ty_collection *c, const uint8_t *at, uint64_t room, ty_operation *out) {
  if (room < sizeof *out) return false;
  memcpy(out, at, sizeof *out);
  const uint64_t bytes = out->bytes;
  return out->kind >= TY_OPERATION_PUT && out->kind <= TY_OPERATION_ORIGIN && ty_operation_size(c, out) &&
         out->bytes == bytes && bytes <= room;
}

ty_put_layout ty_put_place(const ty_collection *c, const ty_operation *op) {
  ty_put_layout p = {.vector = sizeof *op};
  p.id = p.vector + vector_bytes(c, op);
  p.meta = p.id + op->id_bytes;
  p.text = p.meta + op->meta_bytes;
  p.terms = p.text + op->text_bytes;
  p.key_lengths = p.terms + op->terms_bytes;
  p.keys = p.key_lengths + (uint64_t)c->columns * sizeof(uint32_t);
  p.created = p.keys + op->keys_bytes;
  return p;
}

bool ty_put_keys(const ty_collection *c, const ty_operation *op, const uint8_t *at, ty_slice out[TY_MAX_COLUMNS]) {
  const ty_put_layout p = ty_put_place(c, op);
  uint64_t from = p.keys, end = p.keys + op->keys_bytes;
  for (uint32_t i = 0; i < c->columns; i++) {
    uint32_t bytes;
    memcpy(&bytes, at + p.key_lengths + i * sizeof bytes, sizeof bytes);
    if (bytes > end - from) return false;
    out[i] = (ty_slice){at + from, bytes};
    from += bytes;
  }
  return from == end;
}

uint64_t ty_put_created(const ty_collection *c, const ty_operation *op, const uint8_t *at) {
  uint64_t created = op->updated;
  if ((op->flags & TY_HAS_CREATED) != 0) memcpy(&created, at + ty_put_place(c, op).created, sizeof created);
  return created;
}

ty_payload ty_put_payload(const ty_collection *c, const ty_operation *op, const uint8_t *at) {
  ty_put_layout p = ty_put_place(c, op);
  return (ty_payload){.vector = at + p.vector,
                      .id = {at + p.id, op->id_bytes},
                      .meta = {at + p.meta, op->meta_bytes},
                      .text = {at + p.text, op->text_bytes},
                      .terms = {at + p.terms, op->terms_bytes},
                      .sparse_bytes = op->sparse_bytes,
                      .has_meta = (op->flags & TY_HAS_META) != 0,
                      .has_text = (op->flags & TY_HAS_TEXT) != 0,
                      .coded = (op->flags & TY_AS_CODES) != 0};
}

void ty_chunks_free(ty_collection *c) {
  struct ty_store *s = c->store;
  for (uint32_t i = 0; i < s->chunk_count; i++) ty_spill_free(c->env, &s->chunks[i].memory);
  s->chunk_count = 0;
  s->ops = 0;
}

ty_status ty_chunk_take(ty_collection *c, uint64_t bytes, uint8_t **out, ty_error *err) {
  struct ty_store *s = c->store;
  ty_chunk *last = s->chunk_count > 0 ? &s->chunks[s->chunk_count - 1] : NULL;
  if (last == NULL || last->memory.bytes - last->used < bytes) {
    if (s->chunk_count == s->chunk_capacity) {
      uint32_t capacity = s->chunk_capacity < 8 ? 8 : s->chunk_capacity * 2;
      ty_chunk *chunks = realloc(s->chunks, capacity * sizeof *chunks);
      if (chunks == NULL) goto no_memory;
      s->chunks = chunks;
      s->chunk_capacity = capacity;
    }
    /* The first chunk begins with room for the block's header, so that a small save is one write. */
    uint64_t head = s->chunk_count == 0 ? sizeof(ty_block_header) : 0, capacity;
    /* Sizes double, so that a large ingest has few chunks. */
    uint64_t least = CHUNK_MIN << (s->chunk_count < CHUNK_DOUBLINGS ? s->chunk_count : CHUNK_DOUBLINGS);
    ty_chunk fresh = {.used = head};
    if (!ty_add(bytes, head, &capacity) ||
        !ty_spill_grow(ty_dir_of(c), &fresh.memory, 0, capacity < least ? least : capacity))
      goto no_memory;
    s->chunks[s->chunk_count++] = fresh;
    last = &s->chunks[s->chunk_count - 1];
  }
  *out = (uint8_t *)last->memory.data + last->used;
  last->used += bytes;
  TY_ASSERT(last->used <= last->memory.bytes && last->used % TY_ALIGN == 0);
  return TY_OK;
no_memory:
  return ty_fail(err, TY_NO_MEMORY, "out of memory for %llu bytes of unsaved rows", (unsigned long long)bytes);
}

ty_chunk_mark ty_chunk_mark_take(const ty_collection *c) {
  const struct ty_store *s = c->store;
  return (ty_chunk_mark){s->chunk_count, s->chunk_count > 0 ? s->chunks[s->chunk_count - 1].used : 0, s->ops};
}

void ty_chunk_mark_restore(ty_collection *c, ty_chunk_mark mark) {
  struct ty_store *s = c->store;
  TY_ASSERT(mark.count <= s->chunk_count && mark.ops <= s->ops);
  while (s->chunk_count > mark.count) ty_spill_free(c->env, &s->chunks[--s->chunk_count].memory);
  if (mark.count > 0) s->chunks[mark.count - 1].used = mark.used;
  s->ops = mark.ops;
}

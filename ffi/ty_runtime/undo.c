/* What happened since a mark, so that it can be undone: rows that died are revived, rows that came are cut off.
 *
 * Also the memory of unsaved operations. It is kept in the form it takes on disk, so that a save writes it out as it
 * is.
 */
#include <stdlib.h>
#include <string.h>
#include "store.h"
#include "rows/weights.h"

#define CHUNK_MIN       ((uint64_t)256 << 10)
#define CHUNK_DOUBLINGS 7u /* to 32 MiB, which lie in files: what is smaller, 32 MB together, does not */

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
    /* Doubling with the number of chunks keeps their number small for a large ingest. */
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

ty_status ty_kill_reserve(ty_collection *c, uint64_t more, ty_error *err) {
  struct ty_store *s = c->store;
  uint64_t need = s->killed_count + more;
  if (need <= s->killed_capacity) return TY_OK;
  uint64_t capacity = s->killed_capacity * 2 > need ? s->killed_capacity * 2 : need;
  ty_place *killed = realloc(s->killed, (size_t)capacity * sizeof *killed);
  if (killed == NULL) return ty_fail(err, TY_NO_MEMORY, "out of memory for %llu deletions", (unsigned long long)more);
  s->killed = killed;
  s->killed_capacity = capacity;
  return TY_OK;
}

static void uncount(ty_collection *c, ty_segment *s, uint64_t at) {
  TY_ASSERT(s->live > 0);
  s->live--;
  for (uint32_t k = 0; k < c->columns; k++) ty_dict_uncount(&c->dicts[k], s->keys[k][at]);
}

static void revive(ty_collection *c, ty_segment *s, uint64_t at) {
  TY_ASSERT(s->dead[at] && s->live < s->count);
  s->dead[at] = 0;
  s->live++;
  for (uint32_t k = 0; k < c->columns; k++) ty_dict_count(&c->dicts[k], s->keys[k][at], 1);
}

void ty_kill(ty_collection *c, ty_place place) {
  ty_derived_died(c, place);
  ty_segment *segment = place < c->base.count ? &c->base : &c->delta;
  uint64_t at = place < c->base.count ? place : place - c->base.count;
  TY_ASSERT(at < segment->count && !segment->dead[at]);
  TY_ASSERT(c->store->killed_count < c->store->killed_capacity);
  segment->dead[at] = 1;
  uncount(c, segment, at);
  c->store->killed[c->store->killed_count++] = place;
  if (c->lexical_index != NULL) ty_lexical_died(c->lexical_index);
  ty_weights_note(c->weights, TY_WEIGHTS_DIED);
}

void ty_mark(ty_collection *c) {
  struct ty_store *s = c->store;
  ty_chunks_free(c);
  ty_buffer_free(&s->kept_schema);
  s->killed_count = 0;
  s->kept_rows = c->delta.count;
  s->kept_next_row = c->next_row;
}

void ty_undo_locked(ty_collection *c) {
  struct ty_store *s = c->store;
  TY_ASSERT_EXCLUSIVE(c);
  TY_ASSERT(s->kept_rows <= c->delta.count && s->kept_next_row <= c->next_row);
  bool moved = s->killed_count > 0 || c->delta.count != s->kept_rows;
  for (uint64_t i = 0; i < s->killed_count; i++) {
    ty_place place = s->killed[i];
    ty_segment *segment = place < c->base.count ? &c->base : &c->delta;
    revive(c, segment, place < c->base.count ? place : place - c->base.count);
  }
  for (uint64_t at = s->kept_rows; at < c->delta.count; at++) {
    if (!c->delta.dead[at]) uncount(c, &c->delta, at);
  }
  c->delta.count = s->kept_rows;
  c->next_row = s->kept_next_row;
  if (moved) {
    ty_derived_drop(c);
    ty_note_lexical(c);
    ty_weights_note(c->weights, TY_WEIGHTS_DELTA);
  }
  if (s->kept_schema.bytes > 0) {
    ty_buffer_free(&c->schema);
    c->schema = s->kept_schema;
    s->kept_schema = (ty_buffer){0};
    ty_schema schema;
    if (ty_schema_read((ty_slice){c->schema.data, c->schema.bytes}, &schema, NULL) == TY_OK)
      c->default_target_recall = schema.default_target_recall;
  }
  ty_mark(c);
}

void ty_undo(ty_collection *c) {
  pthread_rwlock_wrlock(&c->lock);
  ty_undo_locked(c);
  pthread_rwlock_unlock(&c->lock);
}

/* The lexical index compares its account with the segments at the next question. */
void ty_note_lexical(ty_collection *c) {
  if (c->lexical_index != NULL) ty_lexical_reset(c->lexical_index);
}

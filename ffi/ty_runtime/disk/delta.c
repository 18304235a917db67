/* Writing a delta: a save appends the unsaved operations as one block. */
#include "disk/delta.h"

#include "disk/slab.h"
#include "os/plant.h"

ty_status ty_delta_open(const ty_collection *c, ty_file *file, ty_error *err) {
  ty_status status = ty_file_map(c, file, ty_room_ahead(file->bytes), err);
  if (status == TY_OK) status = ty_slab_check(c, file, TY_SLAB_DELTA, err);
  if (status == TY_OK && ty_crc_mapped(c->env, 0, file->map, file->bytes) != file->crc && !TY_PLANTED(NO_DELTA_SUM))
    status = ty_wrong_sum(file, err);
  return status;
}

static int write_block(const ty_delta_write *w, ty_file *file) {
  const ty_collection *c = w->append.c;
  const struct ty_store *s = c->store;
  const ame_kernel *k = c->env->kernel;
  TY_ASSERT(s->chunk_count > 0 && s->ops > 0);
  ty_block_header *b = s->chunks[0].memory.data;
  *b = (ty_block_header){.magic = TY_BLOCK_MAGIC,
                         .ops = s->ops,
                         .generation = w->append.generation,
                         .first_row = w->first_row,
                         .time = w->time};
  for (uint32_t i = 0; i < s->chunk_count; i++) {
    const ty_chunk *chunk = &s->chunks[i];
    uint64_t skip = i == 0 ? sizeof *b : 0;
    b->payload_crc = k->crc32c(b->payload_crc, (uint8_t *)chunk->memory.data + skip, (size_t)(chunk->used - skip));
    b->payload_bytes += chunk->used - skip;
    ty_spill_evict(c->env, &chunk->memory);
  }
  ty_block_seal(k, b);
  int result = 0;
  for (uint32_t i = 0; i < s->chunk_count && result >= 0; i++) {
    const ty_chunk *chunk = &s->chunks[i];
    result = ty_append_put(&w->append, file, chunk->memory.data, chunk->used);
    ty_spill_evict(c->env, &chunk->memory);
  }
  return result;
}

bool ty_delta_begins(const ty_collection *c) {
  const ty_files *files = &c->store->files;
  if (files->delta_count == 0 || c->store->abandon_delta) return true;
  const ty_slab_header *last = (const ty_slab_header *)(const void *)files->deltas[files->delta_count - 1].map;
  return last->version < TY_SLAB_VERSION;
}

ty_status ty_delta_append(ty_delta_write *w, ty_error *err) {
  ty_files *files = w->files;
  bool fresh = ty_delta_begins(w->append.c);
  if (fresh && files->delta_count + 8 > TY_FILES_MAX)
    return ty_fail(err, TY_IO, "too many delta files: compact the collection");
  ty_file file = fresh ? (ty_file){0} : files->deltas[files->delta_count - 1];
  w->append.kind = TY_SLAB_DELTA;
  ty_status status = ty_append_open(&w->append, &file, err);
  if (status != TY_OK) return status;
  int result = write_block(w, &file);
  if (result < 0) return ty_append_drop(&w->append, result, err);
  if (fresh) files->deltas[files->delta_count++] = file;
  else files->deltas[files->delta_count - 1] = file;
  ty_append_sync(&w->append);
  return TY_OK;
}

ty_status ty_delta_finish(ty_delta_write *w, ty_error *err) {
  bool lost = false;
  ty_status status = ty_append_finish(&w->append, &lost, err);
  if (lost) w->append.c->store->abandon_delta = !TY_PLANTED(REUSED_DELTA);
  return status;
}

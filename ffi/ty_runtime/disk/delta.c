/* Writing a delta: a save appends one block of operations after the last committed byte, over whatever lies there: the
 * torn tail of a save that no manifest named. */
#include <fcntl.h>
#include <string.h>
#include "disk/delta.h"
#include "disk/slab.h"
#include "os/plant.h"
#include "work/pool.h"

ty_status ty_delta_open(const ty_collection *c, ty_file *file, ty_error *err) {
  ty_status status = ty_file_map(c, file, ty_room_ahead(file->bytes), err);
  if (status == TY_OK) status = ty_slab_check(c, file, TY_SLAB_DELTA, err);
  if (status == TY_OK && ty_crc_mapped(c->env, 0, file->map, file->bytes) != file->crc && !TY_PLANTED(NO_DELTA_SUM))
    status = ty_wrong_sum(file, err);
  return status;
}

static bool is_block(const ame_kernel *k, const ty_block_header *b, uint64_t room) {
  return room >= sizeof *b && b->magic == TY_BLOCK_MAGIC && b->crc == k->crc32c(0, b, sizeof *b - sizeof b->crc) &&
         b->payload_bytes % TY_ALIGN == 0 && b->payload_bytes <= room - sizeof *b;
}

uint64_t ty_block_find(const ame_kernel *k, const ty_file *file, uint64_t at, uint64_t end, ty_block_header *out) {
  for (; at < end && end - at >= sizeof *out; at += TY_ALIGN) {
    memcpy(out, file->map + at, sizeof *out);
    if (is_block(k, out, end - at)) return at;
  }
  return end;
}

static int write_block(const ty_delta_write *w, ty_file *file) {
  const ty_collection *c = w->c;
  const struct ty_store *s = c->store;
  const ame_kernel *k = c->env->kernel;
  ty_os *os = &c->env->os;
  TY_ASSERT(s->chunk_count > 0 && s->ops > 0);
  ty_block_header *b = s->chunks[0].memory.data;
  *b =
      (ty_block_header){.magic = TY_BLOCK_MAGIC, .ops = s->ops, .generation = w->generation, .first_row = w->first_row};
  for (uint32_t i = 0; i < s->chunk_count; i++) {
    const ty_chunk *chunk = &s->chunks[i];
    uint64_t skip = i == 0 ? sizeof *b : 0;
    b->payload_crc = k->crc32c(b->payload_crc, (uint8_t *)chunk->memory.data + skip, (size_t)(chunk->used - skip));
    b->payload_bytes += chunk->used - skip;
    ty_spill_evict(c->env, &chunk->memory);
  }
  TY_ASSERT(b->payload_bytes > 0 && b->payload_bytes % TY_ALIGN == 0 && file->bytes % TY_ALIGN == 0);
  b->crc = k->crc32c(0, b, sizeof *b - sizeof b->crc);
  for (uint32_t i = 0; i < s->chunk_count; i++) {
    const ty_chunk *chunk = &s->chunks[i];
    for (uint64_t at = 0, n; at < chunk->used; at += n) {
      n = chunk->used - at < TY_WRITE_PIECE ? chunk->used - at : TY_WRITE_PIECE;
      const uint8_t *piece = (const uint8_t *)chunk->memory.data + at;
      int result = os->pwrite(os, w->fd, piece, (size_t)n, file->bytes);
      if (result < 0) return result;
      file->crc = k->crc32c(file->crc, piece, (size_t)n);
      file->bytes += n;
    }
    ty_spill_evict(c->env, &chunk->memory);
  }
  return 0;
}

static int write_header(const ty_delta_write *w, ty_file *file) {
  const ty_collection *c = w->c;
  const ame_kernel *k = c->env->kernel;
  const ty_slab_header *base = (const ty_slab_header *)(const void *)c->store->files.base.map;
  ty_slab_header h = {.magic = TY_SLAB_MAGIC,
                      .version = TY_SLAB_VERSION,
                      .kind = TY_SLAB_DELTA,
                      .bytes = sizeof h,
                      .generation = w->generation,
                      .base_generation = base->generation};
  h.crc = k->crc32c(0, &h, sizeof h - sizeof h.crc);
  file->crc = k->crc32c(0, &h, sizeof h);
  file->bytes = sizeof h;
  return c->env->os.pwrite(&c->env->os, w->fd, &h, sizeof h, 0);
}

ty_status ty_delta_append(ty_delta_write *w, ty_error *err) {
  ty_collection *c = w->c;
  ty_files *files = w->files;
  ty_os *os = &c->env->os;
  w->fresh = files->delta_count == 0 || c->store->abandon_delta;
  if (w->fresh && files->delta_count + 8 > TY_FILES_MAX)
    return ty_fail(err, TY_IO, "too many delta files: compact the collection");
  ty_file file = {0};
  if (w->fresh) {
    ty_slab_name(file.name, TY_SLAB_DELTA, w->generation);
    ty_status status = ty_file_create(c, file.name, &w->fd, err);
    if (status != TY_OK) return status;
  } else {
    file = files->deltas[files->delta_count - 1];
    w->fd = ty_file_open(c, file.name, O_RDWR);
    if (w->fd < 0) return ty_fail_io(err, w->fd, "open", file.name);
    /* The block is read back through the mapping. */
    ty_status status = ty_file_same(c, &file, w->fd, file.bytes, err);
    if (status != TY_OK) {
      os->close(os, w->fd);
      return status;
    }
  }
  memcpy(w->name, file.name, sizeof w->name);
  int result = w->fresh ? write_header(w, &file) : 0;
  w->from = file.bytes;
  if (result >= 0) result = write_block(w, &file);
  if (result < 0) {
    os->close(os, w->fd);
    if (w->fresh) ty_file_remove(c, file.name);
    return ty_fail_io(err, result, "write", file.name);
  }
  if (w->fresh) files->deltas[files->delta_count++] = file;
  else files->deltas[files->delta_count - 1] = file;
  w->beside = ty_side_sync(c->env, w->fd);
  return TY_OK;
}

ty_status ty_delta_finish(ty_delta_write *w, ty_error *err) {
  ty_os *os = &w->c->env->os;
  const char *what = "sync";
  int result = w->beside ? ty_side_wait(w->c->env) : os->sync(os, w->fd);
  if (TY_PLANTED(IGNORED_SYNC)) result = 0;
  if (result < 0) w->c->store->abandon_delta = !TY_PLANTED(REUSED_DELTA); /* its pages may be lost and count as clean */
  int closed = os->close(os, w->fd);
  if (result >= 0 && closed < 0) result = closed, what = "close";
  if (result < 0) return ty_fail_io(err, result, what, w->name);
  return w->fresh && !TY_PLANTED(NO_NAME_SYNC) ? ty_file_sync_dir(w->c, w->c->dir, err) : TY_OK;
}

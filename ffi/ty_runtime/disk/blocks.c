#include "disk/blocks.h"

#include <fcntl.h>
#include <string.h>

#include "disk/slab.h"
#include "os/plant.h"
#include "work/pool.h"

void ty_block_seal(const ame_kernel *k, ty_block_header *b) {
  TY_ASSERT(b->payload_bytes > 0 && b->payload_bytes % TY_ALIGN == 0);
  b->crc = k->crc32c(0, b, sizeof *b - sizeof b->crc);
}

bool ty_block_is_whole(const ame_kernel *k, const ty_block_header *b, uint32_t magic) {
  return b->magic == magic && b->crc == k->crc32c(0, b, sizeof *b - sizeof b->crc) && b->payload_bytes % TY_ALIGN == 0;
}

static bool is_block(const ame_kernel *k, const ty_block_header *b, uint32_t magic, uint64_t room) {
  return room >= sizeof *b && ty_block_is_whole(k, b, magic) && b->payload_bytes <= room - sizeof *b;
}

uint64_t ty_block_find(const ame_kernel *k, const ty_file *file, uint32_t magic, uint64_t at, uint64_t end,
                       ty_block_header *out) {
  for (; at < end && end - at >= sizeof *out; at += TY_ALIGN) {
    memcpy(out, file->map + at, sizeof *out);
    if (is_block(k, out, magic, end - at)) return at;
  }
  return end;
}

static int write_header(const ty_append *a, ty_file *file) {
  const ty_collection *c = a->c;
  const ame_kernel *k = c->env->kernel;
  const ty_slab_header *base = (const ty_slab_header *)(const void *)c->store->files.base.map;
  ty_slab_header h = {.magic = TY_SLAB_MAGIC,
                      .version = TY_SLAB_VERSION,
                      .kind = a->kind,
                      .bytes = sizeof h,
                      .generation = a->generation,
                      .base_generation = base->generation};
  h.crc = k->crc32c(0, &h, sizeof h - sizeof h.crc);
  return ty_append_put(a, file, &h, sizeof h);
}

ty_status ty_append_open(ty_append *a, ty_file *file, ty_error *err) {
  ty_collection *c = a->c;
  ty_status status;
  a->fresh = file->name[0] == 0;
  if (a->fresh) {
    *file = (ty_file){0};
    ty_slab_name(file->name, a->kind, a->generation);
    status = ty_file_create(c, file->name, &a->fd, err);
    if (status != TY_OK) return status;
  } else {
    a->fd = ty_file_open(c, file->name, O_RDWR);
    if (a->fd < 0) return ty_fail_io(err, a->fd, "open", file->name);
    /* The block is read back through the mapping. */
    status = ty_file_same(c, file, a->fd, file->bytes, err);
    if (status != TY_OK) {
      c->env->os.close(&c->env->os, a->fd);
      return status;
    }
  }
  memcpy(a->name, file->name, sizeof a->name);
  int result = a->fresh ? write_header(a, file) : 0;
  a->from = file->bytes;
  TY_ASSERT(file->bytes % TY_ALIGN == 0);
  return result < 0 ? ty_append_drop(a, result, err) : TY_OK;
}

int ty_append_put(const ty_append *a, ty_file *file, const void *data, uint64_t bytes) {
  ty_env *env = a->c->env;
  for (uint64_t at = 0, n; at < bytes; at += n) {
    n = bytes - at < TY_WRITE_PIECE ? bytes - at : TY_WRITE_PIECE;
    const uint8_t *piece = (const uint8_t *)data + at;
    int result = env->os.pwrite(&env->os, a->fd, piece, (size_t)n, file->bytes);
    if (result < 0) return result;
    file->crc = env->kernel->crc32c(file->crc, piece, (size_t)n);
    file->bytes += n;
  }
  return 0;
}

ty_status ty_append_drop(const ty_append *a, int result, ty_error *err) {
  a->c->env->os.close(&a->c->env->os, a->fd);
  if (a->fresh) ty_file_remove(a->c, a->name);
  return ty_fail_io(err, result, "write", a->name);
}

void ty_append_sync(ty_append *a) { a->beside = ty_side_sync(a->c->env, a->fd); }

ty_status ty_append_finish(ty_append *a, bool *lost, ty_error *err) {
  ty_os *os = &a->c->env->os;
  const char *what = "sync";
  int result = a->beside ? ty_side_wait(a->c->env) : os->sync(os, a->fd);
  if (TY_PLANTED(IGNORED_SYNC)) result = 0;
  if (result < 0) *lost = true;
  int closed = os->close(os, a->fd);
  if (result >= 0 && closed < 0) result = closed, what = "close";
  if (result < 0) return ty_fail_io(err, result, what, a->name);
  return a->fresh && !TY_PLANTED(NO_NAME_SYNC) ? ty_file_sync_dir(a->c, a->c->dir, err) : TY_OK;
}

/* Reads every committed byte and compares checksums. The files are read afresh and not through the mappings that questions use, so that what
 * is checked is what another process would open. */
#include <string.h>
#include "store.h"

#define STEP ((uint64_t)1 << 20)

typedef struct check {
  ty_collection *c;
  ty_progress *progress;
  uint64_t done, total;
  ty_error *err;
} check;

/* The checksum of a run of a mapped file, in steps that a cancel can come between. */
static ty_status sum(check *k, const uint8_t *data, uint64_t bytes, uint32_t *crc) {
  for (uint64_t at = 0; at < bytes; at += STEP) {
    uint64_t n = bytes - at < STEP ? bytes - at : STEP;
    if (ty_cancelled(k->progress)) return ty_fail(k->err, TY_CANCELLED, "cancelled");
    *crc = k->c->env->kernel->crc32c(*crc, data + at, (size_t)n);
    k->done += n;
    ty_progress_set(k->progress, k->done, k->total);
  }
  return TY_OK;
}

static ty_status check_slab(check *k, const ty_file *file, uint32_t kind) {
  ty_slab slab;
  ty_status status = ty_slab_open(k->c, file, kind, &slab, k->err);
  for (uint32_t i = 0; status == TY_OK && i < slab.header->sections; i++) {
    const ty_slab_section *s = &slab.sections[i];
    uint32_t crc = 0;
    status = sum(k, file->map + s->offset, s->bytes, &crc);
    if (status == TY_OK && crc != s->crc)
      status = ty_fail(k->err, TY_CORRUPT, "%s: bytes do not match their checksum at offset %llu", file->name,
                       (unsigned long long)s->offset);
  }
  return status;
}

/* Block by block first, so that damage is named by the block it lies in. */
static ty_status check_delta(check *k, const ty_file *file) {
  const ame_kernel *kernel = k->c->env->kernel;
  ty_status status = ty_delta_check_header(k->c, file, k->err);
  uint32_t whole = status == TY_OK ? kernel->crc32c(0, file->map, sizeof(ty_delta_header)) : 0;
  for (uint64_t at = sizeof(ty_delta_header); at < file->bytes && status == TY_OK;) {
    const ty_block_header *b = (const ty_block_header *)(const void *)(file->map + at);
    uint32_t crc = 0;
    bool good = file->bytes - at >= sizeof *b && b->magic == TY_BLOCK_MAGIC &&
                b->crc == kernel->crc32c(0, b, sizeof *b - sizeof b->crc) && b->payload_bytes % TY_ALIGN == 0 &&
                b->payload_bytes <= file->bytes - at - sizeof *b;
    if (good) {
      status = sum(k, file->map + at + sizeof *b, b->payload_bytes, &crc);
      whole = kernel->crc32c(whole, b, (size_t)(sizeof *b + b->payload_bytes));
      good = crc == b->payload_crc;
    }
    if (status == TY_OK && !good)
      status = ty_fail(k->err, TY_CORRUPT, "%s: the block at offset %llu does not match its checksum", file->name,
                       (unsigned long long)at);
    if (good) at += sizeof *b + b->payload_bytes;
  }
  if (status == TY_OK && whole != file->crc)
    status = ty_fail(k->err, TY_CORRUPT, "%s: it is not the file the manifest names", file->name);
  return status;
}

static ty_status with_map(check *k, const ty_file *file, uint32_t kind) {
  ty_file fresh = *file;
  fresh.map = NULL;
  if (file->name[0] == 0) return TY_OK;
  ty_status status = ty_file_map(k->c, &fresh, 0, k->err);
  if (status != TY_OK) return status;
  status = kind == 0 ? check_delta(k, &fresh) : check_slab(k, &fresh, kind);
  ty_file_unmap(k->c, &fresh);
  return status;
}

ty_status ty_verify(ty_collection *c, ty_progress *progress, ty_error *err) {
  ty_status status = ty_enter(c, err);
  if (status != TY_OK) return status;
  check k = {.c = c, .progress = progress, .err = err};
  const ty_files *f = &c->store->files;
  if (c->generation > 0) {
    k.total = f->base.bytes + f->ivf.bytes + f->lexical.bytes + f->id_map.bytes;
    for (uint32_t i = 0; i < f->delta_count; i++) k.total += f->deltas[i].bytes;
    status = with_map(&k, &f->base, TY_SLAB_BASE);
    for (uint32_t i = 0; i < f->delta_count && status == TY_OK; i++) status = with_map(&k, &f->deltas[i], 0);
    if (status == TY_OK) status = with_map(&k, &f->ivf, TY_SLAB_IVF);
    if (status == TY_OK) status = with_map(&k, &f->lexical, TY_SLAB_LEXICAL);
    if (status == TY_OK && !atomic_load(&c->store->writing)) status = ty_id_map_check(c, err);
    if (status == TY_OK) ty_progress_set(progress, k.total, k.total);
  }
  ty_leave(c);
  return status;
}

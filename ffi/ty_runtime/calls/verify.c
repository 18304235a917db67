/* Reads every committed byte and compares checksums, through new mappings, so that the check sees what another process
 * would open. Then checks the invariants of the open collection. */
#include <string.h>
#include <time.h>
#include "disk/idmap.h"
#include "disk/slab.h"
#include "state/load.h"
#include "state/state.h"
#include "work/work.h"

#define STEP       TY_RESIDENT_MOST /* 3 ms; pages are released after each */
#define TRIES      5u
#define COPY_TRIES 10u
#define PAUSE_NS   (20 * 1000 * 1000)

typedef struct check {
  ty_collection *c;
  ty_progress *progress;
  uint64_t done, total;
  ty_error *err;
} check;

/* The checksum of a run of a mapped file; cancel is checked after each step. */
static ty_status sum(check *k, const uint8_t *data, uint64_t bytes, uint32_t *crc) {
  for (uint64_t at = 0; at < bytes; at += STEP) {
    uint64_t n = bytes - at < STEP ? bytes - at : STEP;
    if (ty_cancelled(k->progress)) return ty_fail(k->err, TY_CANCELLED, "cancelled");
    *crc = ty_crc_mapped(k->c->env, *crc, data + at, n);
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

/* Block by block first, so that a failure names the damaged block. */
static ty_status check_delta(check *k, const ty_file *file) {
  const ame_kernel *kernel = k->c->env->kernel;
  ty_status status = ty_slab_check(k->c, file, TY_SLAB_DELTA, k->err);
  uint32_t whole = status == TY_OK ? kernel->crc32c(0, file->map, sizeof(ty_slab_header)) : 0;
  for (uint64_t at = sizeof(ty_slab_header); at < file->bytes && status == TY_OK;) {
    const ty_block_header *b = (const ty_block_header *)(const void *)(file->map + at);
    uint32_t crc = 0;
    bool good = file->bytes - at >= sizeof *b && b->magic == TY_BLOCK_MAGIC &&
                b->crc == kernel->crc32c(0, b, sizeof *b - sizeof b->crc) && b->payload_bytes % TY_ALIGN == 0 &&
                b->payload_bytes <= file->bytes - at - sizeof *b;
    if (good) {
      status = sum(k, file->map + at + sizeof *b, b->payload_bytes, &crc);
      whole = ty_crc_mapped(k->c->env, whole, file->map + at, sizeof *b + b->payload_bytes);
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

/* Maps the collection's files into another object: reading them all takes long, and meanwhile neither changes nor
 * queries should wait, and a compaction may remove files. */
static ty_status snapshot(const ty_collection *c, ty_collection **out, ty_error *err) {
  ty_status status = ty_shell(c->env, c->dir, out, err);
  if (status != TY_OK) return status;
  ty_collection *t = *out;
  ty_files *f = &t->store->files;
  t->dim = c->dim;
  t->columns = c->columns;
  t->generation = c->generation;
  t->store->first_row = c->store->first_row;
  t->next_row = c->state->kept_next_row;
  if (c->generation == 0) return TY_OK;
  status = ty_files_copy(f, &c->store->files, err);
  if (status == TY_OK) status = ty_file_map(t, &f->base, 0, err);
  if (status == TY_OK && f->ivf.name[0] != 0) status = ty_file_map(t, &f->ivf, 0, err);
  if (status == TY_OK && f->lexical.name[0] != 0) status = ty_file_map(t, &f->lexical, 0, err);
  for (uint32_t i = 0; i < f->delta_count && status == TY_OK; i++) status = ty_file_map(t, &f->deltas[i], 0, err);
  return status;
}

/* A running save writes the id map just before its manifest: a mismatch may end with the manifest. */
static ty_status check_id_map(check *k) {
  ty_status status = TY_OK;
  for (uint32_t i = 0; i < COPY_TRIES; i++) {
    if (i > 0) nanosleep(&(struct timespec){0, PAUSE_NS}, NULL);
    status = ty_id_map_check(k->c, k->err);
    if (status == TY_OK || ty_cancelled(k->progress)) break;
  }
  return status;
}

static ty_status check_files(check *k) {
  const ty_files *f = &k->c->store->files;
  if (k->c->generation == 0) return TY_OK;
  k->total = f->base.bytes + f->ivf.bytes + f->lexical.bytes + f->id_map.bytes;
  for (uint32_t i = 0; i < f->delta_count; i++) k->total += f->deltas[i].bytes;
  ty_status status = check_slab(k, &f->base, TY_SLAB_BASE);
  for (uint32_t i = 0; i < f->delta_count && status == TY_OK; i++) status = check_delta(k, &f->deltas[i]);
  if (status == TY_OK && f->ivf.name[0] != 0) status = check_slab(k, &f->ivf, TY_SLAB_IVF);
  if (status == TY_OK && f->lexical.name[0] != 0) status = check_slab(k, &f->lexical, TY_SLAB_LEXICAL);
  return status == TY_OK ? check_id_map(k) : status;
}

ty_status ty_verify(ty_collection *c, ty_progress *progress, ty_error *err) {
  for (uint64_t tries = 1;; tries++) {
    ty_collection *t = NULL;
    ty_status status = ty_enter(c, err);
    if (status != TY_OK) return status;
    status = snapshot(c, &t, err);
    ty_leave(c);
    check k = {.c = t, .progress = progress, .err = err};
    if (status == TY_OK) status = check_files(&k);
    uint64_t seen = t == NULL ? 0 : t->generation;
    ty_shell_free(t);
    if (status == TY_OK) ty_progress_set(progress, k.total, k.total);
    if ((status != TY_IO && status != TY_CORRUPT) || tries == TRIES) return status;
    /* A compaction in between removed the files and rewrote the id map: try again. */
    ty_error unread;
    if (ty_enter(c, &unread) != TY_OK) return status;
    bool moved = c->generation != seen;
    ty_leave(c);
    if (!moved) return status;
  }
}

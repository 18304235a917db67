#include "resident.h"
#include "store.h"

static void let_go_file(const ty_collection *c, const ty_file *file) {
  if (file->map != NULL) c->env->os.let_go(&c->env->os, file->map, (size_t)file->mapped);
}

static void let_go(const ty_collection *c, unsigned kind) {
  struct ty_store *s = c->store;
  switch (kind) {
  case TY_OF_BASE: let_go_file(c, &s->files.base); break;
  case TY_OF_DELTA:
    for (int i = 0; i < TY_DELTA_COLUMNS; i++) ty_spill_let_go(c, &s->delta.columns[i]);
    for (uint32_t i = 0; i < s->files.delta_count; i++) let_go_file(c, &s->files.deltas[i]);
    break;
  case TY_OF_OPERATIONS:
    for (uint32_t i = 0; i < s->chunk_count; i++) ty_spill_let_go(c, &s->chunks[i].memory);
    break;
  default:
    ty_spill_let_go(c, &s->id_table);
    ty_spill_let_go(c, &s->order);
    ty_spill_let_go(c, &s->base_at);
  }
}

uint64_t ty_resident_build(const ty_collection *c) {
  const ty_files *files = &c->store->files;
  uint64_t bytes = files->base.bytes;
  for (uint32_t i = 0; i < files->delta_count; i++) bytes += files->deltas[i].bytes;
  return bytes <= TY_RESIDENT_FILES ? UINT64_MAX : TY_RESIDENT_BUILD;
}

void ty_touched(const ty_collection *c, unsigned kinds, uint64_t bytes, uint64_t most) {
  TY_ASSERT(kinds != 0 && kinds >> TY_KINDS == 0);
  for (unsigned i = 0; i < TY_KINDS; i++) {
    _Atomic uint64_t *touched = &c->store->touched[i];
    if ((kinds >> i & 1) == 0) continue;
    if (atomic_fetch_add_explicit(touched, bytes, memory_order_relaxed) + bytes < most) continue;
    atomic_store_explicit(touched, 0, memory_order_relaxed);
    let_go(c, 1u << i);
  }
}

void ty_read_row(const ty_collection *c, ty_ref row, uint64_t bytes, uint64_t most) {
  ty_touched(c, row.segment->is_base ? TY_OF_BASE : TY_OF_DELTA | TY_OF_OPERATIONS, bytes, most);
}

uint32_t ty_crc_mapped(const ty_collection *c, uint32_t crc, const uint8_t *data, uint64_t bytes) {
  for (uint64_t at = 0, n; at < bytes; at += n) {
    n = bytes - at < TY_RESIDENT_MOST ? bytes - at : TY_RESIDENT_MOST;
    crc = c->env->kernel->crc32c(crc, data + at, (size_t)n);
    /* What is small was worth its reading to whoever comes next. */
    if (n == TY_RESIDENT_MOST) c->env->os.let_go(&c->env->os, data + at, (size_t)n);
  }
  return crc;
}

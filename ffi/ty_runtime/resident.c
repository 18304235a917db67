#include "resident.h"
#include "store.h"

static void let_go(const ty_collection *c, const ty_file *file) {
  if (file->map != NULL) c->env->os.let_go(&c->env->os, file->map, (size_t)file->mapped);
}

void ty_touched(const ty_collection *c, uint64_t bytes) {
  struct ty_store *s = c->store;
  if (atomic_fetch_add_explicit(&s->touched, bytes, memory_order_relaxed) + bytes < TY_RESIDENT_MOST) return;
  atomic_store_explicit(&s->touched, 0, memory_order_relaxed);
  const ty_delta_memory *m = &s->delta;
  const ty_spill *all[] = {&m->blocks, &m->codes, &m->info, &m->row, &m->birth, &m->dead, &m->payload};
  for (uint32_t i = 0; i < sizeof all / sizeof *all; i++) ty_spill_let_go(c, all[i]);
  for (uint32_t i = 0; i < c->columns; i++) ty_spill_let_go(c, &m->keys[i]);
  let_go(c, &s->files.base);
  for (uint32_t i = 0; i < s->files.delta_count; i++) let_go(c, &s->files.deltas[i]);
}

void ty_passed(const ty_collection *c, uint64_t bytes, uint64_t most) {
  struct ty_store *s = c->store;
  if (atomic_fetch_add_explicit(&s->passed, bytes, memory_order_relaxed) + bytes < most) return;
  atomic_store_explicit(&s->passed, 0, memory_order_relaxed);
  ty_touched(c, TY_RESIDENT_MOST);
  ty_chunks_let_go(c);
}

void ty_derived_touched(const ty_collection *c, uint64_t bytes) {
  struct ty_store *s = c->store;
  s->derived_touched += bytes;
  if (s->derived_touched < TY_RESIDENT_MOST) return;
  s->derived_touched = 0;
  ty_spill_let_go(c, &s->id_table);
  ty_spill_let_go(c, &s->order);
  ty_spill_let_go(c, &s->base_at);
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

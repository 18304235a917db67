#include "meaning/meaning.h"

#include <stdlib.h>

ty_meaning *ty_meaning_new(void) {
  ty_meaning *m = calloc(1, sizeof *m);
  if (m != NULL) pthread_mutex_init(&m->lock, NULL);
  return m;
}

void ty_meaning_free(ty_env *env, ty_meaning *m) {
  if (m == NULL) return;
  ty_meaning_forget(env, m);
  pthread_mutex_destroy(&m->lock);
  free(m);
}

void ty_meaning_forget(ty_env *env, ty_meaning *m) {
  atomic_store(&m->ready, false);
  atomic_store(&m->usable, false);
  ty_spill_free(env, &m->memory);
  m->places = m->live = 0;
  m->base = NULL;
  m->encoder = 0;
}

bool ty_meaning_grow(ty_dir dir, ty_meaning *m, uint64_t places) {
  uint64_t used = m->places * sizeof(uint32_t), bytes = places * sizeof(uint32_t);
  if (places <= m->places) return true;
  if (bytes > m->memory.bytes && !ty_spill_grow(dir, &m->memory, used, bytes + bytes / 4)) return false;
  m->places = places;
  return true;
}

static bool has(const ty_meaning *m, ty_place place) {
  return atomic_load(&m->ready) && place < m->places && ((const uint32_t *)m->memory.data)[place] != 0;
}

void ty_meaning_died(ty_meaning *m, ty_place place) { m->live -= has(m, place); }
void ty_meaning_revived(ty_meaning *m, ty_place place) { m->live += has(m, place); }

/* The list of what is damaged in an open collection. */
#include "rows/damage.h"

#include <stdlib.h>
#include <string.h>

#include "os/arena.h"

_Static_assert(sizeof(ty_damage) == 264, "damage records");

struct ty_damage_list {
  pthread_mutex_t lock;
  _Atomic uint64_t count;
  uint64_t kept;
  ty_damage *records; /* TY_DAMAGES_KEPT, from the first one on; NULL: none, or out of memory */
  ty_arena memory;
};

ty_damage_list *ty_damage_list_new(void) {
  ty_damage_list *x = calloc(1, sizeof *x);
  if (x != NULL) pthread_mutex_init(&x->lock, NULL);
  return x;
}

void ty_damage_list_free(ty_damage_list *x) {
  if (x == NULL) return;
  ty_arena_free(&x->memory);
  free(x->records);
  pthread_mutex_destroy(&x->lock);
  free(x);
}

void *ty_damage_memory(ty_damage_list *x, uint64_t bytes) {
  pthread_mutex_lock(&x->lock);
  void *memory = ty_arena_zero(&x->memory, bytes, 1);
  pthread_mutex_unlock(&x->lock);
  return memory;
}

ty_damage ty_damage_of(const char *file, uint32_t part, uint32_t section, uint64_t offset, uint64_t bytes,
                       const char *what) {
  ty_damage d;
  memset(&d, 0, sizeof d);
  d.part = part;
  d.section = section;
  d.offset = offset;
  d.bytes = bytes;
  snprintf(d.file, sizeof d.file, "%.63s", file);
  snprintf(d.what, sizeof d.what, "%.159s", what);
  return d;
}

static bool is_known(const ty_damage_list *x, const ty_damage *d) {
  for (uint64_t i = 0; i < x->kept; i++) {
    if (x->records[i].offset == d->offset && strncmp(x->records[i].file, d->file, sizeof d->file) == 0) return true;
  }
  return false;
}

void ty_damage_add(ty_damage_list *x, const ty_damage *d) {
  pthread_mutex_lock(&x->lock);
  if (!is_known(x, d)) {
    if (x->records == NULL) x->records = calloc(TY_DAMAGES_KEPT, sizeof *x->records);
    if (x->records != NULL && x->kept < TY_DAMAGES_KEPT) x->records[x->kept++] = *d;
    atomic_fetch_add_explicit(&x->count, 1, memory_order_relaxed);
  }
  pthread_mutex_unlock(&x->lock);
}

void ty_damage_note(const ty_collection *c, const ty_damage *d) { ty_damage_add(c->damages, d); }

uint64_t ty_damage_count(const ty_collection *c) {
  return atomic_load_explicit(&c->damages->count, memory_order_relaxed);
}

uint64_t ty_damage_copy(const ty_collection *c, ty_damage *out, uint64_t capacity) {
  ty_damage_list *x = c->damages;
  pthread_mutex_lock(&x->lock);
  uint64_t kept = x->kept, n = kept < capacity ? kept : capacity;
  if (n > 0) memcpy(out, x->records, (size_t)n * sizeof *out);
  pthread_mutex_unlock(&x->lock);
  return kept;
}

/* Two tables over the live rows: by external id, and by order of insertion. Neither is stored: both are built when first asked for and then
 * follow every change.
 *
 * A table that cannot grow for want of memory is dropped and built anew at the next need, so that keeping one up to date never fails.
 */
#include <stdlib.h>
#include <string.h>
#include "store.h"

/* ---- By id: open addressing, linear probing, at most 3/4 in use ------------------------------------------------------ */
static uint64_t hash_id(const ty_collection *c, ty_slice id) {
  return c->env->kernel->hash64(id.data, (size_t)id.bytes, 0x7479);
}

static void insert(struct ty_store *s, uint64_t hash, ty_place place) {
  uint64_t mask = s->id_table_size - 1, slot = hash & mask;
  while (s->id_table[slot].place != 0 && s->id_table[slot].place != TY_SLOT_GONE) slot = (slot + 1) & mask;
  if (s->id_table[slot].place == 0) s->id_table_used++;
  s->id_table[slot] = (ty_id_slot){(uint32_t)(hash >> 32), place + 1};
}

/* Fills a table of a size fit for the live rows and half as many to come. */
static bool build_ids(const ty_collection *c) {
  struct ty_store *s = c->store;
  uint64_t size = 64;
  while (size * 3 / 4 < (c->base.live + c->delta.live) * 3 / 2 + 16) size *= 2;
  ty_id_slot *table = calloc((size_t)size, sizeof *table);
  if (table == NULL) return false;
  free(s->id_table);
  s->id_table = table;
  s->id_table_size = size;
  s->id_table_used = 0;
  for (uint64_t i = 0; i < ty_total_rows(c); i++) {
    ty_ref r = ty_ref_of(c, (ty_place)i);
    if (!r.segment->dead[r.at]) insert(s, hash_id(c, ty_row_id(r.segment, r.at)), (ty_place)i);
  }
  return true;
}

static ty_status need(const ty_collection *c, _Atomic bool *ready, bool (*build)(const ty_collection *),
                      ty_error *err) {
  if (atomic_load_explicit(ready, memory_order_acquire)) return TY_OK;
  bool built = true;
  pthread_mutex_lock(&c->store->derive);
  if (!atomic_load_explicit(ready, memory_order_relaxed)) {
    built = build(c);
    atomic_store_explicit(ready, built, memory_order_release);
  }
  pthread_mutex_unlock(&c->store->derive);
  return built ? TY_OK
               : ty_fail(err, TY_NO_MEMORY, "out of memory for a table of %llu rows",
                         (unsigned long long)ty_total_rows(c));
}

ty_status ty_ids_need(const ty_collection *c, ty_error *err) { return need(c, &c->store->ids_ready, build_ids, err); }

bool ty_find(const ty_collection *c, ty_slice id, ty_ref *out) {
  struct ty_store *s = c->store;
  if (id.bytes == 0 || ty_ids_need(c, NULL) != TY_OK) return false;
  uint64_t hash = hash_id(c, id), mask = s->id_table_size - 1;
  for (uint64_t slot = hash & mask; s->id_table[slot].place != 0; slot = (slot + 1) & mask) {
    ty_id_slot found = s->id_table[slot];
    if (found.place == TY_SLOT_GONE || found.tag != (uint32_t)(hash >> 32)) continue;
    ty_ref r = ty_ref_of(c, found.place - 1);
    ty_slice own = ty_row_id(r.segment, r.at);
    if (own.bytes != id.bytes || memcmp(own.data, id.data, (size_t)id.bytes) != 0) continue;
    *out = r;
    return true;
  }
  return false;
}

static void id_added(ty_collection *c, ty_place place) {
  struct ty_store *s = c->store;
  if ((s->id_table_used + 1) * 4 > s->id_table_size * 3) { /* the new row is live already: building anew includes it */
    atomic_store(&s->ids_ready, build_ids(c));
    return;
  }
  ty_ref r = ty_ref_of(c, place);
  insert(s, hash_id(c, ty_row_id(r.segment, r.at)), place);
}

static void id_died(ty_collection *c, ty_place place) {
  struct ty_store *s = c->store;
  ty_ref r = ty_ref_of(c, place);
  uint64_t mask = s->id_table_size - 1;
  for (uint64_t slot = hash_id(c, ty_row_id(r.segment, r.at)) & mask; s->id_table[slot].place != 0;
       slot = (slot + 1) & mask) {
    if (s->id_table[slot].place != place + 1) continue;
    s->id_table[slot].place = TY_SLOT_GONE;
    return;
  }
}

/* ---- By birth: births are dense from the base's first row on, so a plain array serves ------------------------------- */
static bool grow_order(const ty_collection *c, uint64_t size) {
  struct ty_store *s = c->store;
  if (size <= s->order_size) return true;
  uint64_t capacity = s->order_size * 2 > size ? s->order_size * 2 : size;
  ty_place *order = realloc(s->order, (size_t)capacity * sizeof *order);
  if (order == NULL) return false;
  memset(order + s->order_size, 0, (size_t)(capacity - s->order_size) * sizeof *order);
  s->order = order;
  s->order_size = capacity;
  return true;
}

static bool build_order(const ty_collection *c) {
  struct ty_store *s = c->store;
  if (!grow_order(c, c->next_row - s->first_row + 64)) return false;
  memset(s->order, 0, (size_t)s->order_size * sizeof *s->order);
  for (uint64_t i = 0; i < ty_total_rows(c); i++) {
    ty_ref r = ty_ref_of(c, (ty_place)i);
    if (!r.segment->dead[r.at]) s->order[r.segment->birth[r.at] - s->first_row] = (ty_place)i + 1;
  }
  return true;
}

ty_status ty_order_need(const ty_collection *c, ty_error *err) {
  return need(c, &c->store->order_ready, build_order, err);
}

/* ---- Following changes: under the exclusive lock -------------------------------------------------------------------- */
void ty_derived_added(ty_collection *c, ty_place place) {
  struct ty_store *s = c->store;
  if (atomic_load(&s->ids_ready)) id_added(c, place);
  if (!atomic_load(&s->order_ready)) return;
  ty_ref r = ty_ref_of(c, place);
  uint64_t slot = r.segment->birth[r.at] - s->first_row;
  if (!grow_order(c, slot + 1))
    atomic_store(&s->order_ready, false);
  else
    s->order[slot] = place + 1;
}

void ty_derived_died(ty_collection *c, ty_place place) {
  struct ty_store *s = c->store;
  if (atomic_load(&s->ids_ready)) id_died(c, place);
  if (!atomic_load(&s->order_ready)) return;
  ty_ref r = ty_ref_of(c, place);
  uint64_t slot = r.segment->birth[r.at] - s->first_row;
  if (slot < s->order_size && s->order[slot] == place + 1) s->order[slot] = 0;
}

void ty_derived_drop(ty_collection *c) {
  struct ty_store *s = c->store;
  atomic_store(&s->ids_ready, false);
  atomic_store(&s->order_ready, false);
  free(s->id_table);
  free(s->order);
  free(s->base_at);
  s->id_table = NULL;
  s->order = NULL;
  s->base_at = NULL;
  s->id_table_size = s->id_table_used = s->order_size = 0;
}

/* ---- By row number: only replay asks -------------------------------------------------------------------------------- */
bool ty_place_of_row(ty_collection *c, uint64_t row, ty_place *out) {
  struct ty_store *s = c->store;
  uint64_t low = 0, high = c->delta.count;
  while (low < high) {
    uint64_t middle = low + (high - low) / 2;
    if (c->delta.row[middle] < row)
      low = middle + 1;
    else
      high = middle;
  }
  if (low < c->delta.count && c->delta.row[low] == row) {
    *out = (ty_place)(c->base.count + low);
    return true;
  }
  if (row < s->first_row || row - s->first_row >= c->base.count) return false;
  if (s->base_at == NULL && (s->base_at = calloc((size_t)c->base.count, sizeof *s->base_at)) != NULL) {
    for (uint64_t at = 0; at < c->base.count; at++) s->base_at[c->base.row[at] - s->first_row] = (ty_place)at;
  }
  if (s->base_at != NULL) {
    *out = s->base_at[row - s->first_row];
    return c->base.row[*out] == row;
  }
  for (uint64_t at = 0; at < c->base.count; at++) { /* without memory for the table: slowly */
    if (c->base.row[at] != row) continue;
    *out = (ty_place)at;
    return true;
  }
  return false;
}

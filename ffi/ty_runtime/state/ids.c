/* Tables over the live rows. None is stored: they are built at the first use, then follow every change.
 *
 * A table that cannot grow for lack of memory is dropped and built again at the next use, so that an update never
 * fails. */
#include <string.h>
#include "rows/vector.h"
#include "state/ids.h"
#include "state/meanings.h"
#include "state/text_sums.h"

/* ---- By id: open addressing, linear probing, at most 3/4 in use ---- */
static uint32_t tag_of(const ty_collection *c, ty_slice id) {
  return (uint32_t)(c->env->kernel->hash64(id.data, (size_t)id.bytes, 0x7479) >> 32);
}

/* A slot's place comes from the tag it holds, so that a table grows without reading the ids, which lie scattered in the
 * files. The rest of the tag still excludes most other ids. */
static void insert(struct ty_state *s, uint32_t tag, uint32_t place_plus_1) {
  ty_id_slot *table = s->id_table.data;
  uint64_t mask = s->id_table_size - 1, slot = tag & mask;
  TY_ASSERT(s->id_table_used < s->id_table_size && (s->id_table_size & mask) == 0);
  TY_ASSERT(place_plus_1 != 0 && place_plus_1 != TY_SLOT_GONE);
  while (table[slot].place != 0 && table[slot].place != TY_SLOT_GONE) slot = (slot + 1) & mask;
  if (table[slot].place == 0) s->id_table_used++;
  table[slot] = (ty_id_slot){tag, place_plus_1};
}

/* An empty table for the live rows and half as many more. The caller frees the old one. */
static bool fresh_table(const ty_collection *c) {
  struct ty_state *s = c->state;
  uint64_t size = 64;
  while (size * 3 / 4 < (c->base.live + c->delta.live) * 3 / 2 + 16) size *= 2;
  ty_spill table = {0};
  if (!ty_spill_grow(ty_dir_of(c), &table, 0, size * sizeof(ty_id_slot))) return false;
  s->id_table = table;
  s->id_table_size = size;
  s->id_table_used = 0;
  return true;
}

static bool build_ids(const ty_collection *c) {
  struct ty_state *s = c->state;
  ty_spill old = s->id_table;
  if (!fresh_table(c)) return false;
  ty_spill_free(c->env, &old);
  ty_unpack u;
  ty_unpack_init(&u);
  for (uint64_t i = 0; i < ty_total_rows(c); i++) {
    ty_ref r = ty_ref_of(c, (ty_place)i);
    if (r.segment->dead[r.at]) continue;
    ty_slice id = ty_row_id(r.segment, r.at, &u);
    insert(s, tag_of(c, id), (ty_place)i + 1);
    /* A base's ids lie side by side, a delta's among the other parts of their rows. The table is written at random:
     * evicted early, nearly every row would map a page of it again. */
    if (r.segment->is_base) ty_touched(c->resident, TY_OF_BASE, id.bytes, TY_RESIDENT_MOST);
    else ty_touched(c->resident, TY_OF_DELTA, ty_payload_bytes(c, &r.segment->payload[r.at]), TY_RESIDENT_MOST);
    ty_touched(c->resident, TY_OF_DERIVED, sizeof(ty_id_slot), TY_RESIDENT_MOST);
  }
  return true;
}

static bool grow_ids(const ty_collection *c) {
  struct ty_state *s = c->state;
  ty_spill old = s->id_table;
  const ty_id_slot *slots = old.data;
  uint64_t size = s->id_table_size;
  if (!fresh_table(c)) return false;
  for (uint64_t i = 0; i < size; i++) {
    if (slots[i].place != 0 && slots[i].place != TY_SLOT_GONE) insert(s, slots[i].tag, slots[i].place);
    ty_touched(c->resident, TY_OF_DERIVED, sizeof *slots * 2, TY_RESIDENT_MOST);
    if ((i + 1) * sizeof *slots % TY_RESIDENT_MOST == 0) ty_spill_evict(c->env, &old);
  }
  ty_spill_free(c->env, &old);
  return true;
}

static ty_status need(const ty_collection *c, _Atomic bool *ready, bool (*build)(const ty_collection *),
                      ty_error *err) {
  if (atomic_load_explicit(ready, memory_order_acquire)) return TY_OK;
  bool built = true;
  pthread_mutex_lock(&c->state->derive);
  if (!atomic_load_explicit(ready, memory_order_relaxed)) {
    built = build(c);
    atomic_store_explicit(ready, built, memory_order_release);
  }
  pthread_mutex_unlock(&c->state->derive);
  return built ? TY_OK
               : ty_fail(err, TY_NO_MEMORY, "out of memory for a table of %llu rows",
                         (unsigned long long)ty_total_rows(c));
}

ty_status ty_ids_need(const ty_collection *c, ty_error *err) { return need(c, &c->state->ids_ready, build_ids, err); }

ty_status ty_find(const ty_collection *c, ty_slice id, ty_ref *out, bool *found, ty_error *err) {
  struct ty_state *s = c->state;
  *found = false;
  if (id.bytes == 0) return TY_OK;
  ty_status status = ty_ids_need(c, err);
  if (status != TY_OK) return status;
  const ty_id_slot *table = s->id_table.data;
  uint32_t tag = tag_of(c, id);
  uint64_t mask = s->id_table_size - 1;
  ty_unpack u;
  ty_unpack_init(&u);
  for (uint64_t slot = tag & mask; table[slot].place != 0; slot = (slot + 1) & mask) {
    ty_id_slot entry = table[slot];
    if (entry.place == TY_SLOT_GONE || entry.tag != tag) continue;
    ty_ref r = ty_ref_of(c, entry.place - 1);
    ty_slice own = ty_row_id(r.segment, r.at, &u);
    if (own.bytes != id.bytes || memcmp(own.data, id.data, (size_t)id.bytes) != 0) continue;
    TY_ASSERT(!r.segment->dead[r.at]);
    *out = r;
    *found = true;
    break;
  }
  return TY_OK;
}

/* Most ids have another bit than those that are sought. */
static uint64_t bit_of(ty_slice id) {
  return (uint64_t)1 << ((id.data[id.bytes - 1] ^ (uint32_t)id.bytes ^ (uint32_t)id.data[0] << 3) & 63);
}

static void look_through(const ty_collection *c, const ty_slice *ids, uint64_t n, ty_ref *out) {
  uint64_t bits = 0;
  for (uint64_t i = 0; i < n; i++)
    if (ids[i].bytes > 0) bits |= bit_of(ids[i]);
  ty_unpack u;
  ty_unpack_init(&u);
  for (uint64_t place = 0; place < ty_total_rows(c); place++) {
    ty_ref r = ty_ref_of(c, (ty_place)place);
    if (r.segment->dead[r.at]) continue;
    ty_slice own = ty_row_id(r.segment, r.at, &u);
    if (r.segment->is_base) ty_touched(c->resident, TY_OF_BASE, own.bytes, TY_RESIDENT_MOST);
    if (own.bytes == 0 || (bits & bit_of(own)) == 0) continue;
    for (uint64_t i = 0; i < n; i++)
      if (own.bytes == ids[i].bytes && memcmp(own.data, ids[i].data, (size_t)own.bytes) == 0) out[i] = r;
  }
}

ty_status ty_find_few(const ty_collection *c, const uint8_t *ids, const uint64_t *ends, uint64_t n, ty_ref *out,
                      ty_error *err) {
  ty_slice each[TY_FEW];
  ty_status status = TY_OK;
  bool found;
  TY_ASSERT(n <= TY_FEW);
  for (uint64_t i = 0; i < n; i++) {
    uint64_t start = i == 0 ? 0 : ends[i - 1];
    each[i] = (ty_slice){ids + start, ends[i] - start};
    out[i] = (ty_ref){NULL, 0};
  }
  if (!atomic_load(&c->state->ids_ready) && !atomic_exchange(&c->state->looked_through, true))
    look_through(c, each, n, out);
  else
    for (uint64_t i = 0; i < n && status == TY_OK; i++) status = ty_find(c, each[i], out + i, &found, err);
  return status;
}

static void id_added(ty_collection *c, ty_place place) {
  struct ty_state *s = c->state;
  if ((s->id_table_used + 1) * 4 > s->id_table_size * 3 && !grow_ids(c)) {
    atomic_store(&s->ids_ready, false);
    return;
  }
  ty_ref r = ty_ref_of(c, place);
  ty_unpack u;
  ty_unpack_init(&u);
  insert(s, tag_of(c, ty_row_id(r.segment, r.at, &u)), place + 1);
  ty_touched(c->resident, TY_OF_DERIVED, TY_SCATTERED_WRITE, TY_RESIDENT_MOST);
}

static void id_died(ty_collection *c, ty_place place) {
  struct ty_state *s = c->state;
  ty_ref r = ty_ref_of(c, place);
  ty_id_slot *table = s->id_table.data;
  uint64_t mask = s->id_table_size - 1;
  ty_unpack u;
  ty_unpack_init(&u);
  for (uint64_t slot = tag_of(c, ty_row_id(r.segment, r.at, &u)) & mask; table[slot].place != 0;
       slot = (slot + 1) & mask) {
    if (table[slot].place != place + 1) continue;
    table[slot].place = TY_SLOT_GONE;
    return;
  }
  /* Only the id of a row in a truncated file is another than it was. */
}

/* ---- By birth: dense from the base's first row on, so an array ---- */
static bool grow_order(const ty_collection *c, uint64_t size) {
  struct ty_state *s = c->state;
  if (size <= s->order_size) return true;
  uint64_t capacity = s->order_size * 2 > size ? s->order_size * 2 : size;
  if (!ty_spill_grow(ty_dir_of(c), &s->order, s->order_size * sizeof(ty_place), capacity * sizeof(ty_place)))
    return false;
  s->order_size = capacity;
  return true;
}

/* Of a truncated file the numbers of rows read as zeros: the slot may be any, and is compared with the size. */
static uint64_t slot_of_birth(const ty_collection *c, ty_ref r) { return r.segment->birth[r.at] - c->store->first_row; }

static bool build_order(const ty_collection *c) {
  struct ty_state *s = c->state;
  if (!grow_order(c, c->next_row - c->store->first_row + 64)) return false;
  ty_place *order = s->order.data;
  memset(order, 0, (size_t)s->order_size * sizeof *order);
  for (uint64_t i = 0; i < ty_total_rows(c); i++) {
    ty_ref r = ty_ref_of(c, (ty_place)i);
    uint64_t slot = slot_of_birth(c, r);
    if (!r.segment->dead[r.at] && slot < s->order_size) order[slot] = (ty_place)i + 1;
  }
  return true;
}

ty_status ty_order_need(const ty_collection *c, ty_error *err) {
  return need(c, &c->state->order_ready, build_order, err);
}

/* ---- How many have a text ---- */
static bool has_text(const ty_collection *c, ty_place place) {
  ty_ref row = ty_ref_of(c, place);
  return !row.segment->dead[row.at] && ty_row_has_text(row.segment, row.at);
}

static bool count_texts(const ty_collection *c) {
  struct ty_state *s = c->state;
  s->texts = 0;
  for (uint64_t i = 0; i < ty_total_rows(c); i++) s->texts += has_text(c, (ty_place)i);
  return true;
}

uint64_t ty_texts(const ty_collection *c) {
  (void)need(c, &c->state->texts_ready, count_texts, NULL);
  return c->state->texts;
}

/* ---- Following changes: under the exclusive lock ---- */
void ty_derived_added(ty_collection *c, ty_place place) {
  struct ty_state *s = c->state;
  s->texts += has_text(c, place);
  if (atomic_load(&s->ids_ready)) id_added(c, place);
  if (!atomic_load(&s->order_ready)) return;
  ty_ref r = ty_ref_of(c, place);
  uint64_t slot = slot_of_birth(c, r);
  if (slot > TY_ROWS_MAX * (uint64_t)2 || !grow_order(c, slot + 1)) atomic_store(&s->order_ready, false);
  else ((ty_place *)s->order.data)[slot] = place + 1;
}

void ty_derived_died(ty_collection *c, ty_place place) {
  struct ty_state *s = c->state;
  s->texts -= has_text(c, place);
  if (atomic_load(&s->ids_ready)) id_died(c, place);
  if (!atomic_load(&s->order_ready)) return;
  ty_ref r = ty_ref_of(c, place);
  uint64_t slot = slot_of_birth(c, r);
  if (slot < s->order_size && ty_order(c)[slot] == place + 1) ((ty_place *)s->order.data)[slot] = 0;
}

void ty_derived_drop(ty_collection *c) {
  struct ty_state *s = c->state;
  atomic_store(&s->ids_ready, false);
  atomic_store(&s->order_ready, false);
  atomic_store(&s->base_at_ready, false);
  atomic_store(&s->texts_ready, false);
  ty_spill_free(c->env, &s->id_table);
  ty_spill_free(c->env, &s->order);
  ty_spill_free(c->env, &s->base_at);
  ty_text_sums_drop(c);
  s->id_table_size = s->id_table_used = s->order_size = 0;
}

/* ---- By row number: for replay, for writing the id map, and for the file of meaning ---- */
/* Without memory the table is not ready. */
static void build_base_at(const ty_collection *c) {
  struct ty_state *s = c->state;
  pthread_mutex_lock(&s->derive); /* a query that builds another table may be evicting this one */
  if (!atomic_load(&s->base_at_ready) &&
      ty_spill_grow(ty_dir_of(c), &s->base_at, 0, c->base.count * sizeof(ty_place))) {
    ty_place *base_at = s->base_at.data;
    for (uint64_t at = 0; at < c->base.count; at++) {
      uint64_t slot = c->base.row[at] - c->store->first_row;
      if (slot < c->base.count) base_at[slot] = (ty_place)at;
    }
    atomic_store(&s->base_at_ready, true);
  }
  pthread_mutex_unlock(&s->derive);
}

bool ty_place_of_row(const ty_collection *c, uint64_t row, ty_place *out) {
  struct ty_state *s = c->state;
  uint64_t low = 0, high = c->delta.count;
  /* Rows that were put one after the other have numbers that are, mostly. */
  if (high > 0 && row >= c->delta.row[0] && row - c->delta.row[0] < high && c->delta.row[row - c->delta.row[0]] == row)
    low = high = row - c->delta.row[0];
  while (low < high) {
    uint64_t middle = low + (high - low) / 2;
    if (c->delta.row[middle] < row) low = middle + 1;
    else high = middle;
  }
  if (low < c->delta.count && c->delta.row[low] == row) {
    *out = (ty_place)(c->base.count + low);
    return true;
  }
  if (row < c->store->first_row || row - c->store->first_row >= c->base.count) return false;
  if (!atomic_load(&s->base_at_ready)) build_base_at(c);
  if (atomic_load(&s->base_at_ready)) {
    const ty_place *base_at = s->base_at.data;
    *out = base_at[row - c->store->first_row];
    return *out < c->base.count && c->base.row[*out] == row;
  }
  for (uint64_t at = 0; at < c->base.count; at++) { /* no memory for the table: a linear search */
    if (c->base.row[at] != row) continue;
    *out = (ty_place)at;
    return true;
  }
  return false;
}

/* The tables derived from the rows, and saved and unsaved operations. */
#include "validate.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "rows/vector.h"
#include "state/ids.h"
#include "state/meanings.h"

/* ---- Derived tables ---- */
/* Every live row is found by its id, so ids are distinct. The table has as many slots as live rows, none of a dead
 * row. */
static ty_status check_id_table(const ty_collection *c, ty_error *err) {
  const struct ty_state *s = c->state;
  const ty_id_slot *table = s->id_table.data;
  uint64_t used = 0, live = 0, total = ty_total_rows(c);
  TY_HOLD((s->id_table_size & (s->id_table_size - 1)) == 0 && s->id_table_used * 4 <= s->id_table_size * 3,
          "the table of ids is fuller than it may be");
  for (uint64_t i = 0; i < s->id_table_size; i++) {
    uint32_t place = table[i].place;
    used += place != 0;
    if (place == 0 || place == TY_SLOT_GONE) continue;
    TY_HOLD(place <= total, "the table of ids names a row that does not exist");
    ty_ref r = ty_ref_of(c, place - 1);
    TY_HOLD(!r.segment->dead[r.at], "the table of ids names a dead row");
    live++;
  }
  TY_HOLD(used == s->id_table_used && live == c->base.live + c->delta.live,
          "the table of ids counts %" PRIu64 " slots of %" PRIu64 ", %" PRIu64 " of live rows", s->id_table_used, used,
          live);
  ty_unpack u;
  ty_unpack_init(&u);
  for (uint64_t i = 0; i < total; i++) {
    ty_ref r = ty_ref_of(c, (ty_place)i), out;
    bool found;
    if (r.segment->dead[r.at]) continue;
    ty_status status = ty_find(c, ty_row_id(r.segment, r.at, &u), &out, &found, err);
    if (status != TY_OK) return status;
    TY_HOLD(found && out.segment == r.segment && out.at == r.at, "row %" PRIu64 " is not found by its id",
            r.segment->row[r.at]);
    ty_touched(c->resident, r.segment->is_base ? TY_OF_BASE : TY_OF_DELTA, TY_SCATTERED, TY_RESIDENT_MOST);
  }
  return TY_OK;
}

/* That ids are distinct, without the collection's table. */
static ty_status check_distinct(const ty_collection *c, uint32_t *slots, uint64_t mask, ty_error *err) {
  ty_unpack u, their;
  ty_unpack_init(&u);
  ty_unpack_init(&their);
  for (uint64_t i = 0; i < ty_total_rows(c); i++) {
    ty_ref r = ty_ref_of(c, (ty_place)i);
    ty_slice id = ty_row_id(r.segment, r.at, &u);
    if (r.segment->dead[r.at]) continue;
    uint64_t slot = c->env->kernel->hash64(id.data, (size_t)id.bytes, 0) & mask;
    for (; slots[slot] != 0; slot = (slot + 1) & mask) {
      ty_ref other = ty_ref_of(c, slots[slot] - 1);
      ty_slice theirs = ty_row_id(other.segment, other.at, &their);
      TY_HOLD(theirs.bytes != id.bytes || memcmp(theirs.data, id.data, (size_t)id.bytes) != 0,
              "rows %" PRIu64 " and %" PRIu64 " are live under one id", other.segment->row[other.at],
              r.segment->row[r.at]);
    }
    slots[slot] = (uint32_t)i + 1;
    ty_touched(c->resident, r.segment->is_base ? TY_OF_BASE : TY_OF_DELTA, id.bytes, TY_RESIDENT_MOST);
  }
  return TY_OK;
}

static ty_status check_ids(const ty_collection *c, ty_error *err) {
  if (atomic_load(&c->state->ids_ready)) return check_id_table(c, err);
  uint64_t size = 64;
  while (size < (c->base.live + c->delta.live) * 2) size *= 2;
  uint32_t *slots = calloc((size_t)size, sizeof *slots);
  ty_status status = slots == NULL ? ty_invalid_memory(err) : check_distinct(c, slots, size - 1, err);
  free(slots);
  return status;
}

ty_status ty_validate_tables(const ty_collection *c, ty_error *err) {
  struct ty_state *s = c->state;
  uint64_t live = 0, wrong = 0;
  ty_status status = check_ids(c, err);
  if (status != TY_OK) return status;
  if (atomic_load(&s->order_ready)) {
    for (uint64_t i = 0; i < s->order_size; i++) {
      ty_place place = ty_order(c)[i];
      if (place == 0) continue;
      TY_HOLD(place <= ty_total_rows(c), "the table of births names a row that does not exist");
      ty_ref r = ty_ref_of(c, place - 1);
      TY_HOLD(!r.segment->dead[r.at] && r.segment->birth[r.at] == c->store->first_row + i,
              "the table of births names a dead row, or one of another birth");
      live++;
    }
    TY_HOLD(live == c->base.live + c->delta.live, "the table of births has %" PRIu64 " live rows", live);
  }
  pthread_mutex_lock(&s->derive); /* another thread may be building it */
  const ty_place *base_at = s->base_at.data;
  for (uint64_t at = 0; base_at != NULL && at < c->base.count; at++)
    wrong += base_at[c->base.row[at] - c->store->first_row] != at;
  pthread_mutex_unlock(&s->derive);
  TY_HOLD(wrong == 0, "the table of row numbers is wrong about %" PRIu64 " rows of the base", wrong);
  return TY_OK;
}

/* ---- Saved and unsaved ---- */
static bool within(const uint8_t *data, uint64_t bytes, const uint8_t *from, uint64_t length) {
  return bytes == 0 || (data >= from && bytes <= length && (uint64_t)(data - from) <= length - bytes);
}

static ty_status check_files(const ty_collection *c, ty_error *err) {
  const ty_files *f = &c->store->files;
  TY_HOLD(c->generation == 0 ? c->base.count == 0 && f->delta_count == 0 : f->base.map != NULL,
          "generation %" PRIu64 " has files that it does not have, or none", c->generation);
  TY_HOLD(c->state->kept_rows <= c->delta.count, "more rows are saved than there are");
  for (uint64_t at = 0; at < c->state->kept_rows; at++) {
    const ty_payload *p = &c->delta.payload[at];
    bool inside = false;
    for (uint32_t i = f->delta_count; i > 0 && !inside; i--) {
      const uint8_t *map = f->deltas[i - 1].map;
      uint64_t bytes = f->deltas[i - 1].bytes;
      inside = within(p->vector, ty_payload_bytes(c, p), map, bytes) && within(p->id.data, p->id.bytes, map, bytes) &&
               within(p->meta.data, p->meta.bytes, map, bytes) && within(p->text.data, p->text.bytes, map, bytes) &&
               within(p->terms.data, p->terms.bytes, map, bytes);
    }
    TY_HOLD(inside, "saved row %" PRIu64 " of the delta lies in no file", at);
  }
  return TY_OK;
}

/* Unsaved operations are those since ty_begin: each put has its row in order, and dead rows are noted. */
static ty_status check_operations(const ty_collection *c, ty_error *err) {
  const struct ty_store *store = c->store;
  const struct ty_state *s = c->state;
  uint64_t ops = 0, died = 0, at = s->kept_rows;
  for (uint32_t i = 0; i < store->chunk_count; i++) {
    const ty_chunk *chunk = &store->chunks[i];
    TY_HOLD(chunk->used <= chunk->memory.bytes, "unsaved operations lie after the end of their memory");
    for (uint64_t offset = i == 0 ? sizeof(ty_block_header) : 0; offset < chunk->used; ops++) {
      const uint8_t *from = (const uint8_t *)chunk->memory.data + offset;
      const ty_operation *op = (const ty_operation *)(const void *)from;
      TY_HOLD(op->bytes >= sizeof *op && op->bytes % TY_ALIGN == 0 && op->bytes <= chunk->used - offset,
              "unsaved operation %" PRIu64 " has no length that it can have", ops);
      offset += op->bytes;
      if (op->kind == TY_OPERATION_ORIGIN) continue;
      died += op->kind == TY_OPERATION_DELETE || op->replaced != TY_NO_ROW;
      if (op->kind == TY_OPERATION_DELETE) continue;
      TY_HOLD(op->kind == TY_OPERATION_PUT && at < c->delta.count && op->row == c->delta.row[at] &&
                  op->updated == c->delta.updated[at] &&
                  c->delta.payload[at].coded == ((op->flags & TY_AS_CODES) != 0) &&
                  c->delta.payload[at].sparse_bytes == op->sparse_bytes &&
                  within(c->delta.payload[at].vector, ty_payload_bytes(c, &c->delta.payload[at]), from, op->bytes),
              "unsaved operation %" PRIu64 " is not of the next row", ops);
      at++;
    }
  }
  TY_HOLD(ops == store->ops && at == c->delta.count, "%" PRIu64 " unsaved operations are counted as %" PRIu64, ops,
          store->ops);
  TY_HOLD(died == s->killed_count, "%" PRIu64 " rows died, of which %" PRIu64 " are noted", died, s->killed_count);
  for (uint64_t i = 0; i < s->killed_count; i++) {
    TY_HOLD(s->killed[i] < ty_total_rows(c), "a row that died is noted and is not there");
    ty_ref r = ty_ref_of(c, s->killed[i]);
    TY_HOLD(r.segment->dead[r.at], "a row is noted as dead and is not");
  }
  return TY_OK;
}

static ty_status check_change(const ty_collection *c, ty_error *err) {
  const struct ty_store *store = c->store;
  const struct ty_state *s = c->state;
  bool writing = atomic_load(&s->writing);
  TY_HOLD((store->lock_fd >= 0) == writing, "the writer's lock is %s",
          writing ? "not held during a change" : "held without a change");
  TY_HOLD(s->killed_count <= s->killed_capacity && s->kept_rows <= c->delta.count &&
              c->next_row - s->kept_next_row == c->delta.count - s->kept_rows,
          "a change remembers another state than it began with");
  TY_HOLD(writing || (store->ops == 0 && s->killed_count == 0 && s->kept_rows == c->delta.count && !s->changed),
          "something is unsaved and no change is under way");
  return check_operations(c, err);
}

/* Unsaved operations belong to the change and are not checked while one of its calls is running. */
ty_status ty_validate_saved(const ty_collection *c, ty_error *err) {
  ty_status status = check_files(c, err);
  if (status != TY_OK || pthread_mutex_trylock(&c->state->change) != 0) return status;
  status = check_change(c, err);
  pthread_mutex_unlock(&c->state->change);
  return status;
}

/* ---- Vectors of meaning ---- */
ty_status ty_validate_meaning(const ty_collection *c, ty_error *err) {
  const ty_meaning_view view = ty_meaning_view_of(c);
  const uint64_t bytes = c->store->files.meaning.bytes;
  uint64_t live = 0;
  TY_HOLD(view.places <= ty_total_rows(c), "vectors of meaning are of %" PRIu64 " rows", view.places);
  for (uint64_t place = 0; place < view.places; place++) {
    const uint64_t at = (uint64_t)view.at[place] * TY_MEANING_STEP;
    if (at == 0) continue;
    TY_HOLD(at % TY_MEANING_STEP == 0 && at + sizeof(ty_meaning_record) <= bytes,
            "the vector of meaning of place %" PRIu64 " lies outside of its file", place);
    ty_ref row = ty_ref_of(c, (ty_place)place);
    const ty_meaning_record *r = (const ty_meaning_record *)(const void *)(view.base + at);
    TY_HOLD(r->row == row.segment->row[row.at] && ty_meaning_is_valid(r),
            "the vector of meaning of place %" PRIu64 " is another row's", place);
    live += !row.segment->dead[row.at];
  }
  TY_HOLD(view.at == NULL || live == c->meaning->live, "%" PRIu64 " live rows have vectors of meaning, not %" PRIu64,
          live, c->meaning->live);
  return TY_OK;
}

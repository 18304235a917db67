/* From the operations of a delta to its rows. */
#include "state/state.h"
#include "state/replay.h"

#include <stdlib.h>
#include <string.h>

#include "disk/delta.h"
#include "disk/operations.h"
#include "lexical/lexical.h"
#include "os/arena.h"
#include "rows/sparse.h"
#include "rows/vector.h"
#include "state/ids.h"

/* Rows whose vertical codes are put together, from a position in the delta that is a multiple of it: one after the
 * other, each writes a byte into a line of every dimension, half of the time of an open. */
#define TOGETHER 16u

/* Scratch memory. */
typedef struct replay {
  ty_coded coded; /* of the last `waiting` rows of the delta, whose lines are not put yet; room for TOGETHER */
  uint64_t waiting;
  bool makes_sparse;
  float *decoded;  /* a row */
  uint8_t *stored; /* a row with its zeros */
} replay;

static void put_lines(ty_collection *c, replay *r) {
  ty_delta_lines(c, &r->coded, c->delta.count - r->waiting, r->waiting);
  r->waiting = 0;
  if (r->makes_sparse) ty_delta_sparse_loaded(c);
}

/* Whether the blocks of a delta have the times of rows and saves, and origins. */
static bool is_timed(const ty_file *file) {
  return ((const ty_slab_header *)(const void *)file->map)->version >= TY_SLAB_VERSION;
}

/* `op` is a copy: the file may be cut off between two looks at it. */
static ty_status replay_put(ty_collection *c, const ty_file *file, uint64_t offset, const ty_operation *op, replay *r,
                            ty_error *err) {
  const uint8_t *at = file->map + offset;
  const ame_kernel *k = c->env->kernel;
  uint32_t flags = TY_HAS_META | TY_HAS_TEXT | (c->dtype == TY_F32 ? TY_AS_CODES : 0) |
                   (is_timed(file) ? TY_PUT_SPARSE : 0) |
                   (op->replaced == TY_NO_ROW && is_timed(file) ? TY_HAS_CREATED : 0);
  if (op->row != c->next_row || (op->flags & ~flags) != 0 || (!(op->flags & TY_HAS_META) && op->meta_bytes > 0) ||
      (!(op->flags & TY_HAS_TEXT) && op->text_bytes > 0))
    return ty_damaged(file, "a row is malformed", offset, err);
  ty_place victim = 0;
  uint64_t birth = op->row, created = ty_put_created(c, op, at);
  if (op->replaced != TY_NO_ROW) {
    if (!ty_place_of_row(c, op->replaced, &victim))
      return ty_damaged(file, "a row replaces one that does not exist", offset, err);
    ty_ref old = ty_ref_of(c, victim);
    if (old.segment->dead[old.at]) return ty_damaged(file, "a row replaces one that is gone", offset, err);
    birth = old.segment->birth[old.at];
    created = ty_row_times(old.segment, old.at).created;
  }
  if (op->updated < created || op->updated > TY_TIME_MAX)
    return ty_damaged(file, "a row was updated when it cannot have been", offset, err);
  ty_slice keys[TY_MAX_COLUMNS];
  uint32_t key_codes[TY_MAX_COLUMNS];
  if (!ty_put_keys(c, op, at, keys)) return ty_damaged(file, "a row's filter values are malformed", offset, err);
  ty_status status = ty_delta_reserve(c, 1, true, err);
  if (status == TY_OK) status = ty_kill_reserve(c, 1, err);
  if (status != TY_OK) return status;
  for (uint32_t i = 0; i < c->columns; i++) {
    key_codes[i] = ty_dict_intern(&c->dicts[i], k, keys[i]);
    if (key_codes[i] == TY_NO_CODE) return ty_fail(err, TY_NO_MEMORY, "out of memory reading %s", file->name);
  }
  ty_new_row row = {.row = op->row,
                    .birth = birth,
                    .times = {created, op->updated},
                    .codes = key_codes,
                    .payload = ty_put_payload(c, op, at)};
  const ty_dtype form = ty_form_of(c, row.payload.coded);
  const ty_slice sparse = {row.payload.vector, row.payload.sparse_bytes};
  if (sparse.bytes > 0 && !ty_sparse_good(sparse, c->dim))
    return ty_damaged(file, "a row's vector is malformed", offset, err);
  const uint8_t *stored = ty_payload_stored(c, &row.payload, r->stored);
  const float *decoded = ty_screen_reads_row(&r->coded, form) ? ty_vector_decode(c, form, stored, r->decoded) : NULL;
  if (!ty_vector_good(c, form, stored, decoded)) return ty_damaged(file, "a row's vector is malformed", offset, err);
  ty_vector_screen(c, form, stored, decoded, 1, &r->coded, r->waiting);
  if (op->replaced != TY_NO_ROW) ty_kill(c, victim);
  ty_delta_push(c, &row, &r->coded, r->waiting++);
  if (c->delta.count % TOGETHER == 0) put_lines(c, r);
  c->next_row++;
  ty_derived_added(c, (ty_place)(c->base.count + c->delta.count - 1));
  return TY_OK;
}

static ty_status replay_delete(ty_collection *c, const ty_file *file, uint64_t offset, const ty_operation *op,
                               ty_error *err) {
  ty_place victim;
  if (!ty_place_of_row(c, op->row, &victim))
    return ty_damaged(file, "a row is deleted that does not exist", offset, err);
  ty_ref old = ty_ref_of(c, victim);
  if (old.segment->dead[old.at]) return ty_damaged(file, "a row is deleted twice", offset, err);
  ty_status status = ty_kill_reserve(c, 1, err);
  if (status == TY_OK) ty_kill(c, victim);
  return status;
}

static ty_status replay_origin(ty_collection *c, const ty_file *file, uint64_t offset, uint64_t end,
                               const ty_operation *op, ty_error *err) {
  if (!is_timed(file) || op->bytes != end - offset || op->flags != 0 || op->row != 0 || op->replaced != TY_NO_ROW ||
      op->updated != 0 || op->id_bytes + op->meta_bytes + op->terms_bytes + op->keys_bytes != 0)
    return ty_damaged(file, "the origin of a save is malformed", offset, err);
  ty_buffer *last = &c->store->last_origin;
  last->bytes = 0;
  ty_buffer_append(last, file->map + offset + sizeof *op, op->text_bytes);
  if (!last->failed) return TY_OK;
  ty_buffer_free(last);
  return ty_fail(err, TY_NO_MEMORY, "out of memory reading %s", file->name);
}

ty_status ty_delta_replay(ty_collection *c, const ty_file *file, uint64_t from, bool makes_sparse, ty_block_span *span,
                          ty_error *err) {
  const ame_kernel *k = c->env->kernel;
  uint64_t at = from == 0 ? sizeof(ty_slab_header) : from, to = file->bytes;
  uint64_t first = c->delta.count;
  ty_arena memory = {0};
  replay r = {.makes_sparse = makes_sparse, .decoded = ty_arena_take(&memory, c->dim, sizeof *r.decoded)};
  r.stored = ty_arena_take(&memory, ty_form_bytes(TY_INT8, c->dim), 1);
  ty_status status = memory.failed ? ty_fail(err, TY_NO_MEMORY, "out of memory reading %s", file->name)
                                   : ty_coded_open(&r.coded, c, TOGETHER, err);
  while (at < to && status == TY_OK) {
    ty_block_header b;
    if (at % TY_ALIGN != 0 || ty_block_find(k, file, TY_BLOCK_MAGIC, at, to, &b) != at || b.first_row != c->next_row ||
        !ty_all_zero(b.reserved, sizeof b.reserved) || b.time > (is_timed(file) ? TY_TIME_MAX : 0)) {
      status = ty_damaged(file, "a block is malformed", at, err);
      break;
    }
    if (b.generation <= span->above || b.generation > span->most) {
      status = ty_damaged(file, "a block is not of the save that comes next", at, err);
      break;
    }
    span->above = b.generation;
    at += sizeof b;
    uint64_t end = at + b.payload_bytes, ops = 0;
    for (; at < end && status == TY_OK; ops++) {
      ty_operation op;
      if (!ty_operation_get(c, file->map + at, end - at, &op)) {
        status = ty_damaged(file, "an operation is malformed", at, err);
        break;
      }
      switch (op.kind) {
      case TY_OPERATION_PUT: status = replay_put(c, file, at, &op, &r, err); break;
      case TY_OPERATION_DELETE: status = replay_delete(c, file, at, &op, err); break;
      default: status = replay_origin(c, file, at, end, &op, err);
      }
      at += op.bytes;
      ty_touched(c->resident, TY_OF_DELTA, op.bytes, TY_RESIDENT_MOST);
    }
    if (status == TY_OK && ops != b.ops)
      status = ty_damaged(file, "a block has another number of operations than its header", at, err);
    if (status == TY_OK) c->store->blocks++;
  }
  put_lines(c, &r);
  ty_coded_free(&r.coded);
  ty_arena_free(&memory);
  if (c->lexical_index != NULL && c->delta.count > first) ty_lexical_added(c->lexical_index, first);
  return status;
}

/* Reads the operations in memory, not the mapping, which would become resident. */
void ty_delta_settle(ty_collection *c, const ty_file *file, uint64_t from, uint64_t at) {
  const struct ty_store *s = c->store;
  const uint8_t *to = file->map + from;
  for (uint32_t i = 0; i < s->chunk_count; i++) {
    const uint8_t *data = s->chunks[i].memory.data;
    for (uint64_t offset = i == 0 ? sizeof(ty_block_header) : 0; offset < s->chunks[i].used;) {
      const ty_operation *op = (const ty_operation *)(const void *)(data + offset);
      TY_ASSERT(op->bytes >= sizeof *op && op->bytes <= s->chunks[i].used - offset && at <= c->delta.count);
      if (op->kind == TY_OPERATION_PUT) c->delta.payload[at++] = ty_put_payload(c, op, to + offset);
      offset += op->bytes;
      ty_touched(c->resident, TY_OF_DELTA, sizeof(ty_payload), TY_RESIDENT_MOST);
      ty_touched(c->resident, TY_OF_OPERATIONS, op->bytes, TY_RESIDENT_MOST);
    }
    to += s->chunks[i].used;
  }
  TY_ASSERT(at == c->delta.count);
}

static void shift(ty_slice *s, const uint8_t *from, const uint8_t *to) {
  if (s->data != NULL) s->data = to + (s->data - from);
}

ty_status ty_delta_remap(ty_collection *c, ty_file *file, uint64_t bytes, ty_error *err) {
  if (file->map != NULL && bytes <= file->mapped) return TY_OK;
  ty_file fresh = *file;
  fresh.map = NULL;
  ty_status status = ty_file_map(c, &fresh, bytes - fresh.bytes + ty_room_ahead(bytes), err);
  if (status != TY_OK) return status;
  if (file->map != NULL && (fresh.device != file->device || fresh.inode != file->inode)) {
    ty_file_unmap(c, &fresh);
    return ty_fail(err, TY_CORRUPT, "%s is another file than the one that was opened", file->name);
  }
  uint64_t length = file->map == NULL ? 0 : file->mapped;
  for (uint64_t i = 0; i < c->delta.count && length > 0; i++) {
    ty_payload *p = &c->delta.payload[i];
    const uint8_t *vector = p->vector;
    if ((uintptr_t)vector - (uintptr_t)file->map >= length) continue;
    p->vector = fresh.map + (vector - file->map);
    shift(&p->id, file->map, fresh.map);
    shift(&p->meta, file->map, fresh.map);
    shift(&p->text, file->map, fresh.map);
    shift(&p->terms, file->map, fresh.map);
  }
  ty_file_unmap(c, file);
  *file = fresh;
  return TY_OK;
}

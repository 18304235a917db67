#include "state/history.h"

#include <stdlib.h>
#include <string.h>

#include "disk/operations.h"
#include "rows/checks.h"
#include "rows/vector.h"
#include "state/ids.h"

#define DAY_MS ((uint64_t)24 * 60 * 60 * 1000)
#define NONE   UINT32_MAX

/* A save of a delta. Its origin lies in that delta, or, of unsaved changes, in memory. */
struct ty_past_block {
  uint64_t save, time, first, end; /* first and end among the changes of the deltas */
  uint32_t added, replaced, deleted;
  uint32_t origin_delta, origin_bytes;
  uint64_t origin_at;
};
typedef struct ty_past_block ty_past_block;
#define STAGED UINT32_MAX

/* A change of the deltas. `place` is the row before it; of an added row it is that row, which has the id. */
struct ty_past_change {
  ty_place place;
  uint32_t kind; /* TY_CHANGE_... */
};
typedef struct ty_past_change ty_past_change;

/* A block that is read, and which change each of its rows belongs to: a row that the block itself replaces or deletes
 * was never saved. */
typedef struct reader {
  const ty_collection *c;
  ty_past_memory *m;
  ty_past_block block;
  uint64_t first_row;
  ty_buffer change_of; /* u32 by row - first_row: index in m->changes, or NONE */
} reader;

/* Whether a row has terms and no text that they could be made of again: it cannot be put back. */
static bool has_no_stored_text(const ty_collection *c, ty_place place) {
  ty_ref row = ty_ref_of(c, place);
  return !ty_row_has_text(row.segment, row.at) &&
         (ty_row_has_terms(row.segment, row.at) || ty_row_terms(row.segment, row.at).bytes > 0);
}

static ty_past_change *changes_of(const reader *r) { return (ty_past_change *)(void *)r->m->changes.data; }

static void add_change(reader *r, ty_place place, uint32_t kind, bool of_put) {
  uint32_t index = NONE;
  const ty_past_change change = {place, kind};
  if (!has_no_stored_text(r->c, place)) {
    index = (uint32_t)(r->m->changes.bytes / sizeof change);
    ty_buffer_append(&r->m->changes, &change, sizeof change);
  }
  if (of_put) ty_buffer_append(&r->change_of, &index, sizeof index);
}

/* The change that a row of this block belongs to, for another one of this block that takes its place. */
static uint32_t taken(const reader *r, uint64_t row) {
  const uint64_t i = row - r->first_row;
  return i < r->change_of.bytes / sizeof(uint32_t) ? ((const uint32_t *)(const void *)r->change_of.data)[i] : NONE;
}

static ty_status take_put(reader *r, const ty_operation *op, ty_error *err) {
  ty_place put, before;
  if (!ty_place_of_row(r->c, op->row, &put)) return ty_fail(err, TY_CORRUPT, "a saved row is not in memory");
  if (op->replaced == TY_NO_ROW) {
    add_change(r, put, TY_CHANGE_ADDED, true);
  } else if (op->replaced < r->first_row) {
    if (!ty_place_of_row(r->c, op->replaced, &before))
      return ty_fail(err, TY_CORRUPT, "a replaced row is not in memory");
    add_change(r, before, TY_CHANGE_REPLACED, true);
  } else {
    const uint32_t index = taken(r, op->replaced);
    ty_buffer_append(&r->change_of, &index, sizeof index);
    if (index != NONE && changes_of(r)[index].kind == TY_CHANGE_ADDED) changes_of(r)[index].place = put;
  }
  return TY_OK;
}

static ty_status take_delete(reader *r, const ty_operation *op, ty_error *err) {
  ty_place before;
  if (op->row < r->first_row) {
    if (!ty_place_of_row(r->c, op->row, &before)) return ty_fail(err, TY_CORRUPT, "a deleted row is not in memory");
    add_change(r, before, TY_CHANGE_DELETED, false);
    return TY_OK;
  }
  const uint32_t index = taken(r, op->row);
  if (index == NONE) return TY_OK;
  ty_past_change *change = &changes_of(r)[index];
  /* Added and deleted by the same save: kind 0, dropped at its end. */
  change->kind = change->kind == TY_CHANGE_ADDED ? 0 : TY_CHANGE_DELETED;
  return TY_OK;
}

/* An empty object, which a save without an origin writes, says as much as none. */
static uint32_t known_origin(const uint8_t *data, uint64_t bytes) {
  return bytes == 2 && memcmp(data, "{}", 2) == 0 ? 0 : (uint32_t)bytes;
}

static ty_status out_of_memory(const reader *r, ty_error *err) {
  const bool failed = r->m->saves.failed || r->m->changes.failed || r->change_of.failed;
  return failed ? ty_fail(err, TY_NO_MEMORY, "out of memory for the history") : TY_OK;
}

/* An operation that lies at `data`, at the offset `at` of its file. */
static ty_status take_operation(reader *r, const ty_operation *op, const uint8_t *data, uint64_t at, ty_error *err) {
  ty_status status = TY_OK;
  switch (op->kind) {
  case TY_OPERATION_PUT: status = take_put(r, op, err); break;
  case TY_OPERATION_DELETE: status = take_delete(r, op, err); break;
  default:
    r->m->origin_delta = r->m->delta;
    r->m->origin_at = at + sizeof *op;
    r->m->origin_bytes = known_origin(data + sizeof *op, op->text_bytes);
  }
  /* At once: a later operation of this block would look for the change that is not there. */
  return status == TY_OK ? out_of_memory(r, err) : status;
}

static void begin_block(reader *r, uint64_t save, uint64_t time, uint64_t first_row) {
  r->block = (ty_past_block){.save = save, .time = time, .first = r->m->changes.bytes / sizeof(ty_past_change)};
  r->first_row = first_row;
  r->change_of.bytes = 0;
}

static void end_block(reader *r) {
  ty_past_memory *m = r->m;
  ty_past_change *changes = changes_of(r);
  const uint64_t end = m->changes.bytes / sizeof *changes;
  uint64_t to = r->block.first;
  if (m->changes.failed) return;
  for (uint64_t i = to; i < end; i++) {
    if (changes[i].kind == 0) continue;
    r->block.added += changes[i].kind == TY_CHANGE_ADDED;
    r->block.replaced += changes[i].kind == TY_CHANGE_REPLACED;
    r->block.deleted += changes[i].kind == TY_CHANGE_DELETED;
    changes[to++] = changes[i];
  }
  m->changes.bytes = to * sizeof *changes;
  r->block.end = to;
  r->block.origin_delta = m->origin_delta;
  r->block.origin_at = m->origin_at;
  r->block.origin_bytes = m->origin_bytes;
  if (to > r->block.first) ty_buffer_append(&m->saves, &r->block, sizeof r->block);
}

/* Reads the block at m->at. The blocks were compared when the delta was replayed. */
static ty_status read_block(reader *r, const ty_file *file, ty_error *err) {
  uint64_t at = r->m->at;
  ty_block_header h;
  ty_status status = TY_OK;
  if (file->bytes - at < sizeof h) return ty_damaged(file, "a block is malformed", at, err);
  memcpy(&h, file->map + at, sizeof h);
  at += sizeof h;
  if (h.payload_bytes > file->bytes - at) return ty_damaged(file, "a block is malformed", at, err);
  const uint64_t end = at + h.payload_bytes;
  begin_block(r, h.generation, h.time, h.first_row);
  while (at < end && status == TY_OK) {
    ty_operation op;
    if (!ty_operation_get(r->c, file->map + at, end - at, &op))
      return ty_damaged(file, "an operation is malformed", at, err);
    status = take_operation(r, &op, file->map + at, at, err);
    at += op.bytes;
  }
  if (status != TY_OK) return status;
  end_block(r);
  r->m->at = end;
  return out_of_memory(r, err);
}

static void memory_free(ty_past_memory *m) {
  ty_buffer_free(&m->saves);
  ty_buffer_free(&m->changes);
  *m = (ty_past_memory){0};
}

/* Reads the blocks that were saved since the last call. */
static ty_status read_deltas(const ty_collection *c, ty_error *err) {
  const ty_files *files = &c->store->files;
  ty_past_memory *m = &c->state->past;
  reader r = {.c = c, .m = m};
  ty_status status = TY_OK;
  while (m->delta < files->delta_count && status == TY_OK) {
    const ty_file *file = &files->deltas[m->delta];
    if (m->at < sizeof(ty_slab_header)) m->at = sizeof(ty_slab_header);
    while (m->at < file->bytes && status == TY_OK) {
      const uint64_t before = m->at;
      status = read_block(&r, file, err);
      ty_touched(c->resident, TY_OF_DELTA, m->at - before, TY_RESIDENT_MOST);
    }
    if (status != TY_OK || m->delta + 1 == files->delta_count) break; /* the last one grows */
    m->delta++;
    m->at = 0;
  }
  ty_buffer_free(&r.change_of);
  if (status != TY_OK) memory_free(m);
  return status;
}

/* A copy of what the deltas have, and the unsaved changes. */
static ty_status read_staged(ty_past *p, ty_error *err) {
  const ty_collection *c = p->c;
  const struct ty_store *s = c->store;
  ty_past_memory *m = &p->staged;
  const ty_past_memory *saved = &c->state->past;
  reader r = {.c = c, .m = m};
  ty_buffer_append(&m->saves, saved->saves.data, saved->saves.bytes);
  ty_buffer_append(&m->changes, saved->changes.data, saved->changes.bytes);
  begin_block(&r, c->generation + 1, p->now, c->state->kept_next_row);
  m->origin_delta = STAGED;
  m->origin_bytes = known_origin(s->origin.data, s->origin.bytes);
  ty_status status = out_of_memory(&r, err);
  for (uint32_t i = 0; i < s->chunk_count && status == TY_OK; i++) {
    const uint8_t *data = s->chunks[i].memory.data;
    for (uint64_t at = i == 0 ? sizeof(ty_block_header) : 0; at < s->chunks[i].used && status == TY_OK;) {
      ty_operation op;
      memcpy(&op, data + at, sizeof op);
      if (op.kind != TY_OPERATION_ORIGIN) status = take_operation(&r, &op, data + at, at, err);
      at += op.bytes;
    }
  }
  if (status == TY_OK) end_block(&r);
  ty_buffer_free(&r.change_of);
  return status == TY_OK ? out_of_memory(&r, err) : status;
}

static ty_status open_file(ty_past *p, ty_error *err) {
  const ty_collection *c = p->c;
  const ty_file *file = &c->store->files.history;
  ty_error why;
  if (file->name[0] == 0) return TY_OK;
  if (file->map == NULL)
    return ty_fail(err, TY_CORRUPT, "%s is damaged or missing: the history cannot be read", file->name);
  const bool compare = !atomic_load(&c->store->history_compared);
  ty_status status = ty_history_view_open(c, file, compare, &p->file, &why);
  if (status == TY_OK) atomic_store(&c->store->history_compared, true);
  if (status == TY_CORRUPT) {
    ty_damage d = ty_damage_of(file->name, TY_PART_HISTORY, 0, 0, file->bytes, why.message);
    ty_damage_note(c, &d);
  }
  if (status != TY_OK && err != NULL) *err = why;
  return status;
}

static ty_status past_open(const ty_collection *c, bool file, bool staged, ty_past *out, ty_error *err) {
  const ty_history_rule rule = c->history;
  const uint64_t now = c->env->os.now(&c->env->os), age = rule.days < UINT32_MAX ? rule.days * DAY_MS : UINT64_MAX;
  ty_past *p = out;
  *p = (ty_past){.c = c, .now = now > TY_TIME_MAX ? TY_TIME_MAX : now};
  if (rule.days == 0) return TY_OK;
  ty_status status = file ? open_file(p, err) : TY_OK;
  if (status != TY_OK) return status;
  pthread_mutex_lock(&c->state->past_lock);
  status = read_deltas(c, err);
  pthread_mutex_unlock(&c->state->past_lock);
  if (status == TY_OK && staged) status = read_staged(p, err);
  if (status != TY_OK) return status;
  const ty_past_memory *m = staged ? &p->staged : &c->state->past;
  p->blocks = (const ty_past_block *)(const void *)m->saves.data;
  p->changes = (const ty_past_change *)(const void *)m->changes.data;
  p->save_count = p->file.save_count + m->saves.bytes / sizeof(ty_past_block);
  p->change_count = p->file.change_count + m->changes.bytes / sizeof(ty_past_change);
  /* Only the oldest: after a clock that was set back, a younger save may have an older time. */
  while (p->from < p->save_count && now > age && ty_past_save_at(p, p->from).time < now - age) p->from++;
  return TY_OK;
}

ty_status ty_past_open(const ty_collection *c, bool staged, ty_past *out, ty_error *err) {
  return past_open(c, true, staged, out, err);
}

ty_status ty_past_open_readable(const ty_collection *c, bool staged, ty_past *out, ty_error *err) {
  ty_status status = past_open(c, true, staged, out, err);
  if (status != TY_CORRUPT) return status;
  ty_past_close(out);
  return past_open(c, false, staged, out, err);
}

void ty_past_close(ty_past *p) { memory_free(&p->staged); }

void ty_past_forget(ty_collection *c) { memory_free(&c->state->past); }

/* A save of a delta of version 7 has no time: it was not later than the next one. */
static uint64_t time_of(const ty_past *p, uint64_t block) {
  for (const uint64_t end = p->save_count - p->file.save_count; block < end; block++)
    if (p->blocks[block].time != 0) return p->blocks[block].time;
  return p->now;
}

static ty_slice origin_of(const ty_past *p, const ty_past_block *block) {
  const struct ty_store *s = p->c->store;
  if (block->origin_bytes == 0) return (ty_slice){0};
  if (block->origin_delta == STAGED) return (ty_slice){s->origin.data, s->origin.bytes};
  return (ty_slice){s->files.deltas[block->origin_delta].map + block->origin_at, block->origin_bytes};
}

ty_past_save ty_past_save_at(const ty_past *p, uint64_t i) {
  const ty_history_view *v = &p->file;
  TY_ASSERT(i < p->save_count);
  if (i >= v->save_count) {
    const ty_past_block *b = &p->blocks[i - v->save_count];
    return (ty_past_save){.save = b->save,
                          .time = time_of(p, i - v->save_count),
                          .first = v->change_count + b->first,
                          .end = v->change_count + b->end,
                          .added = b->added,
                          .replaced = b->replaced,
                          .deleted = b->deleted,
                          .origin = origin_of(p, b)};
  }
  const ty_history_save *s = &v->saves[i];
  /* In bounds also where the file was cut off since. */
  const uint64_t first = i == 0 ? 0 : s[-1].end, end = s->end;
  return (ty_past_save){.save = s->save,
                        .time = s->time,
                        .first = first < v->change_count ? first : v->change_count,
                        .end = end < v->change_count ? end : v->change_count,
                        .added = s->added,
                        .replaced = s->replaced,
                        .deleted = s->deleted,
                        .origin = ty_history_origin(v, s)};
}

uint64_t ty_past_save_of(const ty_past *p, uint64_t change, uint64_t from) {
  uint64_t to = p->save_count;
  while (to - from > 1) {
    const uint64_t middle = from + (to - from) / 2;
    if (ty_past_save_at(p, middle).first <= change) from = middle;
    else to = middle;
  }
  return from;
}

static const ty_past_change *delta_change(const ty_past *p, uint64_t change) {
  return &p->changes[change - p->file.change_count];
}

uint32_t ty_past_kind(const ty_past *p, uint64_t change) {
  TY_ASSERT(change < p->change_count);
  return change < p->file.change_count ? p->file.changes[change].kind : delta_change(p, change)->kind;
}

ty_slice ty_past_id(const ty_past *p, uint64_t change, ty_unpack *u) {
  if (change < p->file.change_count) return ty_history_id(&p->file, change);
  ty_ref row = ty_ref_of(p->c, delta_change(p, change)->place);
  return ty_row_id(row.segment, row.at, u);
}

/* A vector in any form; the codes that a row is gathered into follow. */
static uint64_t form_room(const ty_collection *c) { return ty_align_up(c->dim * sizeof(float) + TY_LEVELS_BYTES); }

/* A row of a segment. */
static bool segment_row(const ty_collection *c, ty_ref row, ty_unpack *metas, ty_text_reader *texts, uint8_t *vector,
                        ty_history_parts *out) {
  const ty_segment *s = row.segment;
  bool has_meta, has_text;
  if (!ty_meta_intact(s, row.at) || !ty_text_intact(s, row.at)) return false;
  *out = (ty_history_parts){.times = ty_row_times(s, row.at)};
  out->meta = ty_row_meta(s, row.at, metas, &has_meta);
  out->text = ty_row_text(s, row.at, texts, &has_text);
  out->flags = (has_meta ? TY_HAS_META : 0) | (has_text ? TY_HAS_TEXT : 0);
  if (metas->damaged || texts->damaged || texts->text.failed) return false;
  if (!ty_vector_intact(c, s, row.at)) return false;
  if (vector == NULL) return true;
  const bool codes = c->dtype == TY_F32 && ty_row_is_codes(c, s, row.at);
  int8_t *scratch = (int8_t *)vector + form_room(c);
  if (codes) ty_row_codes(c, s, row.at, scratch, vector);
  else ty_row_stored(c, s, row.at, scratch, vector);
  out->vector = (ty_slice){vector, ty_form_bytes(ty_form_of(c, codes), c->dim)};
  out->flags |= codes ? TY_AS_CODES : 0;
  return true;
}

uint8_t *ty_past_scratch(const ty_collection *c) {
  return aligned_alloc(TY_ALIGN, (size_t)(form_room(c) + AME_CODE_STRIDE(c->dim)));
}

bool ty_past_row(const ty_past *p, uint64_t change, ty_unpack *metas, ty_text_reader *texts, uint8_t *vector,
                 ty_history_parts *out) {
  TY_ASSERT(ty_past_kind(p, change) != TY_CHANGE_ADDED);
  if (change >= p->file.change_count)
    return segment_row(p->c, ty_ref_of(p->c, delta_change(p, change)->place), metas, texts, vector, out);
  return ty_history_row_read(p->c, ty_history_bytes(&p->file, change), p->file.changes[change].row_crc, out);
}

ty_status ty_past_vector(const ty_past *p, uint64_t change, uint8_t *scratch, uint8_t *out, ty_error *err) {
  const ty_collection *c = p->c;
  if (change >= p->file.change_count) {
    ty_ref row = ty_ref_of(c, delta_change(p, change)->place);
    if (!ty_vector_intact(c, row.segment, row.at)) return ty_row_damaged(c, row.segment, row.at, TY_PART_VECTORS, err);
    ty_row_stored(c, row.segment, row.at, (int8_t *)scratch, out);
    return TY_OK;
  }
  ty_history_parts row;
  ty_unpack none;
  ty_unpack_init(&none);
  ty_text_reader no_text = {0}; /* a row of the file has its text as it is */
  if (ty_past_row(p, change, &none, &no_text, NULL, &row) && ty_history_vector(c, &row, scratch, out)) return TY_OK;
  return ty_damaged(p->file.file, "a row of the history is damaged", p->file.changes[change].row_end, err);
}

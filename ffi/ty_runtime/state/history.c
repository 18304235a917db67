#include "state/history.h"

#include <stdlib.h>
#include <string.h>

#include "disk/json.h"
#include "disk/operations.h"
#include "disk/schema.h"
#include "rows/checks.h"
#include "rows/vector.h"
#include "state/ids.h"

#define DAY_MS  ((uint64_t)24 * 60 * 60 * 1000)
#define DAYS    30u
#define PERCENT 25u
#define NONE    UINT32_MAX

ty_history_rule ty_history_rule_of(const ty_collection *c) {
  ty_history_rule rule = {DAYS, PERCENT};
  ty_schema schema;
  ty_json_walk notes, walk;
  ty_slice name, note, key, value;
  if (ty_schema_read((ty_slice){c->schema.data, c->schema.bytes}, &schema, NULL) != TY_OK ||
      schema.members[TY_KEY_NOTES].data == NULL || !ty_json_walk_start(&notes, schema.members[TY_KEY_NOTES], true))
    return rule;
  while (ty_json_walk_next(&notes, &name, &note)) {
    if (!ty_json_is(name, "history") || !ty_json_walk_start(&walk, note, true)) continue;
    while (ty_json_walk_next(&walk, &key, &value)) {
      uint64_t n;
      if (!ty_json_u64(value, &n)) continue;
      if (ty_json_is(key, "days")) rule.days = n;
      if (ty_json_is(key, "percent")) rule.percent = n;
    }
  }
  return rule;
}

/* ---- Blocks of operations ---- */

/* A block that is read: which change each of its rows belongs to, so that a row that it replaces or deletes itself is
 * no change. */
typedef struct block {
  ty_past *p;
  ty_past_save save;
  uint64_t first_row;
  ty_buffer change_of; /* u32 by row - first_row: index in p->changes, or NONE */
} block;

/* Whether a row has terms and no text that they could be made of again: it cannot be put back. */
static bool is_of_file(const ty_collection *c, ty_place place) {
  ty_ref row = ty_ref_of(c, place);
  bool present;
  (void)ty_row_text(row.segment, row.at, &present);
  return !present && (ty_row_has_terms(row.segment, row.at) || ty_row_terms(row.segment, row.at).bytes > 0);
}

static ty_past_change *changes_of(const ty_past *p) { return (ty_past_change *)(void *)p->changes.data; }

static void add_change(block *b, ty_place place, uint32_t kind, bool of_put) {
  uint32_t index = NONE;
  const ty_past_change change = {place, kind};
  if (!is_of_file(b->p->c, place)) {
    index = (uint32_t)(b->p->changes.bytes / sizeof change);
    ty_buffer_append(&b->p->changes, &change, sizeof change);
  }
  if (of_put) ty_buffer_append(&b->change_of, &index, sizeof index);
}

/* The change that a row of this block belongs to, for another one of this block that takes its place. */
static uint32_t taken(const block *b, uint64_t row) {
  const uint64_t i = row - b->first_row;
  return i < b->change_of.bytes / sizeof(uint32_t) ? ((const uint32_t *)(const void *)b->change_of.data)[i] : NONE;
}

static ty_status take_put(block *b, const ty_operation *op, ty_error *err) {
  ty_place put, before;
  const ty_collection *c = b->p->c;
  if (!ty_place_of_row(c, op->row, &put)) return ty_fail(err, TY_CORRUPT, "a saved row is not in memory");
  if (op->replaced == TY_NO_ROW) {
    add_change(b, put, TY_CHANGE_ADDED, true);
  } else if (op->replaced < b->first_row) {
    if (!ty_place_of_row(c, op->replaced, &before)) return ty_fail(err, TY_CORRUPT, "a replaced row is not in memory");
    add_change(b, before, TY_CHANGE_REPLACED, true);
  } else {
    const uint32_t index = taken(b, op->replaced);
    ty_buffer_append(&b->change_of, &index, sizeof index);
    if (index != NONE && changes_of(b->p)[index].kind == TY_CHANGE_ADDED) changes_of(b->p)[index].place = put;
  }
  return TY_OK;
}

static ty_status take_delete(block *b, const ty_operation *op, ty_error *err) {
  ty_place before;
  if (op->row < b->first_row) {
    if (!ty_place_of_row(b->p->c, op->row, &before)) return ty_fail(err, TY_CORRUPT, "a deleted row is not in memory");
    add_change(b, before, TY_CHANGE_DELETED, false);
    return TY_OK;
  }
  const uint32_t index = taken(b, op->row);
  if (index == NONE) return TY_OK;
  ty_past_change *change = &changes_of(b->p)[index];
  /* Added and deleted by the same save: kind 0, dropped at its end. */
  change->kind = change->kind == TY_CHANGE_ADDED ? 0 : TY_CHANGE_DELETED;
  return TY_OK;
}

static ty_status take_operation(block *b, const ty_operation *op, const uint8_t *at, ty_error *err) {
  switch (op->kind) {
  case TY_OPERATION_PUT: return take_put(b, op, err);
  case TY_OPERATION_DELETE: return take_delete(b, op, err);
  default: b->save.origin = (ty_slice){at + sizeof *op, op->text_bytes}; return TY_OK;
  }
}

static void begin_block(block *b, uint64_t save, uint64_t time, uint64_t first_row) {
  b->save.save = save;
  b->save.time = time;
  b->save.first = b->p->changes.bytes / sizeof(ty_past_change);
  b->save.added = b->save.replaced = b->save.deleted = 0;
  b->first_row = first_row;
  b->change_of.bytes = 0;
}

static void end_block(block *b) {
  ty_past *p = b->p;
  ty_past_change *changes = changes_of(p);
  const uint64_t end = p->changes.bytes / sizeof *changes;
  uint64_t to = b->save.first;
  if (p->changes.failed) return;
  for (uint64_t i = to; i < end; i++) {
    if (changes[i].kind == 0) continue;
    b->save.added += changes[i].kind == TY_CHANGE_ADDED;
    b->save.replaced += changes[i].kind == TY_CHANGE_REPLACED;
    b->save.deleted += changes[i].kind == TY_CHANGE_DELETED;
    changes[to++] = changes[i];
  }
  p->changes.bytes = to * sizeof *changes;
  b->save.end = to;
  if (to > b->save.first) ty_buffer_append(&p->saves, &b->save, sizeof b->save);
}

/* The blocks were compared when the delta was replayed. */
static ty_status read_delta(block *b, const ty_file *file, ty_error *err) {
  const ty_collection *c = b->p->c;
  ty_status status = TY_OK;
  for (uint64_t at = sizeof(ty_slab_header); at < file->bytes && status == TY_OK;) {
    ty_block_header h;
    if (file->bytes - at < sizeof h) return ty_damaged(file, "a block is malformed", at, err);
    memcpy(&h, file->map + at, sizeof h);
    at += sizeof h;
    if (h.payload_bytes > file->bytes - at) return ty_damaged(file, "a block is malformed", at, err);
    const uint64_t end = at + h.payload_bytes;
    begin_block(b, h.generation, h.time, h.first_row);
    while (at < end && status == TY_OK) {
      ty_operation op;
      if (!ty_operation_get(c, file->map + at, end - at, &op))
        return ty_damaged(file, "an operation is malformed", at, err);
      status = take_operation(b, &op, file->map + at, err);
      at += op.bytes;
    }
    end_block(b);
  }
  return status;
}

static ty_status read_staged(block *b, ty_error *err) {
  const ty_collection *c = b->p->c;
  const struct ty_store *s = c->store;
  const uint64_t now = c->env->os.now(&c->env->os);
  ty_status status = TY_OK;
  begin_block(b, c->generation + 1, now > TY_TIME_MAX ? TY_TIME_MAX : now, c->state->kept_next_row);
  for (uint32_t i = 0; i < s->chunk_count && status == TY_OK; i++) {
    const uint8_t *data = s->chunks[i].memory.data;
    for (uint64_t at = i == 0 ? sizeof(ty_block_header) : 0; at < s->chunks[i].used && status == TY_OK;) {
      ty_operation op;
      memcpy(&op, data + at, sizeof op);
      status = take_operation(b, &op, data + at, err);
      at += op.bytes;
    }
  }
  b->save.origin = (ty_slice){s->origin.data, s->origin.bytes};
  end_block(b);
  return status;
}

/* A save of a delta of version 7 has no time: it was not later than the next one. */
static void fill_times(ty_past *p, uint64_t now) {
  ty_past_save *saves = (ty_past_save *)(void *)p->saves.data;
  for (uint64_t i = p->saves.bytes / sizeof *saves; i-- > 0;) {
    if (saves[i].time == 0) saves[i].time = now;
    now = saves[i].time;
  }
}

static ty_status open_file(ty_past *p, ty_error *err) {
  const ty_collection *c = p->c;
  const ty_file *file = &c->store->files.history;
  if (file->name[0] == 0) return TY_OK;
  if (file->map == NULL)
    return ty_fail(err, TY_CORRUPT, "%s is damaged or missing: the history cannot be read", file->name);
  const bool compare = !atomic_load(&c->store->history_compared);
  ty_status status = ty_history_view_open(c, file, compare, &p->file, err);
  if (status == TY_OK) atomic_store(&c->store->history_compared, true);
  if (status != TY_CORRUPT || err == NULL) return status;
  ty_damage d = ty_damage_of(file->name, TY_PART_HISTORY, 0, 0, file->bytes, err->message);
  ty_damage_note(c, &d);
  return status;
}

ty_status ty_past_open(const ty_collection *c, bool staged, ty_past *out, ty_error *err) {
  const ty_files *files = &c->store->files;
  const ty_history_rule rule = ty_history_rule_of(c);
  const uint64_t now = c->env->os.now(&c->env->os), age = rule.days < UINT32_MAX ? rule.days * DAY_MS : UINT64_MAX;
  ty_past *p = out;
  *p = (ty_past){.c = c};
  if (rule.days == 0) return TY_OK;
  block b = {.p = p};
  ty_status status = open_file(p, err);
  for (uint32_t i = 0; i < files->delta_count && status == TY_OK; i++) status = read_delta(&b, &files->deltas[i], err);
  if (status == TY_OK && staged) status = read_staged(&b, err);
  if (status == TY_OK && (p->saves.failed || p->changes.failed || b.change_of.failed))
    status = ty_fail(err, TY_NO_MEMORY, "out of memory for the history");
  ty_buffer_free(&b.change_of);
  if (status != TY_OK) return status;
  fill_times(p, now);
  p->save_count = p->file.save_count + p->saves.bytes / sizeof(ty_past_save);
  p->change_count = p->file.change_count + p->changes.bytes / sizeof(ty_past_change);
  /* Only the oldest: after a clock that was set back, a younger save may have an older time. */
  while (p->from < p->save_count && now > age && ty_past_save_at(p, p->from).time < now - age) p->from++;
  return TY_OK;
}

void ty_past_close(ty_past *p) {
  ty_buffer_free(&p->saves);
  ty_buffer_free(&p->changes);
}

ty_past_save ty_past_save_at(const ty_past *p, uint64_t i) {
  const ty_history_view *v = &p->file;
  TY_ASSERT(i < v->save_count + p->saves.bytes / sizeof(ty_past_save));
  if (i >= v->save_count) {
    ty_past_save save = ((const ty_past_save *)(const void *)p->saves.data)[i - v->save_count];
    save.first += v->change_count;
    save.end += v->change_count;
    return save;
  }
  const ty_history_save *s = &v->saves[i];
  return (ty_past_save){.save = s->save,
                        .time = s->time,
                        .first = i == 0 ? 0 : s[-1].end,
                        .end = s->end,
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
  return &changes_of(p)[change - p->file.change_count];
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
static bool segment_row(const ty_collection *c, ty_ref row, ty_unpack *metas, uint8_t *vector, ty_history_parts *out) {
  const ty_segment *s = row.segment;
  bool has_meta, has_text;
  if (!ty_meta_intact(s, row.at) || !ty_text_intact(s, row.at)) return false;
  *out = (ty_history_parts){.times = ty_row_times(s, row.at)};
  out->meta = ty_row_meta(s, row.at, metas, &has_meta);
  out->text = ty_row_text(s, row.at, &has_text);
  out->flags = (has_meta ? TY_HAS_META : 0) | (has_text ? TY_HAS_TEXT : 0);
  if (metas->damaged) return false;
  if (vector == NULL) return true;
  if (!ty_vector_intact(c, s, row.at)) return false;
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

bool ty_past_row(const ty_past *p, uint64_t change, ty_unpack *metas, uint8_t *vector, ty_history_parts *out) {
  TY_ASSERT(ty_past_kind(p, change) != TY_CHANGE_ADDED);
  if (change >= p->file.change_count)
    return segment_row(p->c, ty_ref_of(p->c, delta_change(p, change)->place), metas, vector, out);
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
  if (ty_past_row(p, change, &none, NULL, &row) && ty_history_vector(c, &row, scratch, out)) return TY_OK;
  return ty_damaged(p->file.file, "a row of the history is damaged", p->file.changes[change].row_end, err);
}

/* What saves have changed. */
#include <stdlib.h>
#include <string.h>

#include "calls/calls.h"
#include "calls/arguments.h"
#include "os/plant.h"
#include "rows/vector.h"
#include "state/history.h"
#include "state/meanings.h"

ty_status ty_origin(ty_collection *c, const uint8_t *json, uint64_t bytes, ty_error *err) {
  ty_status status = ty_change_enter(c, err);
  if (status != TY_OK) return status;
  ty_buffer *origin = &c->store->origin;
  if (bytes < 1 || bytes > TY_ORIGIN_MAX) {
    status = ty_fail(err, TY_INVALID, "an origin has 1 to %u bytes", TY_ORIGIN_MAX);
  } else {
    origin->bytes = 0;
    ty_buffer_append(origin, json, bytes);
    if (origin->failed) {
      ty_buffer_free(origin);
      status = ty_fail(err, TY_NO_MEMORY, "out of memory for the origin of a save");
    }
  }
  return ty_change_leave(c, status, err);
}

ty_status ty_history_adopt(ty_collection *c, ty_collection *from, ty_error *err) {
  ty_status status = ty_change_enter(c, err);
  if (status != TY_OK) return status;
  struct ty_store *s = c->store;
  ty_file adopted = {0};
  /* Saves of its deltas would follow those that it takes, with lower numbers. */
  if (c->generation == 0 || s->files.delta_count > 0 || s->ops > 0 || s->adopts || from->dim != c->dim ||
      from->dtype != c->dtype)
    status = ty_fail(err, TY_STATE, "only a copy that was just written, and has no changes, can take a history");
  if (status == TY_OK) status = ty_enter(from, err);
  if (status != TY_OK) return ty_change_leave(c, status, err);
  const uint64_t generation = (from->generation > c->generation ? from->generation : c->generation) + 1;
  const ty_history_place place = {c, &s->files, generation, ty_meaning_base_generation(c)};
  status = ty_history_write(from, &place, &(ty_history_wish){0}, &adopted, err);
  s->adopted_generation = from->generation;
  status = ty_leave(from, status, err);
  /* Its name has to be there when the manifest names it. */
  if (status == TY_OK && adopted.name[0] != 0 && !TY_PLANTED(NO_HISTORY_NAME))
    status = ty_file_sync_dir(c, c->dir, err);
  if (status == TY_OK) {
    s->adopts = true;
    s->adopted = adopted;
    c->state->changed = true;
  } else if (adopted.name[0] != 0) {
    ty_file_unmap(c, &adopted);
    ty_file_remove(c, adopted.name);
  }
  return ty_change_leave(c, status, err);
}

/* What the caller reads of an origin is its own; that its undos can be found without the others makes their search
 * independent of the number of saves. */
static bool is_undo(ty_slice origin) {
  static const char key[] = "\"undoes\"";
  for (uint64_t i = 0; i + sizeof key - 1 <= origin.bytes; i++) {
    if (memcmp(origin.data + i, key, sizeof key - 1) == 0) return true;
  }
  return false;
}

static ty_save_record record_of(const ty_past_save *save, bool origin) {
  return (ty_save_record){.save = save->save,
                          .time = save->time,
                          .first = save->first,
                          .added = save->added,
                          .replaced = save->replaced,
                          .deleted = save->deleted,
                          .origin_bytes = origin ? (uint32_t)save->origin.bytes : 0};
}

ty_status ty_saves(ty_collection *c, ty_saves_args *args, ty_error *err) {
  args->out_bytes = args->out_count = 0;
  ty_status status = ty_enter(c, err);
  if (status != TY_OK) return status;
  ty_answer answer = {.out = args->out, .capacity = args->out_capacity};
  ty_past past;
  status = ty_past_open(c, false, &past, err);
  for (uint64_t i = past.save_count; status == TY_OK && i > past.from; i--) {
    const ty_past_save save = ty_past_save_at(&past, i - 1);
    if (args->before > 0 && save.save >= args->before) continue;
    if (args->undos == 1 && !is_undo(save.origin)) continue;
    if (args->limit > 0 && answer.count == args->limit) break;
    const ty_save_record record = record_of(&save, true);
    ty_answer_put(&answer, &record, sizeof record);
    ty_answer_put(&answer, save.origin.data, save.origin.bytes);
    answer.count++;
  }
  status = ty_answer_end(&answer, status, c, err);
  ty_past_close(&past);
  status = ty_leave(c, status, err);
  args->out_bytes = answer.bytes;
  args->out_count = answer.count;
  return status;
}

/* A row that is damaged is answered as one that is missing. */
static void answer_change(ty_answer *a, const ty_past *p, uint64_t i, const ty_past_save *save,
                          const ty_changes_args *args, uint8_t *scratch) {
  const ty_collection *c = p->c;
  const uint64_t what = args->what;
  const bool origin = args->origins == 1;
  const ty_change_record change = {i, ty_past_kind(p, i), record_of(save, origin)};
  const ty_slice id = ty_past_id(p, i, &a->ids);
  uint8_t *stored = scratch + TY_HISTORY_SCRATCH(c->dim) / 2;
  ty_history_parts row = {0};
  a->texts.most = a->text_most + (a->text_most > 0);
  bool found = change.kind != TY_CHANGE_ADDED && ty_past_row(p, i, &a->metas, &a->texts, NULL, &row);
  const bool vector = (what & TY_WITH_VECTOR) != 0;
  const float *decoded = NULL;
  if (found && vector) {
    found = ty_past_vector(p, i, scratch, stored, NULL) == TY_OK;
    if (found) decoded = ty_vector_decode(c, c->dtype, stored, (float *)(void *)scratch);
    found = found && ty_vector_good(c, c->dtype, stored, decoded);
  }
  const bool meta = found && (what & TY_WITH_META) && (row.flags & TY_HAS_META);
  const bool text = found && (what & TY_WITH_TEXT) && (row.flags & TY_HAS_TEXT);
  if (a->text_most > 0) row.text.bytes = ty_cut(row.text, a->text_most);
  const bool times = found && (what & TY_WITH_TIMES);
  const uint64_t vector_bytes = found && vector ? c->dim * sizeof(float) : 0;
  const ty_record record = {.id_bytes = (uint32_t)id.bytes,
                            .meta_bytes = meta ? (uint32_t)row.meta.bytes : TY_ABSENT,
                            .text_bytes = text ? (uint32_t)row.text.bytes : TY_ABSENT,
                            .vector_bytes = (uint32_t)vector_bytes,
                            .extra_bytes = times ? sizeof row.times : 0,
                            .found = found};
  ty_answer_put(a, &change, sizeof change);
  if (origin) ty_answer_put(a, save->origin.data, save->origin.bytes);
  ty_answer_put(a, &record, sizeof record);
  ty_answer_put(a, id.data, id.bytes);
  if (meta) ty_answer_put(a, row.meta.data, row.meta.bytes);
  if (text) ty_answer_put(a, row.text.data, row.text.bytes);
  if (vector_bytes > 0) ty_answer_put(a, decoded, vector_bytes);
  if (times) ty_answer_put(a, &row.times, sizeof row.times);
  ty_unpack_init(&a->metas);
  a->texts.damaged = false;
  a->count++;
}

ty_status ty_changes(ty_collection *c, ty_changes_args *args, ty_error *err) {
  args->out_bytes = args->out_count = 0;
  ty_status status = ty_enter(c, err);
  if (status != TY_OK) return status;
  ty_answer answer = {.out = args->out, .capacity = args->out_capacity, .text_most = args->text_most};
  ty_past past;
  /* Scratch for a vector, and one in its stored form. */
  uint8_t *scratch = aligned_alloc(TY_ALIGN, (size_t)TY_HISTORY_SCRATCH(c->dim));
  status = ty_past_open(c, false, &past, err);
  if (status == TY_OK && scratch == NULL) status = ty_fail(err, TY_NO_MEMORY, "out of memory for a row of the history");
  uint64_t at = 0;
  if (status == TY_OK && past.from < past.save_count) {
    at = ty_past_save_at(&past, past.from).first;
    if (at < args->from) at = args->from;
  }
  uint64_t at_save = past.from;
  ty_past_save save = {0};
  for (; status == TY_OK && past.from < past.save_count && at < args->to && at < past.change_count; at++) {
    if (args->limit > 0 && answer.count == args->limit) break;
    if (args->id != NULL) {
      const ty_slice id = ty_past_id(&past, at, &answer.ids);
      if (id.bytes != args->id_bytes || memcmp(id.data, args->id, (size_t)id.bytes) != 0) continue;
    }
    if (at >= save.end) {
      at_save = ty_past_save_of(&past, at, at_save);
      save = ty_past_save_at(&past, at_save);
    }
    answer_change(&answer, &past, at, &save, args, scratch);
  }
  status = ty_answer_end(&answer, status, c, err);
  free(scratch);
  ty_past_close(&past);
  status = ty_leave(c, status, err);
  args->out_bytes = answer.bytes;
  args->out_count = answer.count;
  return status;
}

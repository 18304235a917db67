/* Saving what changed: append the block and begin its sync, append to the id map, write the manifest beside the old
 * one, sync, wait for both, rename, sync the directory. The rename is the commit point. A failure before it, or of it,
 * leaves the old state. After a failure after it (TY_UNSURE) the disk may hold either state: memory goes back to the
 * old one, and the next look at the directory decides. */
#include <stdlib.h>
#include <string.h>
#include "disk/delta.h"
#include "disk/idmap.h"
#include "disk/lock.h"
#include "os/plant.h"
#include "state/state.h"
#include "state/commit.h"
#include "state/ids.h"
#include "state/meanings.h"
#include "state/replay.h"
#include "disk/operations.h"

typedef struct id_reader {
  ty_collection *c;
  ty_unpack unpack;
} id_reader;

/* The id of the row with number first_row + i, dead or not. */
static ty_slice id_of_row(void *ctx, uint64_t i) {
  id_reader *r = ctx;
  ty_collection *c = r->c;
  ty_place place;
  if (!ty_place_of_row(c, c->store->first_row + i, &place)) return (ty_slice){NULL, 0};
  ty_ref row = ty_ref_of(c, place);
  return ty_row_id(row.segment, row.at, &r->unpack);
}

/* The same for a row of this change. */
static ty_slice id_of_new(void *ctx, uint64_t i) {
  id_reader *r = ctx;
  const ty_collection *c = r->c;
  uint64_t at = c->state->kept_rows + (i - (c->state->kept_next_row - c->store->first_row));
  return ty_row_id(&c->delta, at, &r->unpack);
}

/* Updates the id map: appends the new rows' ids, or writes it again. */
static ty_status append_ids(ty_collection *c, ty_file *out, ty_error *err) {
  if (c->state->kept_rows == c->delta.count) return TY_OK;
  /* Another directory's map of as many rows looks the same. */
  ty_status status = ty_lock_still(c, err);
  if (status != TY_OK) return status;
  ty_file appended = *out;
  uint64_t first_row = c->store->first_row;
  id_reader reader = {.c = c};
  ty_id_list ids = {.from = c, .rows = c->next_row - first_row, .id = id_of_new, .ctx = &reader};
  if (ty_id_map_append(c, &ids, c->state->kept_next_row - first_row, &appended)) {
    *out = appended;
    return TY_OK;
  }
  ids.id = id_of_row;
  status = ty_id_map_write(c, &ids, out, err);
  if (status == TY_OK) c->store->id_map_checked = true;
  return status;
}

static ty_status map_last(ty_collection *c, ty_files *next, bool fresh, ty_error *err) {
  ty_file *file = &next->deltas[next->delta_count - 1];
  if (fresh) return ty_file_map(c, file, ty_room_ahead(0), err);
  ty_file *have = &c->store->files.deltas[next->delta_count - 1];
  ty_status status = TY_OK;
  if (file->bytes > have->mapped) {
    pthread_rwlock_wrlock(&c->lock);
    status = ty_delta_remap(c, have, file->bytes, err);
    pthread_rwlock_unlock(&c->lock);
  }
  file->map = have->map;
  file->guard = have->guard;
  file->mapped = have->mapped;
  if (status == TY_OK) ty_file_end(file);
  return status;
}

/* The writes that a save waits for before the rename. */
typedef struct pending {
  ty_delta_write write;
  bool open;
  ty_meaning_save meaning;
} pending;

static ty_status finish_write(void *ctx, ty_error *err) {
  pending *p = ctx;
  ty_status status = TY_OK;
  if (p->open && (err == NULL || !TY_PLANTED(NO_WAIT))) {
    p->open = false;
    status = ty_delta_finish(&p->write, err);
  }
  if (p->meaning.open) {
    p->meaning.open = false;
    ty_status other = ty_meaning_file_finish(&p->meaning.write, status == TY_OK ? err : NULL);
    if (status == TY_OK) status = other;
  }
  return status;
}

static uint64_t time_now(const ty_collection *c) {
  const uint64_t now = c->env->os.now(&c->env->os);
  return now < 1 ? 1 : now > TY_TIME_MAX ? TY_TIME_MAX : now;
}

/* A save without one says so: without an origin it would have that of the save before. */
static ty_slice origin_of(const ty_collection *c) {
  static const uint8_t unknown[] = "{}";
  const ty_buffer *origin = &c->store->origin;
  return origin->bytes > 0 ? (ty_slice){origin->data, origin->bytes} : (ty_slice){unknown, sizeof unknown - 1};
}

/* A save whose origin is that of the block before leaves it out. */
static ty_status put_origin(ty_collection *c, ty_error *err) {
  struct ty_store *s = c->store;
  const ty_slice origin = origin_of(c);
  ty_operation op = {.kind = TY_OPERATION_ORIGIN, .replaced = TY_NO_ROW, .text_bytes = (uint32_t)origin.bytes};
  uint8_t *at;
  if (!ty_delta_begins(c) && origin.bytes == s->last_origin.bytes &&
      (memcmp(origin.data, s->last_origin.data, (size_t)origin.bytes) == 0 || TY_PLANTED(SAME_ORIGIN)))
    return TY_OK;
  ty_operation_size(c, &op);
  ty_status status = ty_chunk_take(c, op.bytes, &at, err);
  if (status != TY_OK) return status;
  memset(at, 0, (size_t)op.bytes);
  memcpy(at, &op, sizeof op);
  memcpy(at + sizeof op, origin.data, (size_t)origin.bytes);
  s->ops++;
  return TY_OK;
}

ty_status ty_save_changes(ty_collection *c, bool *unknown, ty_error *err) {
  struct ty_store *s = c->store;
  uint32_t known = s->files.delta_count;
  ty_files files = s->files;
  const bool adopts = s->adopts;
  const uint64_t generation =
      (adopts && s->adopted_generation > c->generation ? s->adopted_generation : c->generation) + 1;
  pending p = {.write = {.append = {.c = c, .generation = generation},
                         .first_row = c->state->kept_next_row,
                         .time = time_now(c),
                         .files = &files}};
  files.deltas = malloc((known + 1) * sizeof *files.deltas);
  if (files.deltas == NULL) return ty_fail(err, TY_NO_MEMORY, "out of memory for a save");
  if (known > 0) memcpy(files.deltas, s->files.deltas, known * sizeof *files.deltas);
  if (adopts) files.history = s->adopted;
  const ty_chunk_mark mark = ty_chunk_mark_take(c);
  ty_status status = TY_OK;
  ty_next next = {.schema_of = c,
                  .files = &files,
                  .generation = generation,
                  .live = c->base.live + c->delta.live,
                  .total = ty_total_rows(c),
                  .before = finish_write,
                  .before_ctx = &p};
  if (s->ops > 0) status = put_origin(c, err);
  if (status == TY_OK && s->ops > 0) {
    status = ty_delta_append(&p.write, err);
    p.open = status == TY_OK;
    if (status == TY_OK) status = append_ids(c, &files.id_map, err);
    if (status == TY_OK) status = map_last(c, &files, files.delta_count > known, err);
  }
  if (status == TY_OK) status = ty_meaning_append(c, &files, generation, &p.meaning, err);
  /* The delta's sync goes on while the new manifest is written and synced; the rename waits for both. */
  if (status == TY_OK) status = ty_commit(c, &next, err);
  finish_write(&p, NULL); /* where an earlier step failed */
  /* TY_CORRUPT: the delta is another file now; the next look reads everything again, whatever the manifest's stamp. */
  *unknown = next.unknown || status == TY_CORRUPT;
  if (status != TY_OK) {
    s->id_map_checked = false;
    bool gone = ty_lock_lost(c, err);
    if (gone) status = TY_IO, *unknown = true;
    if (files.delta_count > known) {
      ty_file_unmap(c, &files.deltas[known]);
      if (!gone && !next.unknown) ty_file_remove(c, files.deltas[known].name);
    } else if (s->ops > 0 && known > 0 && !gone && !next.unknown) {
      /* Frees the tail that no manifest names: on a full disk deletions and a compaction need the space. */
      ty_file_cut(c, &s->files.deltas[known - 1]);
    }
    if (!gone && !next.unknown) ty_meaning_failed(c, &files);
    free(files.deltas);
    ty_chunk_mark_restore(c, mark); /* the save may be tried again */
    return status;
  }
  const ty_file meaning = s->files.meaning;
  ty_file history = s->files.history;
  pthread_rwlock_wrlock(&c->lock);
  ty_meaning_follow(c, &files.meaning);
  free(s->files.deltas);
  s->files = files;
  if (files.delta_count > known) s->abandon_delta = false;
  if (s->ops > 0) ty_delta_settle(c, &s->files.deltas[files.delta_count - 1], p.write.append.from, c->state->kept_rows);
  s->blocks += s->ops > 0;
  if (s->ops > 0) {
    s->last_origin.bytes = 0;
    ty_buffer_append(&s->last_origin, origin_of(c).data, origin_of(c).bytes);
    if (s->last_origin.failed) ty_buffer_free(&s->last_origin); /* the next save writes its own */
  }
  if (files.meaning.name[0] != 0 || files.history.name[0] != 0 || s->ops > 0) s->version = TY_SLAB_VERSION;
  c->generation = next.generation;
  s->stamp = next.stamp;
  s->manifest_bytes = next.bytes;
  if (adopts) {
    ty_file_unmap(c, &history);
    atomic_store(&s->history_compared, false);
    s->adopts = false;
    s->adopted = (ty_file){0};
  }
  ty_mark(c);
  pthread_rwlock_unlock(&c->lock);
  if (adopts && history.name[0] != 0) ty_file_remove(c, history.name);
  if (meaning.name[0] != 0 && strcmp(meaning.name, files.meaning.name) != 0) ty_file_remove(c, meaning.name);
  return TY_OK;
}

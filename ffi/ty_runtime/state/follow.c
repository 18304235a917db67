/* Following other processes' saves.
 *
 * A new state is built beside the old one and swapped in whole, so that a missing or damaged file leaves the old state
 * in use. Only the tail of a delta is applied in place, and undone on an error. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "disk/delta.h"
#include "lexical/lexical.h"
#include "os/plant.h"
#include "state/state.h"
#include "state/load.h"
#include "state/meanings.h"
#include "state/replay.h"

/* A try fails where a writer replaced files while they were opened; a rewrite takes many times as long as an opening.
 * No pause between tries: the caller holds the exclusive lock, mostly on an event loop's thread. */
#define TRIES 20

static bool same_file(const ty_file *a, const ty_file *b) {
  return strcmp(a->name, b->name) == 0 && a->bytes == b->bytes && a->crc == b->crc;
}

/* Whether the last deltas have the same name. */
static bool same_last(const ty_files *a, const ty_files *b) {
  return a->delta_count > 0 && b->delta_count > 0 &&
         strcmp(a->deltas[a->delta_count - 1].name, b->deltas[b->delta_count - 1].name) == 0;
}

/* Whether the manifest only adds to the loaded state: the same base, indexes and deltas, of which the last may be
 * longer, and new deltas after it. */
static bool extends(const ty_collection *c, const ty_saved *m) {
  const ty_files *have = &c->store->files, *want = &m->files;
  if (ty_files_whole(have, NULL) != TY_OK || c->generation == 0 || m->generation < c->generation ||
      !same_file(&have->base, &want->base) || !same_file(&have->ivf, &want->ivf) ||
      !same_file(&have->lexical, &want->lexical) || !same_file(&have->history, &want->history) ||
      want->delta_count < have->delta_count)
    return false;
  for (uint32_t i = 0; i < have->delta_count; i++) {
    const ty_file *a = &have->deltas[i], *b = &want->deltas[i];
    if (i + 1 < have->delta_count ? !same_file(a, b) : strcmp(a->name, b->name) != 0 || b->bytes < a->bytes)
      return false;
  }
  return true;
}

/* Applies what the manifest adds. On failure the state is unchanged. */
static ty_status follow_tail(ty_collection *c, const ty_saved *m, ty_error *err) {
  ty_files *have = &c->store->files;
  const ty_files *want = &m->files;
  ty_status status = TY_OK;
  uint32_t known = have->delta_count;
  ty_block_span span = {c->generation, m->generation};
  if (want->delta_count > known) {
    ty_file *deltas = realloc(have->deltas, want->delta_count * sizeof *deltas);
    if (deltas == NULL) return ty_fail(err, TY_NO_MEMORY, "out of memory for %s", TY_MANIFEST_NAME);
    have->deltas = deltas;
  }
  uint64_t blocks = c->store->blocks;
  ty_file kept = known > 0 ? have->deltas[known - 1] : (ty_file){0};
  ty_delta_before before = {0};
  ty_mark(c);
  const uint64_t rows = ty_total_rows(c), more = m->total_rows < rows ? 0 : m->total_rows - rows;
  const bool makes_sparse = ty_delta_sparse_prepare(c, more, &before);
  for (uint32_t i = known > 0 ? known - 1 : 0; i < want->delta_count && status == TY_OK; i++) {
    uint64_t from = 0;
    ty_file *file = &have->deltas[i];
    if (i >= known) {
      *file = want->deltas[i];
      have->delta_count = i + 1;
      status = ty_delta_open(c, file, err);
    } else {
      status = ty_file_still(c, file, want->deltas[i].bytes, err);
      if (status != TY_OK) break;
      if (want->deltas[i].bytes == file->bytes) {
        if (want->deltas[i].crc != file->crc) status = ty_wrong_sum(file, err);
        continue;
      }
      from = file->bytes;
      ty_file longer = *file;
      longer.bytes = want->deltas[i].bytes;
      status = ty_delta_remap(c, file, longer.bytes, err);
      if (status != TY_OK) break;
      kept = *file;
      uint32_t crc = ty_crc_mapped(c->env, file->crc, file->map + from, longer.bytes - from);
      if (crc != want->deltas[i].crc) status = ty_wrong_sum(&want->deltas[i], err);
      file->bytes = longer.bytes;
      ty_file_end(file);
      file->crc = want->deltas[i].crc;
    }
    if (status == TY_OK && makes_sparse) status = ty_reserve_delta_rows(c, m, file, err);
    if (status == TY_OK) status = ty_delta_replay(c, file, from, makes_sparse, &span, err);
  }
  if (status == TY_OK && (ty_total_rows(c) != m->total_rows || c->base.live + c->delta.live != m->live_rows))
    status = ty_fail(err, TY_CORRUPT, "%s: its counts of rows are not those of its files", TY_MANIFEST_NAME);
  if (status == TY_OK) status = ty_files_whole(have, err);
  if (status == TY_OK) status = ty_adopt_schema(c, &m->schema, err);
  if (status != TY_OK) {
    ty_undo_locked(c);
    if (makes_sparse) ty_delta_sparse_restore(c, &before);
    ty_delta_before_free(c, &before);
    ty_buffer_free(&c->store->last_origin); /* it may be of a block that was undone; the next save writes its own */
    c->store->blocks = blocks;
    for (uint32_t i = known; i < have->delta_count; i++) ty_file_unmap(c, &have->deltas[i]);
    have->delta_count = known;
    if (known > 0) {
      ty_file *last = &have->deltas[known - 1];
      last->bytes = kept.bytes;
      last->crc = kept.crc;
      last->last = kept.last;
    }
    return status;
  }
  ty_delta_before_free(c, &before);
  have->id_map = want->id_map;
  ty_meaning_follow(c, &want->meaning);
  c->store->version = (uint32_t)m->version;
  c->generation = m->generation;
  c->store->manifest_bytes = m->text.bytes;
  ty_mark(c);
  return TY_OK;
}

ty_status ty_follow_additions(ty_collection *c, bool *replaced, ty_error *err) {
  ty_os *os = &c->env->os;
  *replaced = false;
  for (;;) {
    ty_stamp stamp, again;
    const int result = os->stamp(os, c->store->manifest_path, &stamp);
    *replaced = result == -ENOENT || result == -ENOTDIR;
    if (*replaced) return TY_OK;
    if (result < 0) return ty_fail_io(err, result, "look at", TY_MANIFEST_NAME);
    if (memcmp(&stamp, &c->store->stamp, sizeof stamp) == 0) return ty_files_whole(&c->store->files, err);
    ty_buffer text = {0};
    ty_saved m = {0};
    ty_status status = ty_file_read(c, TY_MANIFEST_NAME, TY_MANIFEST_MAX, &text, err);
    if (status == TY_OK) status = ty_saved_read(c->env, &text, &m, err);
    *replaced = status == TY_OK && !extends(c, &m);
    if (status == TY_OK && !*replaced) status = follow_tail(c, &m, err);
    ty_buffer_free(&text);
    ty_saved_free(&m);
    if (*replaced) return TY_OK;
    if (status == TY_OK) {
      c->store->stamp = stamp;
      return TY_OK;
    }
    /* If the manifest has changed, another process may have replaced the files while they were read. */
    if (os->stamp(os, c->store->manifest_path, &again) >= 0 && memcmp(&stamp, &again, sizeof stamp) == 0) return status;
  }
}

static ty_status follow_once(ty_collection *c, ty_saved *m, ty_error *err) {
  if (c->schema.bytes > 0) {
    ty_schema mine;
    ty_status status = ty_schema_read((ty_slice){c->schema.data, c->schema.bytes}, &mine, err);
    if (status == TY_OK) status = ty_schema_agree(&mine, &m->schema, err);
    if (status != TY_OK) return status;
  }
  if (extends(c, m) && follow_tail(c, m, err) == TY_OK) return TY_OK;
  ty_collection *t;
  ty_status status = ty_shell(c->env, c->dir, &t, err);
  if (status != TY_OK) return status;
  if (c->dim == 0) status = ty_adopt_schema(c, &m->schema, err);
  if (status == TY_OK) status = ty_load(t, c, m, err);
  if (status == TY_OK) {
    ty_swap_state(c, t);
    c->store->id_map_checked = false;
    /* Nothing is ever appended to a delta whose sync failed, read again or not. `t` has the old state. */
    if (!same_last(&c->store->files, &t->store->files)) c->store->abandon_delta = false;
    t->columns = c->columns; /* for freeing the old state */
  }
  ty_shell_free(t);
  return status;
}

ty_status ty_follow(ty_collection *c, bool missing_ok, ty_error *err) {
  ty_os *os = &c->env->os;
  ty_status status = TY_OK;
  for (int i = 0; i < TRIES; i++) {
    ty_stamp stamp, again;
    int result = os->stamp(os, c->store->manifest_path, &stamp);
    if (result == -ENOENT || result == -ENOTDIR) {
      status = ty_first_check(c, err);
      if (status != TY_OK && os->stamp(os, c->store->manifest_path, &again) == 0)
        continue; /* another process has just saved */
      if (status != TY_OK || (missing_ok && c->generation == 0)) return status;
      return ty_fail(err, TY_NOT_FOUND, "there is no %s", TY_MANIFEST_NAME);
    }
    if (result < 0) return ty_fail_io(err, result, "look at", TY_MANIFEST_NAME);
    bool whole = ty_files_whole(&c->store->files, NULL) == TY_OK;
    if (whole && memcmp(&stamp, &c->store->stamp, sizeof stamp) == 0) return TY_OK;
    ty_buffer text = {0};
    ty_saved m = {0};
    status = ty_file_read(c, TY_MANIFEST_NAME, TY_MANIFEST_MAX, &text, err);
    if (status == TY_OK) status = ty_saved_read(c->env, &text, &m, err);
    if (status == TY_OK) status = follow_once(c, &m, err);
    status = ty_name_writer(&m.text, status, err);
    ty_buffer_free(&text);
    ty_saved_free(&m);
    /* An index, or the vectors of meaning, may be missing because a writer has just replaced them. */
    bool lost = c->ivf_lost.lost || (c->words && !ty_lexical_usable(c->lexical_index)) ||
                (c->store->files.history.name[0] != 0 && c->store->files.history.map == NULL);
    if (status == TY_OK && (lost || ty_meaning_missed(c)) &&
        (os->stamp(os, c->store->manifest_path, &again) < 0 || memcmp(&stamp, &again, sizeof stamp) != 0))
      continue;
    if (status == TY_OK) {
      if (TY_PLANTED(LATE_STAMP)) (void)os->stamp(os, c->store->manifest_path, &stamp);
      c->store->stamp = stamp; /* taken before the read, so that a later save is seen next time */
      return TY_OK;
    }
    if ((status != TY_IO && status != TY_CORRUPT && status != TY_NOT_FOUND) || TY_PLANTED(NO_RETRY)) return status;
    /* A retry helps only where the manifest has changed. */
    if (os->stamp(os, c->store->manifest_path, &again) < 0 || memcmp(&stamp, &again, sizeof stamp) == 0) return status;
  }
  return ty_fail(err, TY_BUSY, "its files were replaced %d times while they were being opened", TRIES);
}

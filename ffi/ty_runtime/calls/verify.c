/* Reads every committed byte and compares checksums, through new mappings, so that the check sees what another process
 * would open. Then checks the invariants of the open collection. */
#include "disk/walk.h"
#include "rows/damage.h"
#include "state/load.h"
#include "state/state.h"

#define TRIES 5u

/* Maps the collection's files into another object: reading them all takes long, and meanwhile neither changes nor
 * queries should wait, and a compaction may remove files. */
static ty_status snapshot(const ty_collection *c, ty_collection **out, ty_error *err) {
  ty_status status = ty_shell(c->env, c->dir, out, err);
  if (status != TY_OK) return status;
  ty_collection *t = *out;
  ty_files *f = &t->store->files;
  t->dim = c->dim;
  t->dtype = c->dtype;
  t->columns = c->columns;
  t->generation = c->generation;
  t->store->first_row = c->store->first_row;
  t->next_row = c->state->kept_next_row;
  ty_buffer_append(&t->schema, c->schema.data, c->schema.bytes); /* for a message only */
  if (c->generation == 0) return TY_OK;
  status = ty_files_copy(f, &c->store->files, err);
  if (status == TY_OK) status = ty_file_map(t, &f->base, 0, err);
  if (status == TY_OK && f->ivf.name[0] != 0) status = ty_file_map(t, &f->ivf, 0, err);
  if (status == TY_OK && f->lexical.name[0] != 0) status = ty_file_map(t, &f->lexical, 0, err);
  if (status == TY_OK && f->history.name[0] != 0) status = ty_file_map(t, &f->history, 0, err);
  if (status == TY_OK && f->meaning.name[0] != 0) status = ty_file_map(t, &f->meaning, 0, err);
  for (uint32_t i = 0; i < f->delta_count && status == TY_OK; i++) status = ty_file_map(t, &f->deltas[i], 0, err);
  return status;
}

ty_status ty_verify(ty_collection *c, ty_progress *progress, ty_error *err) {
  for (uint64_t tries = 1;; tries++) {
    ty_collection *t = NULL;
    ty_status status = ty_enter(c, err);
    if (status != TY_OK) return status;
    status = ty_leave(c, snapshot(c, &t, err), err);
    ty_walk w = {.c = t, .stops = true, .progress = progress};
    bool saved = status == TY_OK && t->generation > 0;
    if (saved) status = ty_walk_files(&w, err);
    if (saved && status == TY_OK) status = ty_walk_id_map(&w, err);
    ty_status whole = t == NULL ? TY_OK : ty_files_whole(&t->store->files, err);
    if (whole != TY_OK) status = whole;
    uint64_t seen = t == NULL ? 0 : t->generation;
    if (t != NULL) status = ty_name_writer(&t->schema, status, err);
    ty_shell_free(t);
    if (status == TY_OK) ty_progress_set(progress, w.total, w.total);
    if ((status != TY_IO && status != TY_CORRUPT) || tries == TRIES) return status;
    /* A compaction in between removed the files and rewrote the id map: try again. */
    ty_error unread;
    if (ty_enter(c, &unread) != TY_OK) return status;
    bool moved = c->generation != seen;
    if (ty_leave(c, TY_OK, &unread) != TY_OK) return status;
    if (!moved) return status;
  }
}

/* ty_copy: the saved state into another directory.
 *
 * Only the committed bytes of the files that the state in memory names are copied: behind them may be the tail of a
 * failed save. The manifest comes last, so that a directory that has one is complete.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include "disk/idmap.h"
#include "disk/manifest.h"
#include "state/state.h"
#include "work/work.h"

#define NAME_MOST 96u                 /* of our files */
#define STEP      ((uint64_t)1 << 20) /* some milliseconds between two checks of cancel */

typedef struct copying {
  ty_collection *c;
  const char *dir;
  uint8_t *piece; /* STEP bytes */
  uint64_t done, total;
  ty_progress *progress;
  ty_error *err;
} copying;

static int create(const copying *k, const char *name) {
  char path[TY_PATH_MAX];
  ty_path(k->dir, name, path);
  return k->c->env->os.open(&k->c->env->os, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
}

/* Syncs and closes a file of the copy, whose last write returned `result`. */
static ty_status finish(const copying *k, int fd, int result, const char *name) {
  ty_os *os = &k->c->env->os;
  const char *what = "write";
  if (result >= 0) result = os->sync(os, fd), what = "sync";
  int closed = os->close(os, fd);
  if (result >= 0) result = closed;
  return result < 0 ? ty_fail_io(k->err, result, what, name) : TY_OK;
}

static ty_status copy_pieces(copying *k, const ty_file *file, int from, int to, int *result) {
  ty_os *os = &k->c->env->os;
  for (uint64_t at = 0; at < file->bytes && *result >= 0;) {
    if (ty_cancelled(k->progress)) return ty_fail(k->err, TY_CANCELLED, "cancelled");
    uint64_t n = file->bytes - at < STEP ? file->bytes - at : STEP;
    int64_t got = os->pread(os, from, k->piece, (size_t)n, at);
    if (got < 0) return ty_fail_io(k->err, (int)got, "read", file->name);
    if ((uint64_t)got < n)
      return ty_fail(k->err, TY_CORRUPT, "%s ends at offset %llu of %llu committed bytes", file->name,
                     (unsigned long long)(at + (uint64_t)got), (unsigned long long)file->bytes);
    /* Its header may count rows of a failed save, whose ids are not copied. */
    if (at == 0 && file == &k->c->store->files.id_map) ty_id_map_head(k->c, k->piece);
    *result = os->pwrite(os, to, k->piece, (size_t)n, at);
    at += n;
    k->done += n;
    ty_progress_set(k->progress, k->done, k->total);
  }
  return TY_OK;
}

static ty_status copy_file(copying *k, const ty_file *file) {
  ty_os *os = &k->c->env->os;
  char path[TY_PATH_MAX];
  if (file->name[0] == 0) return TY_OK;
  ty_path(k->c->dir, file->name, path);
  int from = os->open(os, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
  if (from < 0) return ty_fail_io(k->err, from, "open", file->name);
  int to = -1, result = 0;
  ty_status status = file->map == NULL ? TY_OK : ty_file_same(k->c, file, from, file->bytes, k->err);
  if (status == TY_OK && (to = create(k, file->name)) < 0) status = ty_fail_io(k->err, to, "create", file->name);
  if (status == TY_OK) status = copy_pieces(k, file, from, to, &result);
  if (status == TY_OK) status = finish(k, to, result, file->name);
  else if (to >= 0) os->close(os, to);
  os->close(os, from);
  return status;
}

static ty_status copy_manifest(const copying *k) {
  ty_collection *c = k->c;
  ty_buffer text = {0};
  ty_status status = ty_manifest_text(c, &c->store->files, c->generation, c->base.live + c->delta.live,
                                      ty_total_rows(c), &text, k->err);
  char path[TY_PATH_MAX];
  int to = -1;
  if (status == TY_OK && (to = create(k, TY_MANIFEST_NAME)) < 0)
    status = ty_fail_io(k->err, to, "create", TY_MANIFEST_NAME);
  if (status == TY_OK) {
    int result = c->env->os.pwrite(&c->env->os, to, text.data, (size_t)text.bytes, 0);
    status = finish(k, to, result, TY_MANIFEST_NAME);
    ty_path(k->dir, TY_MANIFEST_NAME, path);
    if (status != TY_OK) c->env->os.unlink(&c->env->os, path);
  }
  ty_buffer_free(&text);
  return status == TY_OK ? ty_file_sync_dir(c, k->dir, k->err) : status;
}

ty_status ty_copy(ty_collection *c, const ty_copy_args *args, ty_progress *progress, ty_error *err) {
  ty_status status = ty_change_enter(c, err);
  if (status != TY_OK) return status;
  const ty_files *f = &c->store->files;
  copying k = {.c = c, .dir = args->dir, .progress = progress, .err = err};
  if (strlen(args->dir) + NAME_MOST > TY_PATH_MAX)
    status = ty_fail(err, TY_INVALID, "the copy's directory has too long a path");
  else if (c->generation == 0) status = ty_fail(err, TY_STATE, "this collection was never saved: save it first");
  else if (c->state->changed) status = ty_fail(err, TY_STATE, "there are unsaved changes: save them first");
  else if ((k.piece = malloc(STEP)) == NULL) status = ty_fail(err, TY_NO_MEMORY, "not enough memory for a copy");
  k.total = f->base.bytes + f->ivf.bytes + f->lexical.bytes + f->id_map.bytes;
  for (uint32_t i = 0; i < f->delta_count; i++) k.total += f->deltas[i].bytes;
  if (status == TY_OK) status = copy_file(&k, &f->base);
  for (uint32_t i = 0; i < f->delta_count && status == TY_OK; i++) status = copy_file(&k, &f->deltas[i]);
  if (status == TY_OK) status = copy_file(&k, &f->ivf);
  if (status == TY_OK) status = copy_file(&k, &f->lexical);
  if (status == TY_OK) status = copy_file(&k, &f->id_map);
  if (status == TY_OK) status = copy_manifest(&k);
  free(k.piece);
  ty_change_leave(c);
  return status;
}

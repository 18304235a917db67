/* ty_copy: the saved state into another directory, beside writers.
 *
 * All files of one manifest are opened before a byte is copied: after that a compaction may remove their names. Sealed
 * files never change, deltas and the id map only grow after their committed bytes, so that no lock is needed. With the
 * writer's lock held instead, a copy of 1 GB kept other processes from saving for seconds. The manifest is copied byte
 * for byte, and last, so that a directory that has one is complete. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include "disk/idmap.h"
#include "disk/manifest.h"
#include "state/state.h"
#include "work/work.h"

#define NAME_MOST 96u                 /* of our files */
#define STEP      ((uint64_t)1 << 20) /* some milliseconds between two checks of cancel */
/* A compaction renames its id map some syncs before its manifest: in between the old manifest has none that fits. */
#define TRIES    20u
#define PAUSE_NS (20 * 1000 * 1000)

/* An open file of the state that is copied. */
typedef struct source {
  const ty_file *file;
  int fd;
  bool sealed;
} source;

typedef struct copying {
  const ty_collection *c;
  ty_copy_args *args;
  ty_saved saved;
  ty_stamp stamp;  /* of the manifest, from before it was read */
  source *sources; /* the id map comes last */
  uint32_t count;
  uint8_t *piece; /* STEP bytes */
  uint64_t done, total;
  ty_progress *progress;
  ty_error *err;
} copying;

static void close_all(copying *k) {
  for (uint32_t i = 0; i < k->count; i++) {
    if (k->sources[i].fd >= 0) k->c->env->os.close(&k->c->env->os, k->sources[i].fd);
  }
  free(k->sources);
  k->sources = NULL;
  k->count = 0;
  k->total = 0;
  ty_saved_free(&k->saved);
}

/* If the id map is missing, too short or not a regular file, it is not copied; the next compaction writes it. */
static ty_status open_source(copying *k, const ty_file *file, bool sealed) {
  ty_os *os = &k->c->env->os;
  bool id_map = file == &k->saved.files.id_map;
  uint64_t size = 0;
  if (file->name[0] == 0) return TY_OK;
  int fd = ty_file_open(k->c, file->name, O_RDONLY);
  if ((fd == -ENOENT || fd < -TY_NOT_REGULAR) && id_map) {
    k->args->map_differs = 1;
    return TY_OK;
  }
  if (fd < 0) return ty_fail_io(k->err, fd, "open", file->name);
  k->sources[k->count++] = (source){file, fd, sealed};
  int result = os->size(os, fd, &size);
  if (result < 0) return ty_fail_io(k->err, result, "read the size of", file->name);
  if (size < file->bytes && !id_map)
    return ty_fail(k->err, TY_CORRUPT, "%s ends at offset %llu of %llu committed bytes", file->name,
                   (unsigned long long)size, (unsigned long long)file->bytes);
  k->sources[k->count - 1].sealed = sealed && size == file->bytes;
  k->total += file->bytes;
  return TY_OK;
}

/* Reads the manifest and opens what it names. */
static ty_status open_once(copying *k) {
  const ty_collection *c = k->c;
  ty_os *os = &c->env->os;
  const ty_files *f = &k->saved.files;
  int result = os->stamp(os, c->store->manifest_path, &k->stamp);
  if (result == -ENOENT || result == -ENOTDIR)
    return ty_fail(k->err, TY_NOT_FOUND, "this collection was never saved: save it first");
  if (result < 0) return ty_fail_io(k->err, result, "look at", TY_MANIFEST_NAME);
  ty_buffer text = {0};
  ty_status status = ty_file_read(c, TY_MANIFEST_NAME, TY_MANIFEST_MAX, &text, k->err);
  if (status == TY_OK) status = ty_saved_read(k->c->env, &text, &k->saved, k->err);
  status = ty_name_writer(&k->saved.text, status, k->err);
  ty_buffer_free(&text);
  if (status != TY_OK) return status;
  k->sources = calloc(f->delta_count + 6, sizeof *k->sources);
  if (k->sources == NULL) return ty_fail(k->err, TY_NO_MEMORY, "not enough memory for a copy");
  k->args->map_differs = 0;
  status = open_source(k, &f->base, true);
  for (uint32_t i = 0; i < f->delta_count && status == TY_OK; i++) status = open_source(k, &f->deltas[i], false);
  if (status == TY_OK) status = open_source(k, &f->ivf, true);
  if (status == TY_OK) status = open_source(k, &f->lexical, true);
  if (status == TY_OK) status = open_source(k, &f->history, true);
  if (status == TY_OK) status = open_source(k, &f->meaning, false);
  return status == TY_OK ? open_source(k, &f->id_map, false) : status;
}

static bool moved(const copying *k) {
  ty_os *os = &k->c->env->os;
  ty_stamp now;
  int result = os->stamp(os, k->c->store->manifest_path, &now);
  return result < 0 ? result == -ENOENT : memcmp(&now, &k->stamp, sizeof now) != 0;
}

static ty_status read_piece(copying *k, const source *s, uint64_t at, uint64_t *n) {
  *n = s->file->bytes - at < STEP ? s->file->bytes - at : STEP;
  if (ty_cancelled(k->progress)) return ty_fail(k->err, TY_CANCELLED, "cancelled");
  int64_t got = k->c->env->os.pread(&k->c->env->os, s->fd, k->piece, (size_t)*n, at);
  if (got < 0) return ty_fail_io(k->err, (int)got, "read", s->file->name);
  if ((uint64_t)got < *n)
    return ty_fail(k->err, TY_CORRUPT, "%s ends at offset %llu of %llu committed bytes", s->file->name,
                   (unsigned long long)(at + (uint64_t)got), (unsigned long long)s->file->bytes);
  return TY_OK;
}

/* Whether the committed entries of the id map are the manifest's; sets map_differs. */
static ty_status compare_map(copying *k) {
  const source *s = &k->sources[k->count - 1];
  const ty_file *file = &k->saved.files.id_map;
  if (k->args->map_differs) return TY_OK;
  uint32_t crc = 0;
  uint64_t n = 0;
  ty_status status = TY_OK;
  for (uint64_t at = TY_NPY_HEADER; at < file->bytes && status == TY_OK; at += n) {
    status = read_piece(k, s, at, &n);
    if (status == TY_OK) crc = k->c->env->kernel->crc32c(crc, k->piece, (size_t)n);
  }
  if (status == TY_OK || status == TY_CORRUPT) k->args->map_differs = status != TY_OK || crc != file->crc;
  return status == TY_CORRUPT ? TY_OK : status;
}

static ty_status open_all(copying *k) {
  ty_status status = TY_OK;
  for (uint32_t i = 0; i < TRIES; i++) {
    if (i > 0) k->c->env->os.pause(&k->c->env->os, PAUSE_NS);
    close_all(k);
    status = open_once(k);
    if (status == TY_OK) status = compare_map(k);
    if (status == TY_OK && !k->args->map_differs) return TY_OK;
    if (status != TY_OK && status != TY_IO && status != TY_CORRUPT) return status;
    /* Another try helps only where the manifest has changed, or is about to. */
    if (status != TY_OK && !moved(k)) return status;
  }
  if (status == TY_OK) return TY_OK; /* only the id map differs, and no compaction takes so long over it */
  return ty_fail(k->err, TY_BUSY, "its files were replaced %u times while they were being opened", TRIES);
}

/* Creates a file of the copy; the name must be new. */
static ty_status create(const copying *k, const char *name, int *fd) {
  char path[TY_PATH_MAX];
  ty_path(k->args->dir, name, path);
  *fd = k->c->env->os.open(&k->c->env->os, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
  return *fd < 0 ? ty_fail_io(k->err, *fd, "create", name) : TY_OK;
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

/* True where the file now has a name in the copy. Any failure means that its bytes are copied: another file system, one
 * without links, a file of another user. The name may be another file's by now. */
static bool link_file(copying *k, const source *s) {
  ty_os *os = &k->c->env->os;
  char from[TY_PATH_MAX], to[TY_PATH_MAX];
  ty_stamp held, named;
  if (!s->sealed || !k->args->link) return false;
  ty_path(k->c->dir, s->file->name, from);
  ty_path(k->args->dir, s->file->name, to);
  if (os->link(os, from, to) < 0) return false;
  bool same = os->look(os, s->fd, &held) == 0 && os->stamp(os, to, &named) == 0 && held.device == named.device &&
              held.inode == named.inode;
  if (!same) os->unlink(os, to);
  return same;
}

static ty_status copy_file(copying *k, const source *s) {
  ty_os *os = &k->c->env->os;
  const ty_file *file = s->file;
  if (link_file(k, s)) {
    k->args->linked += file->bytes;
    k->done += file->bytes;
    ty_progress_set(k->progress, k->done, k->total);
    return TY_OK;
  }
  int to, result = 0;
  ty_status status = create(k, file->name, &to);
  if (status != TY_OK) return status;
  uint64_t n = 0;
  for (uint64_t at = 0; at < file->bytes && status == TY_OK && result >= 0; at += n) {
    status = read_piece(k, s, at, &n);
    if (status != TY_OK) break;
    /* Its header may count rows that were saved later, or not at all. */
    if (at == 0 && file == &k->saved.files.id_map) ty_id_map_head(file->bytes, k->saved.total_rows, k->piece);
    result = os->pwrite(os, to, k->piece, (size_t)n, at);
    k->args->copied += n;
    k->done += n;
    ty_progress_set(k->progress, k->done, k->total);
  }
  if (status == TY_OK) return finish(k, to, result, file->name);
  os->close(os, to);
  return status;
}

static ty_status copy_manifest(const copying *k) {
  const ty_collection *c = k->c;
  char path[TY_PATH_MAX];
  int to;
  ty_status status = create(k, TY_MANIFEST_NAME, &to);
  if (status != TY_OK) return status;
  int result = c->env->os.pwrite(&c->env->os, to, k->saved.text.data, (size_t)k->saved.text.bytes, 0);
  status = finish(k, to, result, TY_MANIFEST_NAME);
  if (status == TY_OK) return ty_file_sync_dir(c, k->args->dir, k->err);
  ty_path(k->args->dir, TY_MANIFEST_NAME, path);
  c->env->os.unlink(&c->env->os, path);
  return status;
}

ty_status ty_copy(ty_collection *c, ty_copy_args *args, ty_progress *progress, ty_error *err) {
  copying k = {.c = c, .args = args, .progress = progress, .err = err};
  args->linked = args->copied = args->map_differs = 0;
  if (strlen(args->dir) + NAME_MOST > TY_PATH_MAX)
    return ty_fail(err, TY_INVALID, "the copy's directory has too long a path");
  if ((k.piece = malloc(STEP)) == NULL) return ty_fail(err, TY_NO_MEMORY, "not enough memory for a copy");
  ty_status status = open_all(&k);
  for (uint32_t i = 0; i < k.count && status == TY_OK; i++) {
    if (k.sources[i].file != &k.saved.files.id_map || !args->map_differs) status = copy_file(&k, &k.sources[i]);
  }
  if (status == TY_OK) status = copy_manifest(&k);
  close_all(&k);
  free(k.piece);
  return status;
}

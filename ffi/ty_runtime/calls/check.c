/* ty_check: all that is damaged in a collection's files, also in those of one that cannot be opened. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include "disk/slab.h"
#include "disk/walk.h"
#include "state/load.h"

#define TRIES      5u
#define NAMES_MOST 1024u /* slabs of a directory without a manifest; more are not looked at */

/* One look at the directory. */
typedef struct look {
  ty_collection *t; /* an object for it; its damages are those that were found */
  ty_stamp stamp;   /* of the manifest, from before it was read */
  ty_walk walk;
  uint64_t generation;
  ty_progress *progress;
  ty_error *err;
} look;

static void note_manifest(const look *l, const char *what) {
  ty_damage d = ty_damage_of(TY_MANIFEST_NAME, TY_PART_MANIFEST, 0, 0, 0, what);
  ty_damage_note(l->t, &d);
}

static ty_status walk_id_map(look *l) {
  ty_error why;
  ty_status status = ty_walk_id_map(&l->walk, &why);
  if (status == TY_OK) return TY_OK;
  if (ty_cancelled(l->progress)) return ty_fail(l->err, TY_CANCELLED, "cancelled");
  const ty_file *f = &l->t->store->files.id_map;
  bool missing = status == TY_IO && why.sys_errno == ENOENT;
  if (status != TY_CORRUPT && !missing) {
    *l->err = why;
    return status;
  }
  const char *what = missing                          ? "it is missing"
                     : why.sys_errno > TY_NOT_REGULAR ? why.message + sizeof TY_ID_MAP_NAME ": " - 1
                                                      : "it does not match its checksum";
  ty_damage d = ty_damage_of(f->name, TY_PART_ID_MAP, 0, 0, f->bytes, what);
  ty_damage_note(l->t, &d);
  return TY_OK;
}

/* The files that the manifest names. */
static ty_status walk_named(look *l, const ty_saved *m) {
  ty_collection *t = l->t;
  ty_status status = ty_adopt_schema(t, &m->schema, l->err);
  if (status == TY_OK) status = ty_files_copy(&t->store->files, &m->files, l->err);
  if (status != TY_OK) return status;
  l->generation = m->generation;
  t->next_row = m->total_rows; /* for the id map, with 0 for the first row */
  status = ty_walk_files(&l->walk, l->err);
  return status == TY_OK ? walk_id_map(l) : status;
}

typedef struct names {
  ty_file *files;
  uint32_t count;
} names;

static void collect(void *ctx, const char *name) {
  names *n = ctx;
  if (!ty_is_slab(name) || strlen(name) >= sizeof n->files->name || n->count == NAMES_MOST) return;
  memcpy(n->files[n->count++].name, name, strlen(name) + 1);
}

/* Every slab of a directory whose manifest says nothing. */
static ty_status walk_unnamed(look *l) {
  ty_os *os = &l->t->env->os;
  names n = {.files = calloc(NAMES_MOST, sizeof *n.files)};
  if (n.files == NULL) return ty_fail(l->err, TY_NO_MEMORY, "out of memory for a check");
  int result = os->list(os, l->t->dir, collect, &n);
  ty_status status = result < 0 ? ty_fail_io(l->err, result, "list", "the collection's directory") : TY_OK;
  l->walk.unnamed = true;
  for (uint32_t i = 0; i < n.count && status == TY_OK; i++) {
    static const char *const roles[] = {"base-", "ivf-", "lexical-", "delta-", "meaning-", "history-"};
    uint32_t kind = TY_SLAB_BASE;
    while (strncmp(n.files[i].name, roles[kind - TY_SLAB_BASE], strlen(roles[kind - TY_SLAB_BASE])) != 0) kind++;
    int fd = ty_file_open(l->t, n.files[i].name, O_RDONLY);
    if (fd < 0 && fd > -TY_NOT_REGULAR) status = ty_fail_io(l->err, fd, "open", n.files[i].name);
    if (fd >= 0) result = os->size(os, fd, &n.files[i].bytes);
    if (fd >= 0 && result < 0) status = ty_fail_io(l->err, result, "read the size of", n.files[i].name);
    if (fd >= 0) os->close(os, fd);
    l->walk.total += n.files[i].bytes;
    if (status == TY_OK) status = ty_walk_file(&l->walk, &n.files[i], kind, l->err);
    ty_file_unmap(l->t, &n.files[i]);
  }
  free(n.files);
  return status;
}

static ty_status look_once(look *l) {
  ty_collection *t = l->t;
  ty_os *os = &t->env->os;
  int result = os->stamp(os, t->store->manifest_path, &l->stamp);
  if (result < 0 && result != -ENOENT && result != -ENOTDIR)
    return ty_fail_io(l->err, result, "look at", TY_MANIFEST_NAME);
  if (result < 0) {
    ty_status first = ty_first_check(t, l->err);
    if (first == TY_OK) return ty_fail(l->err, TY_NOT_FOUND, "there is no %s", TY_MANIFEST_NAME);
    if (first != TY_CORRUPT) return first;
    note_manifest(l, "it is missing");
    return walk_unnamed(l);
  }
  ty_buffer text = {0};
  ty_saved m = {0};
  ty_status status = ty_file_read(t, TY_MANIFEST_NAME, TY_MANIFEST_MAX, &text, l->err);
  if (status == TY_OK) status = ty_saved_read(t->env, &text, &m, l->err);
  if (status == TY_OK) {
    status = walk_named(l, &m);
  } else if (status == TY_CORRUPT) {
    const char *prefix = TY_MANIFEST_NAME ": ", *what = l->err->message;
    note_manifest(l, strncmp(what, prefix, strlen(prefix)) == 0 ? what + strlen(prefix) : what);
    status = walk_unnamed(l);
  }
  status = ty_name_writer(&m.text, status, l->err);
  ty_buffer_free(&text);
  ty_saved_free(&m);
  return status;
}

ty_status ty_check(ty_collection *c, ty_check_args *args, ty_progress *progress, ty_error *err) {
  for (uint32_t tries = 1;; tries++) {
    look l = {.progress = progress, .err = err};
    ty_stamp now;
    ty_status status = ty_shell(c->env, c->dir, &l.t, err);
    if (status != TY_OK) return status;
    l.walk = (ty_walk){.c = l.t, .progress = progress};
    status = look_once(&l);
    uint64_t room = args->out_capacity / sizeof(ty_damage);
    args->found = ty_damage_count(l.t);
    args->out_bytes = ty_damage_copy(l.t, (ty_damage *)(void *)args->out, room) * sizeof(ty_damage);
    args->bytes = l.walk.done;
    args->generation = l.generation;
    ty_shell_free(l.t);
    if (status == TY_OK) ty_progress_set(progress, l.walk.total, l.walk.total);
    /* A compaction in between removed the files: what matters is the state that it left. */
    bool moved =
        c->env->os.stamp(&c->env->os, c->store->manifest_path, &now) == 0 && memcmp(&now, &l.stamp, sizeof now) != 0;
    bool again = moved && tries < TRIES && (status == TY_OK ? args->found > 0 : status == TY_IO);
    if (again) continue;
    if (status == TY_OK && args->out_bytes > args->out_capacity)
      return ty_fail(err, TY_BUFFER, "%llu bytes are needed", (unsigned long long)args->out_bytes);
    return status;
  }
}

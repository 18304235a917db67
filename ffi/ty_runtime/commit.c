/* Begin, save, roll back, follow.
 *
 * A save: append the block and begin its sync, append to the id map, write the manifest beside the old one, sync, wait
 * for both, rename, sync the directory. The rename is the commit point. Whatever fails before it leaves the old state;
 * whatever fails at it or behind it leaves a disk that may say either, so then memory goes back to the old state and
 * the next look at the directory decides.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "store.h"

static ty_status sync_parent(const ty_collection *c, ty_error *err) {
  char parent[TY_PATH_MAX];
  snprintf(parent, sizeof parent, "%s", c->dir);
  size_t n = strlen(parent);
  while (n > 1 && parent[n - 1] == '/') parent[--n] = 0;
  char *slash = strrchr(parent, '/');
  if (slash == NULL) snprintf(parent, sizeof parent, ".");
  else slash[slash == parent ? 1 : 0] = 0;
  return ty_file_sync_dir(c, parent, err);
}

ty_status ty_commit(ty_collection *c, ty_next *next, ty_error *err) {
  TY_ASSERT(c->store->lock_fd >= 0 && next->generation == c->generation + 1 && next->live <= next->total);
  ty_buffer text = {0};
  ty_status status =
      ty_manifest_text(next->schema_of, next->files, next->generation, next->live, next->total, &text, err);
  if (status == TY_OK && next->first) status = sync_parent(c, err);
  if (status == TY_OK)
    status = ty_file_replace(c, TY_MANIFEST_NAME, text.data, text.bytes, next->before, next->before_ctx, &next->unknown,
                             err);
  if (status == TY_OK) status = ty_file_sync_dir(c, c->dir, err);
  next->bytes = text.bytes;
  ty_buffer_free(&text);
  if (status != TY_OK) return status;
  next->unknown = false;
  /* Where the directory went since the rename, the stamp may be of another's manifest, which is not in memory. */
  if (c->env->os.stamp(&c->env->os, c->store->manifest_path, &next->stamp) < 0 || ty_lock_still(c, NULL) != TY_OK)
    next->stamp = (ty_stamp){0};
  return TY_OK;
}

/* ---- The writer's lock ----------------------------------------------------------------------------------------------
 */
/* Who holds the lock, as it wrote into the file: 0 where that cannot be read. */
static long holder(const ty_collection *c, int fd) {
  char text[64] = {0};
  if (c->env->os.pread(&c->env->os, fd, text, sizeof text - 1, 0) <= 0) return 0;
  long pid = 0;
  return sscanf(text, "writer %ld", &pid) == 1 ? pid : 0;
}

/* 0 where the name still stands for the open file. Where the directory was removed (and perhaps made anew) meanwhile it
 * does not, and the lock keeps nobody out: -ENOENT. The open file keeps its inode, so no other can have the same. */
static int look_named(ty_os *os, int fd, const char *path) {
  ty_stamp held, named;
  int result = os->look(os, fd, &held);
  if (result >= 0) result = os->stamp(os, path, &named);
  if (result < 0) return result == -ENOTDIR ? -ENOENT : result;
  return held.device == named.device && held.inode == named.inode ? 0 : -ENOENT;
}

static int look_lock(const ty_collection *c) {
  char path[TY_PATH_MAX];
  ty_path(c->dir, TY_LOCK_NAME, path);
  return look_named(&c->env->os, c->store->lock_fd, path);
}

/* No system call failed, so there is no errno to tell. */
static ty_status lost(ty_error *err) {
  return ty_fail(err, TY_IO, "the collection's directory was removed or made anew: nothing was saved");
}

ty_status ty_lock_still(const ty_collection *c, ty_error *err) {
  int result = look_lock(c);
  if (result == 0) return TY_OK;
  return result == -ENOENT ? lost(err) : ty_fail_io(err, result, "look at", TY_LOCK_NAME);
}

bool ty_lock_lost(const ty_collection *c, ty_error *err) {
  if (look_lock(c) != -ENOENT) return false;
  lost(err);
  return true;
}

static ty_status lock_take(ty_collection *c, ty_error *err) {
  ty_os *os = &c->env->os;
  int result;
  pthread_rwlock_rdlock(&c->lock); /* a question may be following another process's first save */
  bool first = c->generation == 0;
  pthread_rwlock_unlock(&c->lock);
  if (first) {
    result = os->mkdir(os, c->dir, 0700);
    if (result < 0 && result != -EEXIST) return ty_fail_io(err, result, "create", "the collection's directory");
  }
  char path[TY_PATH_MAX];
  ty_path(c->dir, TY_LOCK_NAME, path);
  int fd = os->open(os, path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0600);
  if (fd == -ENOENT) return ty_fail(err, TY_NOT_FOUND, "the collection's directory is gone");
  if (fd < 0) return ty_fail_io(err, fd, "open", TY_LOCK_NAME);
  result = os->lock(os, fd);
  if (result == 0 && look_named(os, fd, path) < 0) {
    os->close(os, fd);
    return ty_fail(err, TY_BUSY, "the collection's directory was removed or made anew just now");
  }
  if (result == -EWOULDBLOCK) {
    long pid = holder(c, fd);
    os->close(os, fd);
    if (pid == (long)getpid())
      return ty_fail(err, TY_BUSY,
                     "the collection is being changed: its lock is held by process %ld, which is this one", pid);
    if (pid > 0) return ty_fail(err, TY_BUSY, "the collection is being changed: its lock is held by process %ld", pid);
    return ty_fail(err, TY_BUSY, "the collection is being changed: its lock is held by another process");
  }
  if (result < 0) {
    os->close(os, fd);
    return ty_fail_io(err, result, "lock", TY_LOCK_NAME);
  }
  /* Of a fixed length, so that no older name shines through. A full disk must not keep anyone from deleting: no failure
   * here. */
  char text[33];
  snprintf(text, sizeof text, "writer %-24ld\n", (long)getpid());
  (void)os->pwrite(os, fd, text, 32, 0);
  c->store->lock_fd = fd;
  return TY_OK;
}

static void lock_drop(ty_collection *c) {
  ty_os *os = &c->env->os;
  if (c->store->lock_fd < 0) return;
  os->unlock(os, c->store->lock_fd);
  os->close(os, c->store->lock_fd);
  c->store->lock_fd = -1;
}

/* ---- Changes --------------------------------------------------------------------------------------------------------
 */
ty_status ty_begin(ty_collection *c, ty_error *err) {
  struct ty_store *s = c->store;
  pthread_mutex_lock(&s->change);
  ty_status status = TY_OK;
  if (atomic_load(&s->writing)) status = ty_fail(err, TY_STATE, "a change is under way on this handle already");
  if (status == TY_OK) {
    status = lock_take(c, err);
    if (status == TY_OK) {
      pthread_rwlock_wrlock(&c->lock);
      status = ty_follow(c, true, err);
      if (status == TY_OK) {
        if (c->generation > 0 && !s->marker_gone) ty_first_end(c);
        ty_mark(c);
        s->changed = false;
        TY_ASSERT(s->lock_fd >= 0 && s->ops == 0 && s->killed_count == 0 && s->kept_rows == c->delta.count);
        atomic_store(&s->writing, true);
      }
      pthread_rwlock_unlock(&c->lock);
      if (status != TY_OK) lock_drop(c);
    }
  }
  pthread_mutex_unlock(&s->change);
  return status;
}

ty_status ty_change_enter(ty_collection *c, ty_error *err) {
  pthread_mutex_lock(&c->store->change);
  if (atomic_load(&c->store->writing)) return TY_OK;
  pthread_mutex_unlock(&c->store->change);
  return ty_fail(err, TY_STATE, "no change is under way: begin comes first");
}

void ty_change_leave(ty_collection *c) { pthread_mutex_unlock(&c->store->change); }

ty_status ty_change_end(ty_collection *c, ty_status status, bool unknown) {
  struct ty_store *s = c->store;
  pthread_rwlock_wrlock(&c->lock);
  TY_ASSERT(atomic_load(&s->writing) && s->lock_fd >= 0);
  if (status != TY_OK) ty_undo_locked(c);
  if (unknown) s->stamp = (ty_stamp){0};
  s->changed = false;
  atomic_store(&s->writing, false);
  pthread_rwlock_unlock(&c->lock);
  lock_drop(c);
  pthread_mutex_unlock(&s->change);
  return status;
}

void ty_rollback(ty_collection *c) {
  pthread_mutex_lock(&c->store->change);
  if (!atomic_load(&c->store->writing)) {
    pthread_mutex_unlock(&c->store->change);
    return;
  }
  ty_change_end(c, TY_CANCELLED, false);
}

/* ---- Saving what changed --------------------------------------------------------------------------------------------
 */
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
  file->mapped = have->mapped;
  return status;
}

/* What a save waits for before the rename. */
typedef struct pending {
  ty_delta_write write;
  bool open;
} pending;

static ty_status finish_write(void *ctx, ty_error *err) {
  pending *p = ctx;
  if (!p->open) return TY_OK;
  p->open = false;
  return ty_delta_finish(&p->write, err);
}

static ty_status save_delta(ty_collection *c, bool *unknown, ty_error *err) {
  struct ty_store *s = c->store;
  uint32_t known = s->files.delta_count;
  ty_files files = s->files;
  pending p = {.open = false};
  files.deltas = malloc((known + 1) * sizeof *files.deltas);
  if (files.deltas == NULL) return ty_fail(err, TY_NO_MEMORY, "out of memory for a save");
  if (known > 0) memcpy(files.deltas, s->files.deltas, known * sizeof *files.deltas);
  ty_next next = {.schema_of = c,
                  .files = &files,
                  .generation = c->generation + 1,
                  .live = c->base.live + c->delta.live,
                  .total = ty_total_rows(c),
                  .before = finish_write,
                  .before_ctx = &p};
  ty_status status = TY_OK;
  if (s->ops > 0) {
    status = ty_delta_append(c, next.generation, &files, &p.write, err);
    p.open = status == TY_OK;
    if (status == TY_OK) status = ty_id_map_append(c, s->kept_rows, &files.id_map, err);
    if (status == TY_OK) status = map_last(c, &files, files.delta_count > known, err);
  }
  /* The delta's sync goes on while the new manifest is written and synced; the rename waits for both. */
  if (status == TY_OK) status = ty_commit(c, &next, err);
  finish_write(&p, NULL); /* where something else failed first */
  /* A delta that is another file than before: the next look must read everything anew, whatever the manifest's stamp
   * says. */
  *unknown = next.unknown || status == TY_CORRUPT;
  if (status != TY_OK) {
    s->id_map_checked = false;
    bool gone = ty_lock_lost(c, err);
    if (gone) status = TY_IO, *unknown = true;
    if (files.delta_count > known) {
      ty_file_unmap(c, &files.deltas[known]);
      if (!gone && !next.unknown) ty_file_remove(c, files.deltas[known].name);
    } else if (s->ops > 0 && known > 0 && !gone && !next.unknown) {
      /* The tail that no manifest names took the room of a full disk: without it there is some to delete and compact
       * in. */
      ty_file_cut(c, &s->files.deltas[known - 1]);
    }
    free(files.deltas);
    return status;
  }
  pthread_rwlock_wrlock(&c->lock);
  free(s->files.deltas);
  s->files = files;
  if (files.delta_count > known) s->abandon_delta = false;
  if (s->ops > 0) ty_delta_settle(c, &s->files.deltas[files.delta_count - 1], p.write.from, s->kept_rows);
  c->generation = next.generation;
  s->stamp = next.stamp;
  s->manifest_bytes = next.bytes;
  ty_mark(c);
  pthread_rwlock_unlock(&c->lock);
  return TY_OK;
}

ty_status ty_save(ty_collection *c, ty_error *err) {
  ty_status status = ty_change_enter(c, err);
  if (status != TY_OK) return status;
  bool unknown = false;
  /* A change may have been held for minutes. */
  status = ty_lock_still(c, err);
  if (status != TY_OK) {
    unknown = true;
  } else if (c->generation == 0) {
    ty_rebase_wish keep = ty_rebase_keep(c);
    status = ty_rebase_run(c, &keep, NULL, &unknown, err);
  } else if (c->store->changed) {
    status = save_delta(c, &unknown, err);
  }
  return ty_change_end(c, status, unknown);
}

/* ---- Questions ------------------------------------------------------------------------------------------------------
 */
/* Whether the manifest is another than the one in memory. A failure to look counts as one: following reports it. */
static bool moved(ty_collection *c) {
  ty_stamp stamp;
  if (atomic_load(&c->store->writing)) return false;
  int result = c->env->os.stamp(&c->env->os, c->store->manifest_path, &stamp);
  if (result == -ENOENT && c->generation == 0) return false;
  return result < 0 || memcmp(&stamp, &c->store->stamp, sizeof stamp) != 0;
}

ty_status ty_enter(ty_collection *c, ty_error *err) {
  pthread_rwlock_rdlock(&c->lock);
  if (!moved(c)) return TY_OK;
  pthread_rwlock_unlock(&c->lock);
  pthread_rwlock_wrlock(&c->lock);
  ty_status status = atomic_load(&c->store->writing) ? TY_OK : ty_follow(c, true, err);
  pthread_rwlock_unlock(&c->lock);
  if (status != TY_OK) return status;
  pthread_rwlock_rdlock(&c->lock);
  return TY_OK;
}

void ty_leave(ty_collection *c) { pthread_rwlock_unlock(&c->lock); }

ty_status ty_refresh(ty_collection *c, ty_error *err) {
  if (atomic_load(&c->store->writing)) return ty_fail(err, TY_STATE, "a change is under way: save or roll back first");
  ty_status status = ty_enter(c, err);
  if (status == TY_OK) ty_leave(c);
  return status;
}

/* Files of a collection's directory: mapping, creating, replacing. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "disk/disk.h"
#include "disk/lock.h"
#include "os/plant.h"

static int kind_refused(ty_kind kind) { return kind == TY_KIND_FILE ? 0 : -TY_NOT_REGULAR - (int)kind; }

/* The path of a file, whose name is temporary if those of its collection are. */
static void path_of(const ty_collection *c, const char *name, char out[TY_PATH_MAX]) {
  char temporary[128];
  snprintf(temporary, sizeof temporary, "%s" TY_TEMPORARY "%ld-0", name, (long)getpid());
  ty_path(c->dir, c->store->temporary_names ? temporary : name, out);
}

/* A device is looked at first, as opening one may do something. What was opened decides: another process may have put
 * something else there in between. */
int ty_file_open(const ty_collection *c, const char *name, int flags) {
  ty_os *os = &c->env->os;
  ty_lstat seen;
  char path[TY_PATH_MAX];
  path_of(c, name, path);
  int result = os->state_at(os, AT_FDCWD, path, &seen);
  if (result == 0) result = kind_refused(seen.kind);
  if (result < 0 && result != -ENOENT) return result;
  int fd = os->open(os, path, flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0600);
  if (fd < 0) return fd;
  result = os->state_at(os, fd, NULL, &seen);
  if (result == 0) result = kind_refused(seen.kind);
  if (result == 0) return fd;
  os->close(os, fd);
  return result;
}

ty_status ty_incomplete(ty_status status, ty_error *err) {
  if (err == NULL) return status;
  int32_t code = err->sys_errno;
  char what[512];
  snprintf(what, sizeof what, "%s", err->message);
  ty_fail(err, status,
          "%s: it was cut off or removed, or this folder is a copy that was made while it was being written", what);
  err->sys_errno = code;
  return status;
}

ty_status ty_file_map(const ty_collection *c, ty_file *file, uint64_t reserve, ty_error *err) {
  ty_os *os = &c->env->os;
  const bool copy = reserve == TY_MAP_COPY;
  uint64_t length;
  ty_stamp found;
  int fd = ty_file_open(c, file->name, O_RDONLY);
  if (fd < 0) {
    ty_status failed = ty_fail_io(err, fd, "open", file->name);
    return fd == -ENOENT ? ty_incomplete(failed, err) : failed;
  }
  ty_status status = TY_OK;
  void *address = NULL;
  int result = os->look(os, fd, &found);
  const uint64_t bytes = copy && result >= 0 ? found.size : file->bytes;
  if (result < 0) {
    status = ty_fail_io(err, result, "read the size of", file->name);
  } else if (bytes == 0 || !ty_add(bytes, copy ? 0 : reserve, &length) || length > SIZE_MAX / 2) {
    status = ty_fail(err, TY_CORRUPT, "%s: %s has an impossible size", TY_MANIFEST_NAME, file->name);
  } else if (found.size < bytes) {
    status = ty_incomplete(ty_fail(err, TY_CORRUPT, "%s ends at offset %llu of %llu committed bytes", file->name,
                                   (unsigned long long)found.size, (unsigned long long)file->bytes),
                           err);
  } else if ((result = (copy ? os->map_copy : os->map)(os, fd, (size_t)length, &address)) < 0) {
    status = ty_fail_io(err, result, "map", file->name);
  }
  os->close(os, fd);
  if (status != TY_OK) return status;
  ty_guard *guard = ty_guard_take(address, (size_t)length);
  if (guard == NULL) {
    os->unmap(os, address, (size_t)length);
    return ty_fail(err, TY_NO_MEMORY, "out of memory for %s", file->name);
  }
  file->guard = guard;
  file->map = address;
  file->mapped = length;
  file->device = found.device;
  file->inode = found.inode;
  if (!copy) ty_file_end(file);
  return TY_OK;
}

void ty_file_end(ty_file *file) {
  file->last = file->bytes - 1;
  while (file->last > 0 && file->map[file->last] == 0) file->last--;
}

void ty_file_unmap(const ty_collection *c, ty_file *file) {
  if (file->map != NULL) {
    ty_guard_drop(file->guard);
    c->env->os.unmap(&c->env->os, (void *)(uintptr_t)file->map, (size_t)file->mapped);
  }
  file->map = NULL;
  file->guard = NULL;
  file->mapped = 0;
}

ty_status ty_file_create(const ty_collection *c, const char *name, int *fd, ty_error *err) {
  ty_os *os = &c->env->os;
  char path[TY_PATH_MAX];
  path_of(c, name, path);
  /* In another directory the name may be a file in use. */
  ty_status status = ty_lock_still(c, err);
  if (status != TY_OK) return status;
  int flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW;
  int result = os->open(os, path, flags, 0600);
  if (result == -EEXIST) {
    result = os->unlink(os, path);
    if (result == 0 || result == -ENOENT) result = os->open(os, path, flags, 0600);
  }
  if (result < 0) return ty_fail_io(err, result, "create", name);
  *fd = result;
  return TY_OK;
}

ty_status ty_file_sync_dir(const ty_collection *c, const char *dir, ty_error *err) {
  ty_os *os = &c->env->os;
  int fd = os->open(os, dir, O_RDONLY | O_DIRECTORY, 0);
  if (fd < 0) return ty_fail_io(err, fd, "open", "the collection's directory");
  int result = os->sync_dir(os, fd);
  os->close(os, fd);
  return result < 0 ? ty_fail_io(err, result, "sync", "the collection's directory") : TY_OK;
}

ty_status ty_file_same(const ty_collection *c, const ty_file *file, int fd, uint64_t bytes, ty_error *err) {
  ty_stamp found;
  int result = c->env->os.look(&c->env->os, fd, &found);
  if (result < 0) return ty_fail_io(err, result, "read the size of", file->name);
  if (found.device != file->device || found.inode != file->inode)
    return ty_fail(err, TY_CORRUPT, "%s is another file than the one that was opened", file->name);
  if (found.size < bytes)
    return ty_fail(err, TY_CORRUPT, "%s ends at offset %llu of %llu committed bytes", file->name,
                   (unsigned long long)found.size, (unsigned long long)bytes);
  return TY_OK;
}

ty_status ty_file_still(const ty_collection *c, const ty_file *file, uint64_t bytes, ty_error *err) {
  int fd = ty_file_open(c, file->name, O_RDONLY);
  if (fd < 0) return ty_fail_io(err, fd, "open", file->name);
  ty_status status = ty_file_same(c, file, fd, bytes, err);
  c->env->os.close(&c->env->os, fd);
  return status;
}

void ty_file_cut(const ty_collection *c, const ty_file *file) {
  ty_os *os = &c->env->os;
  int fd = ty_file_open(c, file->name, O_RDWR);
  if (fd < 0) return;
  if (ty_file_same(c, file, fd, file->bytes, NULL) == TY_OK) (void)os->truncate(os, fd, file->bytes);
  os->close(os, fd);
}

ty_status ty_file_read(const ty_collection *c, const char *name, uint64_t limit, ty_buffer *out, ty_error *err) {
  ty_os *os = &c->env->os;
  int fd = ty_file_open(c, name, O_RDONLY);
  if (fd == -TY_NOT_REGULAR - (int)TY_KIND_LINK)
    return ty_fail(err, TY_CORRUPT, "%s is a link, and links are not followed: put the file itself in its place", name);
  if (fd < 0) return ty_fail_io(err, fd, "open", name);
  uint64_t size = 0;
  ty_status status = TY_OK;
  int64_t got = os->size(os, fd, &size);
  if (got < 0) {
    status = ty_fail_io(err, (int)got, "read the size of", name);
  } else if (size > limit) {
    status = ty_fail(err, TY_CORRUPT, "%s is larger than %llu bytes", name, (unsigned long long)limit);
  } else if ((out->data = malloc((size_t)size + 1)) == NULL) {
    status = ty_fail(err, TY_NO_MEMORY, "out of memory reading %s", name);
  } else {
    out->capacity = size + 1;
    got = os->pread(os, fd, out->data, (size_t)size, 0);
    if (got < 0) status = ty_fail_io(err, (int)got, "read", name);
    else out->bytes = (uint64_t)got;
  }
  os->close(os, fd);
  return status;
}

/* TY_UNSURE, of the failure in `err`. */
static ty_status unsure(ty_error *err) {
  if (TY_PLANTED(SURE_ERROR)) return TY_IO;
  if (err == NULL) return TY_UNSURE;
  int32_t code = err->sys_errno;
  char why[512];
  snprintf(why, sizeof why, "%s", err->message);
  ty_fail(err, TY_UNSURE, "%s: the change may have been saved", why);
  err->sys_errno = code;
  return TY_UNSURE;
}

/* Gives a written file its name, durably. */
static ty_status commit_name(const ty_collection *c, const char *temporary, const char *name, int dir, ty_error *err) {
  ty_os *os = &c->env->os;
  char from[TY_PATH_MAX], to[TY_PATH_MAX];
  ty_stamp still;
  ty_path(c->dir, temporary, from);
  ty_path(c->dir, name, to);
  int result = os->rename(os, from, to);
  if (TY_PLANTED(IGNORED_RENAME)) result = 0;
  if (result < 0) {
    ty_status status = ty_fail_io(err, result, "rename", temporary);
    /* A file system over a network may fail a call that it has done. */
    return os->stamp(os, from, &still) == -ENOENT ? unsure(err) : status;
  }
  result = TY_PLANTED(NO_DIRECTORY_SYNC) ? 0 : os->sync_dir(os, dir);
  if (result >= 0) return TY_OK;
  ty_fail_io(err, result, "sync", "the collection's directory");
  return unsure(err);
}

static ty_status write_temporary(const ty_collection *c, const char *name, const void *data, uint64_t bytes,
                                 ty_error *err) {
  ty_os *os = &c->env->os;
  int fd;
  ty_status status = ty_file_create(c, name, &fd, err);
  if (status != TY_OK) return status;
  int result = os->pwrite(os, fd, data, (size_t)bytes, 0);
  const char *what = "write";
  if (result >= 0) result = os->sync(os, fd), what = "sync";
  int closed = os->close(os, fd);
  if (result >= 0) result = closed, what = result < 0 ? "close" : what;
  return result < 0 ? ty_fail_io(err, result, what, name) : TY_OK;
}

ty_status ty_file_replace(const ty_collection *c, const char *name, const void *data, uint64_t bytes,
                          ty_before_fn before, void *ctx, ty_error *err) {
  ty_os *os = &c->env->os;
  char temporary[96];
  TY_ASSERT(!c->store->temporary_names);
  snprintf(temporary, sizeof temporary, "%s" TY_TEMPORARY "%ld", name, (long)getpid());
  if (TY_PLANTED(IN_PLACE)) snprintf(temporary, sizeof temporary, "%s", name);
  int dir = os->open(os, c->dir, O_RDONLY | O_DIRECTORY, 0);
  if (dir < 0) return ty_fail_io(err, dir, "open", "the collection's directory");
  ty_status status = write_temporary(c, temporary, data, bytes, err);
  if (status == TY_OK && before != NULL) status = before(ctx, err);
  if (status == TY_OK) status = ty_lock_still(c, err); /* the syncs may have taken long */
  if (status == TY_OK) status = commit_name(c, temporary, name, dir, err);
  if (status != TY_OK) ty_file_remove(c, temporary); /* after a failed sync its pages may be lost */
  os->close(os, dir);
  return status;
}

void ty_file_remove(const ty_collection *c, const char *name) {
  char path[TY_PATH_MAX];
  path_of(c, name, path);
  if (ty_lock_still(c, NULL) == TY_OK) c->env->os.unlink(&c->env->os, path);
}

ty_status ty_file_give_name(const ty_collection *c, const char *name, ty_error *err) {
  ty_os *os = &c->env->os;
  char from[TY_PATH_MAX], to[TY_PATH_MAX];
  TY_ASSERT(c->store->temporary_names);
  path_of(c, name, from);
  ty_path(c->dir, name, to);
  ty_status status = ty_lock_still(c, err);
  if (status != TY_OK) return status;
  const int result = os->rename(os, from, to);
  return result < 0
             ? ty_fail_io(err, result == -EISDIR ? -TY_NOT_REGULAR - (int)TY_KIND_FOLDER : result, "rename", name)
             : TY_OK;
}

bool ty_file_lost(const ty_file *file) {
  if (file->map == NULL) return false;
  bool cut = file->last > 0 && *(const volatile uint8_t *)(file->map + file->last) == 0;
  return cut || ty_guard_lost(file->guard);
}

ty_status ty_files_whole(const ty_files *files, ty_error *err) {
  const ty_file *gone = ty_file_lost(&files->base)      ? &files->base
                        : ty_file_lost(&files->ivf)     ? &files->ivf
                        : ty_file_lost(&files->lexical) ? &files->lexical
                        : ty_file_lost(&files->history) ? &files->history
                                                        : NULL;
  for (uint32_t i = 0; i < files->delta_count && gone == NULL; i++) {
    if (ty_file_lost(&files->deltas[i])) gone = &files->deltas[i];
  }
  if (gone == NULL) return TY_OK;
  return ty_fail(err, TY_CORRUPT, "%s was truncated, or could not be read, while it was in use", gone->name);
}

ty_status ty_damaged(const ty_file *file, const char *what, uint64_t offset, ty_error *err) {
  return ty_fail(err, TY_CORRUPT, "%s: %s at offset %llu", file->name, what, (unsigned long long)offset);
}

ty_status ty_wrong_sum(const ty_file *file, ty_error *err) {
  return ty_fail(err, TY_CORRUPT, "%s: its %llu committed bytes do not match their checksum", file->name,
                 (unsigned long long)file->bytes);
}

void ty_files_unmap(const ty_collection *c, ty_files *files) {
  ty_file_unmap(c, &files->base);
  ty_file_unmap(c, &files->ivf);
  ty_file_unmap(c, &files->lexical);
  ty_file_unmap(c, &files->history);
  ty_file_unmap(c, &files->meaning); /* of a check, which maps it here */
  for (uint32_t i = 0; i < files->delta_count; i++) ty_file_unmap(c, &files->deltas[i]);
  free(files->deltas);
  *files = (ty_files){0};
}

uint64_t ty_delta_bytes(const ty_files *files) {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < files->delta_count; i++) bytes += files->deltas[i].bytes;
  return bytes;
}

uint64_t ty_files_bytes(const ty_files *files) {
  return files->base.bytes + files->ivf.bytes + files->lexical.bytes + files->history.bytes + files->id_map.bytes +
         files->meaning.bytes + ty_delta_bytes(files);
}

ty_status ty_files_copy(ty_files *to, const ty_files *from, ty_error *err) {
  *to = *from;
  to->base.map = to->ivf.map = to->lexical.map = to->history.map = NULL;
  to->deltas = NULL;
  if (from->delta_count == 0) return TY_OK;
  to->deltas = malloc(from->delta_count * sizeof *to->deltas);
  if (to->deltas == NULL) {
    *to = (ty_files){0};
    return ty_fail(err, TY_NO_MEMORY, "out of memory for %s", TY_MANIFEST_NAME);
  }
  memcpy(to->deltas, from->deltas, from->delta_count * sizeof *to->deltas);
  for (uint32_t i = 0; i < to->delta_count; i++) to->deltas[i].map = NULL;
  return TY_OK;
}

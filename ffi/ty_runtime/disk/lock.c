#include "disk/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "disk/disk.h"

/* The pid that the holder of the lock wrote into the file; 0 where it cannot be read. */
static long holder(const ty_collection *c, int fd) {
  char text[64] = {0};
  if (c->env->os.pread(&c->env->os, fd, text, sizeof text - 1, 0) <= 0) return 0;
  long pid = 0;
  return sscanf(text, "writer %ld", &pid) == 1 ? pid : 0;
}

/* 0 where the path still names the open file, -ENOENT where it does not: the directory was removed or recreated, and
 * the lock excludes no other writer. An open file's inode is not used again. */
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

/* No system call failed, so there is no errno. */
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

ty_status ty_lock_take(ty_collection *c, ty_error *err) {
  ty_os *os = &c->env->os;
  int result;
  pthread_rwlock_rdlock(&c->lock); /* a query may be following another process's first save */
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
  /* Of a fixed length, to overwrite the last pid whole. A failure is ignored: on a full disk rows can still be
   * deleted. */
  char text[33];
  snprintf(text, sizeof text, "writer %-24ld\n", (long)getpid());
  (void)os->pwrite(os, fd, text, 32, 0);
  c->store->lock_fd = fd;
  return TY_OK;
}

void ty_lock_drop(ty_collection *c) {
  ty_os *os = &c->env->os;
  if (c->store->lock_fd < 0) return;
  os->unlock(os, c->store->lock_fd);
  os->close(os, c->store->lock_fd);
  c->store->lock_fd = -1;
}

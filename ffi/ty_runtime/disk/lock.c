#include "disk/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "disk/disk.h"

#define LINE_1 32u /* "writer <pid>", spaces, a newline */
#define LINE_2 64u /* "<command> <what>", spaces, a newline */

/* Both lines, or the second one, of fixed lengths, so that the ones before are overwritten whole. */
static void write_lines(const ty_collection *c, int fd, bool both, const char *what) {
  char text[LINE_1 + LINE_2 + 1], second[LINE_2];
  snprintf(second, sizeof second, "%s %s", c->env->label, what);
  snprintf(text, sizeof text, "writer %-24ld\n%-63s\n", (long)getpid(), second);
  uint64_t from = both ? 0 : LINE_1;
  (void)c->env->os.pwrite(&c->env->os, fd, text + from, sizeof text - 1 - from, from);
}

/* The pid that a holder of the lock wrote into the file, and where its second line is; 0 where it cannot be read. */
static int64_t named(const ty_collection *c, int fd, char text[LINE_1 + LINE_2 + 1], const char **second) {
  int64_t got = c->env->os.pread(&c->env->os, fd, text, LINE_1 + LINE_2, 0);
  text[got < 0 ? 0 : got] = 0;
  *second = "";
  long pid = 0;
  if (sscanf(text, "writer %ld", &pid) != 1 || pid <= 0) return 0;
  if (got == LINE_1 + LINE_2 && text[LINE_1 - 1] == '\n') *second = text + LINE_1;
  return pid;
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
  return ty_fail(err, TY_IO, "the collection's directory was removed or replaced: nothing was saved");
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

/* Nothing that was saved is damaged. */
static ty_status no_lock_file(int refused, ty_error *err) {
  ty_error why;
  ty_fail_io(&why, refused, "open", TY_LOCK_NAME);
  return ty_fail(err, TY_IO, "%s: remove it", why.message);
}

static ty_status held(ty_error *err) {
  ty_fail(err, TY_BUSY, "another process, or another object of this one, holds its lock");
  if (err != NULL) err->sys_errno = EWOULDBLOCK;
  return TY_BUSY;
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
  int fd = ty_file_open(c, TY_LOCK_NAME, O_RDWR | O_CREAT);
  /* After the mkdir: another process has removed what it took for the folder of its own first save, which failed. */
  if (fd == -ENOENT && first) return ty_fail(err, TY_BUSY, "the collection's directory was removed just now");
  if (fd == -ENOENT) return ty_fail(err, TY_NOT_FOUND, "the collection's directory is gone");
  if (fd < -TY_NOT_REGULAR) return no_lock_file(fd, err);
  if (fd < 0) return ty_fail_io(err, fd, "open", TY_LOCK_NAME);
  result = os->lock(os, fd);
  int named = result == 0 ? look_named(os, fd, path) : 0;
  if (named < 0) {
    os->close(os, fd);
    if (named != -ENOENT) return ty_fail_io(err, named, "look at", TY_LOCK_NAME);
    return ty_fail(err, TY_BUSY, "the collection's directory was removed or replaced just now");
  }
  if (result == -EWOULDBLOCK) {
    os->close(os, fd);
    return held(err);
  }
  if (result < 0) {
    os->close(os, fd);
    return ty_fail_io(err, result, "lock", TY_LOCK_NAME);
  }
  write_lines(c, fd, true, "saving");
  c->store->lock_fd = fd;
  return TY_OK;
}

ty_status ty_lock_suspend(ty_collection *c, ty_error *err) {
  TY_ASSERT(c->store->lock_fd >= 0);
  const int result = c->env->os.unlock(&c->env->os, c->store->lock_fd);
  return result < 0 ? ty_fail_io(err, result, "unlock", TY_LOCK_NAME) : TY_OK;
}

ty_status ty_lock_resume(ty_collection *c, const char *what, ty_error *err) {
  ty_os *os = &c->env->os;
  const int fd = c->store->lock_fd, result = os->lock(os, fd);
  if (result == -EWOULDBLOCK) return held(err);
  if (result < 0) return ty_fail_io(err, result, "lock", TY_LOCK_NAME);
  const ty_status status = ty_lock_still(c, err);
  if (status == TY_OK) write_lines(c, fd, true, what);
  else os->unlock(os, fd);
  return status;
}

void ty_lock_drop(ty_collection *c) {
  ty_os *os = &c->env->os;
  if (c->store->lock_fd < 0) return;
  os->unlock(os, c->store->lock_fd);
  os->close(os, c->store->lock_fd);
  c->store->lock_fd = -1;
}

void ty_lock_says(const ty_collection *c, const char *what) {
  if (c->store->lock_fd >= 0) write_lines(c, c->store->lock_fd, false, what);
}

void ty_lock_holder(const ty_collection *c, ty_holder_args *out) {
  ty_os *os = &c->env->os;
  char text[LINE_1 + LINE_2 + 1];
  const char *second = "";
  ty_process seen = {0};
  int fd = ty_file_open(c, TY_LOCK_NAME, O_RDONLY);
  int64_t pid = fd < 0 ? 0 : named(c, fd, text, &second);
  if (fd >= 0) {
    if (os->holder(os, fd, pid, &seen) < 0) seen.pid = 0;
    os->close(os, fd);
  }
  /* A holder on a full disk may not have been able to write its name: the lines are of the one before. */
  if (seen.pid > 0 && seen.pid != pid) second = "";
  out->pid = (uint64_t)(seen.pid > 0 ? seen.pid : pid);
  out->state = seen.pid <= 0                      ? TY_HOLDER_UNSEEN
               : seen.pid == (int64_t)getpid()    ? TY_HOLDER_SELF
               : seen.state == TY_PROCESS_STOPPED ? TY_HOLDER_STOPPED
               : seen.state == TY_PROCESS_TRACED  ? TY_HOLDER_TRACED
                                                  : TY_HOLDER_RUNS;
  out->foreign = seen.pid > 0 && seen.user != geteuid();
  uint64_t bytes = strcspn(second, "\n");
  while (bytes > 0 && second[bytes - 1] == ' ') bytes--;
  memcpy(out->text, second, (size_t)bytes);
  out->text_bytes = bytes;
}

/* Every system call of an environment goes through here: it is counted, and may fail, be the process's last, be skipped
 * as a planted fault wants it, or be recorded (record.h). */
#pragma once

#include <signal.h>
#include <stdatomic.h>
#include "../native/store_model.h"

enum {
  CALL_OPEN = 1 << 0,
  CALL_CREATE = 1 << 1, /* open of a file that may not be there yet */
  CALL_CLOSE = 1 << 2,
  CALL_READ = 1 << 3,
  CALL_WRITE = 1 << 4,
  CALL_SYNC = 1 << 5,
  CALL_SYNC_DIR = 1 << 6,
  CALL_RENAME = 1 << 7,
  CALL_UNLINK = 1 << 8,
  CALL_MKDIR = 1 << 9,
  CALL_LOCK = 1 << 10,
  CALL_LOOK = 1 << 11, /* stamp, look, size, state_at, space */
  CALL_TRUNCATE = 1 << 12,
  CALL_ROOM = 1 << 13,
  CALL_MAP = 1 << 14,
  CALL_UNMAP = 1 << 15,
  CALL_LIST = 1 << 16,
  CALL_ALL = (1 << 17) - 1,
  /* Of these the file system's state depends. */
  CALL_CHANGES = CALL_CREATE | CALL_WRITE | CALL_SYNC | CALL_SYNC_DIR | CALL_RENAME | CALL_UNLINK | CALL_MKDIR |
                 CALL_TRUNCATE | CALL_ROOM
};

/* Where a planted fault is looked for, the first thing that is found is enough. */
static bool stop_early;
static inline bool enough(void) { return stop_early && check_failed > 0; }

/* What happens to the n-th call of the classes that are counted. */
typedef enum fate {
  FATE_NONE,
  FATE_FAIL,
  FATE_DIE,
  FATE_DIE_HALF, /* of a write, after half of its bytes */
  FATE_ACT       /* `act` is called before it */
} fate;

static struct {
  _Atomic uint64_t count; /* calls of `counted` since call_fate */
  uint64_t nth;
  fate fate;
  uint32_t counted, later; /* classes; those of `later` fail after the n-th call too */
  int code;
  void (*act)(void);
  _Atomic uint32_t hit; /* the class of the n-th call; 0: there was none */
} faults;

static void call_fate(fate what, uint64_t nth, int code, uint32_t counted, uint32_t later) {
  faults.fate = what;
  faults.nth = nth;
  faults.code = code;
  faults.counted = counted;
  faults.later = later;
  faults.count = 0;
  faults.hit = 0;
}

/* Ends the faults; whether the n-th call came. */
static uint32_t call_fate_end(void) {
  uint32_t hit = faults.hit;
  faults.fate = FATE_NONE;
  return hit;
}

static void die(void) {
  kill(getpid(), SIGKILL);
  for (;;) pause();
}

/* 0, or the failure of a call of this class. `half` where it is to die in the middle. */
static int call_begin(uint32_t class, bool *half) {
  if (half != NULL) *half = false;
  if (faults.fate == FATE_NONE || (class & faults.counted) == 0) {
    return faults.fate == FATE_FAIL && faults.hit != 0 && (class & faults.later) != 0 ? -faults.code : 0;
  }
  uint64_t n = atomic_fetch_add(&faults.count, 1) + 1;
  if (n == faults.nth) {
    faults.hit = class;
    if (faults.fate == FATE_DIE) die();
    if (faults.fate == FATE_ACT) {
      faults.fate = FATE_NONE;
      faults.act();
      return 0;
    }
    if (faults.fate == FATE_DIE_HALF) {
      if (class != CALL_WRITE) die();
      if (half != NULL) *half = true;
      return 0;
    }
    return -faults.code;
  }
  return n > faults.nth && (class & faults.later) != 0 && faults.fate == FATE_FAIL ? -faults.code : 0;
}

/* ---- The table ------------------------------------------------------------------------------------------------------
 */
static ty_os plain; /* the calls themselves */

/* What a recorder sees, and what it may say of a sync: see record.h. */
typedef struct call_recorder {
  void (*opened)(int fd, const char *path, bool may_create);
  void (*closed)(int fd);
  void (*wrote)(int fd, const void *data, size_t bytes, uint64_t offset);
  void (*truncated)(int fd, uint64_t bytes);
  uint64_t (*sync_begins)(int fd);
  void (*sync_ends)(int fd, uint64_t began, bool failed);
  void (*renamed)(const char *from, const char *to);
  void (*linked)(const char *from, const char *to);
  void (*unlinked)(const char *path);
  void (*made)(const char *path);
} call_recorder;
static const call_recorder *recorder;

/* Planted faults of the calls themselves: syncs of files whose names begin so do nothing, no lock excludes. */
static const char *skipped_sync;
static bool skipped_lock;
/* The manifest is renamed before its sync (-1), or only when the next lock is taken (1). */
static int moved_rename;
static char late_from[TY_PATH_MAX], late_to[TY_PATH_MAX];

static bool is_named(int fd, const char *beginning, char path[640]) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t n = readlink(link, path, 639);
  if (n < 0) return false;
  path[n] = 0;
  const char *name = strrchr(path, '/');
  return strncmp(name == NULL ? path : name + 1, beginning, strlen(beginning)) == 0;
}

static bool is_skipped(int fd) {
  char path[640];
  return skipped_sync != NULL && is_named(fd, skipped_sync, path);
}

static void rename_early(ty_os *os, int fd) {
  char from[640], to[640];
  if (!is_named(fd, "collection.json.tmp", from)) return;
  snprintf(to, sizeof to, "%s", from);
  *strstr(to, ".tmp") = 0;
  if (plain.rename(os, from, to) >= 0 && recorder != NULL) recorder->renamed(from, to);
}

static int calls_open(ty_os *os, const char *path, int flags, int mode) {
  bool may_create = (flags & O_CREAT) != 0;
  int failure = call_begin(may_create ? CALL_CREATE : CALL_OPEN, NULL);
  if (failure != 0) return failure;
  int fd = plain.open(os, path, flags, mode);
  if (fd >= 0 && recorder != NULL) recorder->opened(fd, path, may_create);
  return fd;
}

static int calls_close(ty_os *os, int fd) {
  int failure = call_begin(CALL_CLOSE, NULL);
  if (recorder != NULL) recorder->closed(fd);
  int result = plain.close(os, fd);
  return failure != 0 ? failure : result;
}

static int64_t calls_pread(ty_os *os, int fd, void *out, size_t bytes, uint64_t offset) {
  int failure = call_begin(CALL_READ, NULL);
  return failure != 0 ? failure : plain.pread(os, fd, out, bytes, offset);
}

/* A full disk takes a part of the bytes before it fails. */
static int calls_pwrite(ty_os *os, int fd, const void *data, size_t bytes, uint64_t offset) {
  bool half;
  int failure = call_begin(CALL_WRITE, &half);
  size_t n = failure != 0 || half ? bytes / 2 : bytes;
  int result = plain.pwrite(os, fd, data, n, offset);
  if (half) die();
  if (recorder != NULL) recorder->wrote(fd, data, n, offset);
  return failure != 0 ? failure : result;
}

/* No sync reaches the disk: a killed process's bytes stay in the page cache, and what a power cut leaves is made of the
 * recorded calls. On a disk the syncs took most of the time. */
static int no_sync(ty_os *os, int fd) {
  (void)os, (void)fd;
  return 0;
}
/* No other process writes while a test waits: a pause would only take time. */
static void no_pause(ty_os *os, uint64_t ns) { (void)os, (void)ns; }

static void calls_unsynced(ty_env *env) {
  env->os.sync = env->os.sync_dir = no_sync;
  env->os.pause = no_pause;
}

static int sync_as(ty_os *os, int fd, uint32_t class) {
  uint64_t began = recorder == NULL ? 0 : recorder->sync_begins(fd);
  int failure = call_begin(class, NULL);
  if (is_skipped(fd)) return 0;
  if (moved_rename < 0 && class == CALL_SYNC) rename_early(os, fd);
  if (recorder != NULL) recorder->sync_ends(fd, began, failure != 0);
  return failure;
}
static int calls_sync(ty_os *os, int fd) { return sync_as(os, fd, CALL_SYNC); }
static int calls_sync_dir(ty_os *os, int fd) { return sync_as(os, fd, CALL_SYNC_DIR); }

static int calls_rename(ty_os *os, const char *from, const char *to) {
  int failure = call_begin(CALL_RENAME, NULL);
  if (failure != 0) return failure;
  if (moved_rename != 0 && strstr(from, "collection.json.tmp") != NULL) {
    if (moved_rename > 0) snprintf(late_from, TY_PATH_MAX, "%s", from), snprintf(late_to, TY_PATH_MAX, "%s", to);
    return 0;
  }
  int result = plain.rename(os, from, to);
  if (result >= 0 && recorder != NULL) recorder->renamed(from, to);
  return result;
}

static int calls_link(ty_os *os, const char *from, const char *to) {
  int failure = call_begin(CALL_CREATE, NULL);
  if (failure != 0) return failure;
  int result = plain.link(os, from, to);
  if (result >= 0 && recorder != NULL) recorder->linked(from, to);
  return result;
}

static int calls_unlink(ty_os *os, const char *path) {
  int failure = call_begin(CALL_UNLINK, NULL);
  if (failure != 0) return failure;
  int result = plain.unlink(os, path);
  if (result >= 0 && recorder != NULL) recorder->unlinked(path);
  return result;
}

static int calls_mkdir(ty_os *os, const char *path, int mode) {
  int failure = call_begin(CALL_MKDIR, NULL);
  if (failure != 0) return failure;
  int result = plain.mkdir(os, path, mode);
  if (result >= 0 && recorder != NULL) recorder->made(path);
  return result;
}

static int calls_lock(ty_os *os, int fd) {
  int failure = call_begin(CALL_LOCK, NULL);
  if (late_from[0] != 0) (void)plain.rename(os, late_from, late_to), late_from[0] = 0;
  return failure != 0 ? failure : skipped_lock ? 0 : plain.lock(os, fd);
}

static int calls_unlock(ty_os *os, int fd) {
  int failure = call_begin(CALL_LOCK, NULL);
  return failure != 0 ? failure : plain.unlock(os, fd);
}

static int calls_stamp(ty_os *os, const char *path, ty_stamp *out) {
  int failure = call_begin(CALL_LOOK, NULL);
  return failure != 0 ? failure : plain.stamp(os, path, out);
}

static int calls_look(ty_os *os, int fd, ty_stamp *out) {
  int failure = call_begin(CALL_LOOK, NULL);
  return failure != 0 ? failure : plain.look(os, fd, out);
}

static int calls_size(ty_os *os, int fd, uint64_t *out) {
  int failure = call_begin(CALL_LOOK, NULL);
  return failure != 0 ? failure : plain.size(os, fd, out);
}

static int calls_truncate(ty_os *os, int fd, uint64_t bytes) {
  int failure = call_begin(CALL_TRUNCATE, NULL);
  if (failure != 0) return failure;
  int result = plain.truncate(os, fd, bytes);
  if (result >= 0 && recorder != NULL) recorder->truncated(fd, bytes);
  return result;
}

static int calls_room(ty_os *os, int fd, uint64_t bytes, uint64_t leave) {
  int failure = call_begin(CALL_ROOM, NULL);
  return failure != 0 ? failure : plain.room(os, fd, bytes, leave);
}

static int calls_map(ty_os *os, int fd, size_t bytes, void **out) {
  int failure = call_begin(CALL_MAP, NULL);
  return failure != 0 ? failure : plain.map(os, fd, bytes, out);
}

static int calls_map_write(ty_os *os, int fd, size_t bytes, void **out) {
  int failure = call_begin(CALL_MAP, NULL);
  return failure != 0 ? failure : plain.map_write(os, fd, bytes, out);
}

static int calls_map_copy(ty_os *os, int fd, size_t bytes, void **out) {
  int failure = call_begin(CALL_MAP, NULL);
  return failure != 0 ? failure : plain.map_copy(os, fd, bytes, out);
}

static int calls_unmap(ty_os *os, void *address, size_t bytes) {
  int failure = call_begin(CALL_UNMAP, NULL);
  int result = plain.unmap(os, address, bytes);
  return failure != 0 ? failure : result;
}

static int calls_list(ty_os *os, const char *path, void (*each)(void *ctx, const char *name), void *ctx) {
  int failure = call_begin(CALL_LIST, NULL);
  return failure != 0 ? failure : plain.list(os, path, each, ctx);
}

/* No change of a lock, but asked where one is refused. */
static int calls_holder(ty_os *os, int fd, int64_t named, ty_process *out) {
  int failure = call_begin(CALL_LOCK, NULL);
  return failure != 0 ? failure : plain.holder(os, fd, named, out);
}

static int calls_space(ty_os *os, const char *dir, uint64_t *out) {
  int failure = call_begin(CALL_LOOK, NULL);
  return failure != 0 ? failure : plain.space(os, dir, out);
}

static int calls_evict(ty_os *os, const void *address, size_t bytes) {
  int failure = call_begin(CALL_UNMAP, NULL);
  return failure != 0 ? failure : plain.evict(os, address, bytes);
}

/* The clock and a pause cannot fail and change nothing, so they are not a step of a run. */
static uint64_t calls_now(ty_os *os) { return plain.now(os); }

static int calls_open_at(ty_os *os, int folder, const char *name, int flags) {
  int failure = call_begin(CALL_OPEN, NULL);
  return failure != 0 ? failure : plain.open_at(os, folder, name, flags);
}

static int calls_state_at(ty_os *os, int folder, const char *name, ty_lstat *out) {
  int failure = call_begin(CALL_LOOK, NULL);
  return failure != 0 ? failure : plain.state_at(os, folder, name, out);
}

static int64_t calls_entries(ty_os *os, int folder, void *out, size_t capacity, void **reading) {
  int failure = call_begin(CALL_LIST, NULL);
  return failure != 0 ? failure : plain.entries(os, folder, out, capacity, reading);
}

/* Has no failure to return. */
static void calls_entries_end(ty_os *os, void **reading) {
  (void)call_begin(CALL_CLOSE, NULL);
  plain.entries_end(os, reading);
}

/* Every member of the table before its settings is a call, and none may be left as it was. */
static void check_wrapped(const ty_os *os) {
  enum { MEMBERS = offsetof(ty_os, calls) / sizeof(void (*)(void)) };
  for (size_t i = 0; i < MEMBERS; i++) {
    size_t at = i * sizeof(void (*)(void));
    CHECK_MESSAGE(memcmp((const char *)os + at, (const char *)&plain + at, sizeof(void (*)(void))) != 0,
                  "member %zu of ty_os, from 0, does not go through the fault layer", i);
  }
}

/* Leads the calls of an environment here. */
static void calls_wrap(ty_env *env) {
  ty_os *os = &env->os;
  plain = *os;
  os->open = calls_open;
  os->close = calls_close;
  os->pread = calls_pread;
  os->pwrite = calls_pwrite;
  os->sync = calls_sync;
  os->sync_dir = calls_sync_dir;
  os->rename = calls_rename;
  os->link = calls_link;
  os->unlink = calls_unlink;
  os->mkdir = calls_mkdir;
  os->lock = calls_lock;
  os->unlock = calls_unlock;
  os->stamp = calls_stamp;
  os->look = calls_look;
  os->size = calls_size;
  os->truncate = calls_truncate;
  os->room = calls_room;
  os->map = calls_map;
  os->map_write = calls_map_write;
  os->map_copy = calls_map_copy;
  os->unmap = calls_unmap;
  os->list = calls_list;
  os->holder = calls_holder;
  os->space = calls_space;
  os->evict = calls_evict;
  os->pause = no_pause;
  os->now = calls_now;
  os->open_at = calls_open_at;
  os->state_at = calls_state_at;
  os->entries = calls_entries;
  os->entries_end = calls_entries_end;
  check_wrapped(os);
}

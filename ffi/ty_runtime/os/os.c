/* The system calls; a test can inject a failure into each.
 *
 * Results are -errno, so that a clean-up call cannot overwrite the cause. */
#include "os/inject.h"
#include "os/plant.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#ifdef TY_ASSERTS
ty_plant ty_planted;
#endif

static int os_open(ty_os *os, const char *path, int flags, int mode) {
  RETURN_IF_INJECTED(os);
  int fd;
  do fd = open(path, flags | O_CLOEXEC, mode);
  while (fd < 0 && errno == EINTR);
  return fd < 0 ? -errno : fd;
}

/* The descriptor is closed either way, injected or not: closing twice could close another file. */
static int os_close(ty_os *os, int fd) {
  int failure = injected(os);
  int result = close(fd);
  if (failure) return failure;
  return result < 0 && errno != EINTR ? -errno : 0;
}

static int64_t os_pread(ty_os *os, int fd, void *out, size_t bytes, uint64_t offset) {
  RETURN_IF_INJECTED(os);
  size_t done = 0;
  while (done < bytes) {
    ssize_t n = pread(fd, (char *)out + done, bytes - done, (off_t)(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return -errno;
    if (n == 0) break;
    done += (size_t)n;
  }
  return (int64_t)done;
}

static int write_whole(int fd, const void *data, size_t bytes, uint64_t offset) {
  size_t done = 0;
  while (done < bytes) {
    ssize_t n = pwrite(fd, (const char *)data + done, bytes - done, (off_t)(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return -errno;
    if (n == 0) return -ENOSPC;
    done += (size_t)n;
  }
  return 0;
}

/* A full disk takes a part of the bytes before it fails, so an injected failure does too. */
static int os_pwrite(ty_os *os, int fd, const void *data, size_t bytes, uint64_t offset) {
  int failure = injected(os);
  if (failure == 0 && os->disk != 0) {
    off_t end = lseek(fd, 0, SEEK_END);
    uint64_t old = end < 0 ? 0 : (uint64_t)end;
    failure = ty_disk_take(os, old, offset + bytes > old ? offset + bytes : old);
    if (failure) return failure;
  }
  if (failure) {
    (void)write_whole(fd, data, bytes / 2, offset);
    return failure;
  }
  return write_whole(fd, data, bytes, offset);
}

static int os_sync(ty_os *os, int fd) {
  RETURN_IF_INJECTED(os);
#if defined(__APPLE__)
  /* Plain fsync on macOS does not flush the drive's cache. */
  if (fcntl(fd, F_FULLFSYNC) == 0) return 0;
  if (errno != ENOTSUP && errno != EINVAL) return -errno;
  return fsync(fd) < 0 ? -errno : 0;
#else
  return fdatasync(fd) < 0 ? -errno : 0;
#endif
}

static int os_sync_dir(ty_os *os, int fd) {
  RETURN_IF_INJECTED(os);
#if defined(__APPLE__)
  if (fcntl(fd, F_FULLFSYNC) == 0) return 0;
#endif
  return fsync(fd) < 0 ? -errno : 0;
}

static int os_rename(ty_os *os, const char *from, const char *to) {
  RETURN_IF_INJECTED(os);
  ty_disk_removed(os, to);
  return rename(from, to) < 0 ? -errno : 0;
}

static int os_link(ty_os *os, const char *from, const char *to) {
  RETURN_IF_INJECTED(os);
  return link(from, to) < 0 ? -errno : 0;
}

static int os_unlink(ty_os *os, const char *path) {
  RETURN_IF_INJECTED(os);
  ty_disk_removed(os, path);
  return unlink(path) < 0 ? -errno : 0;
}

static int os_mkdir(ty_os *os, const char *path, int mode) {
  RETURN_IF_INJECTED(os);
  return mkdir(path, (mode_t)mode) < 0 ? -errno : 0;
}

static int os_lock(ty_os *os, int fd) {
  RETURN_IF_INJECTED(os);
  int result;
  do result = flock(fd, LOCK_EX | LOCK_NB);
  while (result < 0 && errno == EINTR);
  return result < 0 ? -errno : 0;
}

static int os_unlock(ty_os *os, int fd) {
  RETURN_IF_INJECTED(os);
  return flock(fd, LOCK_UN) < 0 ? -errno : 0;
}

/* Of the file at `path`, or of the open one where that is NULL. Links are not followed: the stamp is that of the link.
 */
static int stamp_of(ty_os *os, const char *path, int fd, ty_stamp *out) {
  ty_lstat seen;
  RETURN_IF_INJECTED(os);
  int result = ty_lstat_of(path != NULL ? AT_FDCWD : fd, path, &seen);
  if (result < 0) return result;
  *out = (ty_stamp){seen.device, seen.inode, seen.size, (uint64_t)seen.modified_s * 1000000000u + seen.modified_ns};
  return 0;
}

static int os_stamp(ty_os *os, const char *path, ty_stamp *out) { return stamp_of(os, path, -1, out); }

static int os_look(ty_os *os, int fd, ty_stamp *out) { return stamp_of(os, NULL, fd, out); }

static int os_truncate(ty_os *os, int fd, uint64_t bytes) {
  RETURN_IF_INJECTED(os);
  off_t old = os->disk == 0 ? 0 : lseek(fd, 0, SEEK_END);
  int full = old < 0 ? 0 : ty_disk_take(os, (uint64_t)old, bytes);
  if (full < 0) return full;
  return ftruncate(fd, (off_t)bytes) < 0 ? -errno : 0;
}

/* lseek and not fstat: glibc 2.17 has fstat only as a static wrapper. */
static int os_size(ty_os *os, int fd, uint64_t *out) {
  RETURN_IF_INJECTED(os);
  off_t end = lseek(fd, 0, SEEK_END);
  if (end < 0) return -errno;
  *out = (uint64_t)end;
  return 0;
}

/* Not posix_fallocate: it writes to each block where the file system has no better way, which takes longer than it
 * saves. */
static int os_room(ty_os *os, int fd, uint64_t bytes, uint64_t leave) {
  RETURN_IF_INJECTED(os);
  struct rlimit most;
  /* Writing beyond this limit raises a signal that ends the process. */
  if (getrlimit(RLIMIT_FSIZE, &most) == 0 && most.rlim_cur != RLIM_INFINITY && bytes > most.rlim_cur) return -EFBIG;
  if (os->disk != 0) {
    off_t old = lseek(fd, 0, SEEK_END);
    if (old < 0 || bytes + leave > os->disk - 1) return -ENOSPC;
    int full = ty_disk_take(os, (uint64_t)old, bytes > (uint64_t)old ? bytes : (uint64_t)old);
    if (full < 0) return full;
  }
  struct statvfs disk;
  if (fstatvfs(fd, &disk) < 0) return -errno;
  uint64_t blocks = (bytes + leave) / disk.f_frsize + 1;
  if ((uint64_t)disk.f_bavail < blocks) return -ENOSPC;
#if defined(__APPLE__)
  off_t have = lseek(fd, 0, SEEK_END);
  if (have < 0) return -errno;
  if ((uint64_t)have >= bytes) return 0;
  fstore_t more = {F_ALLOCATEALL, F_PEOFPOSMODE, 0, (off_t)bytes - have, 0};
  if (fcntl(fd, F_PREALLOCATE, &more) < 0) return -errno;
  return ftruncate(fd, (off_t)bytes) < 0 ? -errno : 0;
#else
  int result;
  do result = fallocate(fd, 0, 0, (off_t)bytes);
  while (result < 0 && errno == EINTR);
  return result < 0 ? -errno : 0;
#endif
}

/* The superuser may also use the blocks that a file system keeps for it. */
static int os_space(ty_os *os, const char *dir, uint64_t *out) {
  RETURN_IF_INJECTED(os);
  struct statvfs disk;
  if (statvfs(dir, &disk) < 0) return -errno;
  uint64_t blocks = geteuid() == 0 ? (uint64_t)disk.f_bfree : (uint64_t)disk.f_bavail;
  *out = os->disk != 0 ? os->disk - 1 : blocks * (uint64_t)disk.f_frsize;
  return 0;
}

static int map_as(ty_os *os, int fd, size_t bytes, int protection, int flags, void **out) {
  RETURN_IF_INJECTED(os);
  void *address = mmap(NULL, bytes, protection, flags, fd, 0);
  if (address == MAP_FAILED) return -errno;
  *out = address;
  return 0;
}

static int os_map(ty_os *os, int fd, size_t bytes, void **out) {
  return map_as(os, fd, bytes, PROT_READ, MAP_SHARED, out);
}

/* MADV_RANDOM turns reading ahead off: with it, the first write to a page of a fresh file would also clear the pages
 * after it, even those that are not used, or not before the next eviction. */
static int os_map_write(ty_os *os, int fd, size_t bytes, void **out) {
  int result = map_as(os, fd, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, out);
  if (result >= 0) (void)madvise(*out, bytes, MADV_RANDOM);
  return result;
}

static int os_map_copy(ty_os *os, int fd, size_t bytes, void **out) {
  return map_as(os, fd, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, out);
}

static int os_unmap(ty_os *os, void *address, size_t bytes) {
  int failure = injected(os);
  int result = munmap(address, bytes);
  if (failure) return failure;
  return result < 0 ? -errno : 0;
}

static int os_evict(ty_os *os, const void *address, size_t bytes) {
  RETURN_IF_INJECTED(os);
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), first = ((uintptr_t)address + page - 1) / page * page;
  if (first >= (uintptr_t)address + bytes) return 0;
  return madvise((void *)first, (uintptr_t)address + bytes - first, MADV_DONTNEED) < 0 ? -errno : 0;
}

static int os_list(ty_os *os, const char *path, void (*each)(void *ctx, const char *name), void *ctx) {
  RETURN_IF_INJECTED(os);
  DIR *dir = opendir(path);
  if (dir == NULL) return -errno;
  for (;;) {
    errno = 0;
    struct dirent *entry = readdir(dir);
    if (entry == NULL) break;
    each(ctx, entry->d_name);
  }
  int result = -errno;
  closedir(dir);
  return result;
}

static void os_pause(ty_os *os, uint64_t ns) {
  (void)os;
  nanosleep(&(struct timespec){(time_t)(ns / 1000000000), (long)(ns % 1000000000)}, NULL);
}

static uint64_t os_now(ty_os *os) {
  (void)os;
  struct timespec t;
  if (clock_gettime(CLOCK_REALTIME, &t) != 0 || t.tv_sec < 0) return 0;
  return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

void ty_os_init(ty_os *os) {
  *os = (ty_os){.open = os_open,
                .close = os_close,
                .pread = os_pread,
                .pwrite = os_pwrite,
                .sync = os_sync,
                .sync_dir = os_sync_dir,
                .rename = os_rename,
                .link = os_link,
                .unlink = os_unlink,
                .mkdir = os_mkdir,
                .lock = os_lock,
                .unlock = os_unlock,
                .stamp = os_stamp,
                .look = os_look,
                .size = os_size,
                .truncate = os_truncate,
                .room = os_room,
                .space = os_space,
                .map = os_map,
                .map_write = os_map_write,
                .map_copy = os_map_copy,
                .unmap = os_unmap,
                .evict = os_evict,
                .pause = os_pause,
                .now = os_now,
                .list = os_list};
  ty_os_init_at(os);
  ty_os_init_process(os);
}

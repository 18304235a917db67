/* System calls relative to an open folder: no path is resolved twice, and no link can lead out of the folder. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/syscall.h>
#endif

#include "os/inject.h"

static int at_open(ty_os *os, int folder, const char *name, int flags) {
  RETURN_IF_INJECTED(os);
  int fd;
  do fd = openat(folder, name, flags | O_CLOEXEC);
  while (fd < 0 && errno == EINTR);
  return fd < 0 ? -errno : fd;
}

static ty_kind kind_of(mode_t mode) {
  return S_ISREG(mode)    ? TY_KIND_FILE
         : S_ISDIR(mode)  ? TY_KIND_FOLDER
         : S_ISLNK(mode)  ? TY_KIND_LINK
         : S_ISFIFO(mode) ? TY_KIND_FIFO
         : S_ISSOCK(mode) ? TY_KIND_SOCKET
                          : TY_KIND_DEVICE;
}

/* glibc before 2.33 has stat only as a static wrapper, and the one that the compiler brings for 2.17 stores errno where
 * no caller reads it (seen as a random cause, EISDIR for a missing file). The system call fills the same struct on both
 * of our Linux platforms. */
int ty_lstat_of(int folder, const char *name, ty_lstat *out) {
  struct stat st;
#if defined(__APPLE__)
  int result = name != NULL ? fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) : fstat(folder, &st);
  const struct timespec *modified = &st.st_mtimespec, *changed = &st.st_ctimespec;
#else
  int result = (int)(name != NULL ? syscall(SYS_newfstatat, folder, name, &st, AT_SYMLINK_NOFOLLOW)
                                  : syscall(SYS_newfstatat, folder, "", &st, AT_EMPTY_PATH));
  const struct timespec *modified = &st.st_mtim, *changed = &st.st_ctim;
#endif
  if (result < 0) return -errno;
  *out = (ty_lstat){.kind = kind_of(st.st_mode),
                    .device = (uint64_t)st.st_dev,
                    .inode = (uint64_t)st.st_ino,
                    .size = st.st_size < 0 ? 0 : (uint64_t)st.st_size,
                    .modified_s = (int64_t)modified->tv_sec,
                    .changed_s = (int64_t)changed->tv_sec,
                    .modified_ns = (uint32_t)modified->tv_nsec,
                    .changed_ns = (uint32_t)changed->tv_nsec};
  return 0;
}

static int at_state(ty_os *os, int folder, const char *name, ty_lstat *out) {
  RETURN_IF_INJECTED(os);
  return ty_lstat_of(folder, name, out);
}

#if defined(__APPLE__)
static uint8_t type_of(const struct dirent *entry) { return entry->d_type; }

static int64_t at_entries(ty_os *os, int folder, void *out, size_t capacity, void **reading) {
  RETURN_IF_INJECTED(os);
  if (*reading == NULL) {
    int own = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (own < 0) return -errno;
    *reading = fdopendir(own);
    if (*reading == NULL) {
      int failure = -errno;
      close(own);
      return failure;
    }
  }
  size_t bytes = 0;
  while (capacity - bytes >= TY_ENTRY_MAX) {
    errno = 0;
    const struct dirent *entry = readdir(*reading);
    if (entry == NULL) return errno != 0 ? -errno : (int64_t)bytes;
    size_t name = strnlen(entry->d_name, 255);
    size_t length = (offsetof(ty_entry, name) + name + 1 + 7) & ~(size_t)7;
    ty_entry *to = (ty_entry *)(void *)((uint8_t *)out + bytes);
    to->inode = (uint64_t)entry->d_ino;
    to->offset = 0;
    to->bytes = (uint16_t)length;
    to->type = type_of(entry);
    memcpy(to->name, entry->d_name, name);
    to->name[name] = 0;
    bytes += length;
  }
  return (int64_t)bytes;
}

static void at_entries_end(ty_os *os, void **reading) {
  (void)os;
  if (*reading != NULL) closedir(*reading);
  *reading = NULL;
}
#else
static int64_t at_entries(ty_os *os, int folder, void *out, size_t capacity, void **reading) {
  RETURN_IF_INJECTED(os);
  (void)reading;
  long bytes;
  do bytes = syscall(SYS_getdents64, folder, out, capacity);
  while (bytes < 0 && errno == EINTR);
  return bytes < 0 ? -errno : bytes;
}

static void at_entries_end(ty_os *os, void **reading) {
  (void)os;
  *reading = NULL;
}
#endif

ty_kind ty_entry_kind(uint8_t type) { return type == DT_UNKNOWN ? TY_KIND_UNKNOWN : kind_of(DTTOIF(type)); }

void ty_os_init_at(ty_os *os) {
  os->open_at = at_open;
  os->state_at = at_state;
  os->entries = at_entries;
  os->entries_end = at_entries_end;
}

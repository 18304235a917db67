/* A disk of a size, for tests: it counts the blocks of the files that grow and shrink through the table. */
#include <errno.h>
#include <sys/stat.h>
#if defined(__linux__)
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include "os/inject.h"

static uint64_t blocks(uint64_t bytes) { return (bytes + TY_DISK_BLOCK - 1) / TY_DISK_BLOCK * TY_DISK_BLOCK; }

int ty_disk_take(ty_os *os, uint64_t from, uint64_t to) {
  uint64_t have = __atomic_load_n(&os->disk, __ATOMIC_RELAXED), old = blocks(from), new = blocks(to);
  if (have == 0) return 0;
  if (new > old && new - old > have - 1) return -ENOSPC;
  __atomic_store_n(&os->disk, have + old - new, __ATOMIC_RELAXED);
  return 0;
}

void ty_disk_removed(ty_os *os, const char *path) {
  struct stat st;
  if (__atomic_load_n(&os->disk, __ATOMIC_RELAXED) == 0) return;
  /* The system call for the reason that stamp_of in os.c has. */
#if defined(__APPLE__)
  int result = lstat(path, &st);
#else
  int result = (int)syscall(SYS_newfstatat, AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW);
#endif
  if (result == 0 && st.st_nlink == 1) (void)ty_disk_take(os, (uint64_t)st.st_size, 0);
}

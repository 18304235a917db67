/* The failures that a test injects: every system call of the table begins with RETURN_IF_INJECTED or asks `injected`.
 * And a disk of a size: calls that make files longer ask ty_disk_take. */
#pragma once

#include "os/os.h"

/* Counts a call. 0, or the injected failure. */
static inline int injected(ty_os *os) {
  uint64_t n = __atomic_add_fetch(&os->calls, 1, __ATOMIC_RELAXED);
  uint64_t nth = __atomic_load_n(&os->fail_nth, __ATOMIC_RELAXED);
  if (nth == 0 || n < nth) return 0;
  if (n > nth && !__atomic_load_n(&os->fail_sticky, __ATOMIC_RELAXED)) return 0;
  return -__atomic_load_n(&os->fail_errno, __ATOMIC_RELAXED);
}
#define RETURN_IF_INJECTED(os)                                                                                         \
  do {                                                                                                                 \
    int failure = injected(os);                                                                                        \
    if (failure != 0) return failure;                                                                                  \
  } while (0)

/* What an entry is: by its name in a folder, not following a link; or with NULL the open file `folder` itself. 0, or
 * -errno. */
int ty_lstat_of(int folder, const char *name, ty_lstat *out);

#define TY_DISK_BLOCK 4096u
/* Takes the blocks by which a file grows from one size to another, and gives back those by which it shrinks: 0, or
 * -ENOSPC where there are not enough, with none taken. */
int ty_disk_take(ty_os *os, uint64_t from, uint64_t to);
/* Of a file that is being removed, by its path. */
void ty_disk_removed(ty_os *os, const char *path);

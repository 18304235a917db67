/* os: system calls and memory. The lowest folder: it uses none of the others, and of a collection only its directory.
 *
 *   os.h        every system call, behind one table, so that a test can fail any of them
 *   env.h       the environment; a collection's directory and the paths of its files
 *   assert.h    assertions
 *   fail.h      errors, and sizes that are checked for overflow
 *   buffer.h    runs of bytes, and a buffer that grows
 *   spill.h     arrays that grow with the rows, in memory or in a file
 *   resident.h  which pages of files stay in memory */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A manifest's identity: changes with every rename over it. */
typedef struct ty_stamp {
  uint64_t device, inode, size, mtime_ns;
} ty_stamp;

typedef struct ty_os ty_os;

/* All return 0 (or a count, or a descriptor) on success and -errno on failure; EINTR is retried inside, short reads and
 * writes are completed inside. */
struct ty_os {
  int (*open)(ty_os *os, const char *path, int flags, int mode);
  int (*close)(ty_os *os, int fd);
  /* Reads `bytes`, less only at the end of file. */
  int64_t (*pread)(ty_os *os, int fd, void *out, size_t bytes, uint64_t offset);
  int (*pwrite)(ty_os *os, int fd, const void *data, size_t bytes, uint64_t offset);
  int (*sync)(ty_os *os, int fd);     /* data and size; F_FULLFSYNC on macOS */
  int (*sync_dir)(ty_os *os, int fd); /* a directory's entries */
  int (*rename)(ty_os *os, const char *from, const char *to);
  int (*unlink)(ty_os *os, const char *path);
  int (*mkdir)(ty_os *os, const char *path, int mode);
  int (*lock)(ty_os *os, int fd); /* flock LOCK_EX | LOCK_NB: -EWOULDBLOCK when held elsewhere */
  int (*unlock)(ty_os *os, int fd);
  int (*stamp)(ty_os *os, const char *path, ty_stamp *out);
  int (*look)(ty_os *os, int fd, ty_stamp *out); /* the same of an open file */
  int (*size)(ty_os *os, int fd, uint64_t *out);
  int (*truncate)(ty_os *os, int fd, uint64_t bytes);
  /* Makes a file at least so long and allocates its blocks, so that writing to it cannot fail. -ENOSPC where less than
   * `leave` bytes would stay free. */
  int (*room)(ty_os *os, int fd, uint64_t bytes, uint64_t leave);
  int (*map)(ty_os *os, int fd, size_t bytes, void **out); /* read-only, shared */
  int (*map_write)(ty_os *os, int fd, size_t bytes, void **out);
  int (*unmap)(ty_os *os, void *address, size_t bytes);
  /* Evicts pages of a file's mapping: they stay mapped and are read again when they are touched. */
  int (*let_go)(ty_os *os, const void *address, size_t bytes);
  uint64_t (*now)(ty_os *os); /* milliseconds since 1970; 0 for a clock before. A test may set another clock */
  /* Calls `each` with every name in a directory. */
  int (*list)(ty_os *os, const char *path, void (*each)(void *ctx, const char *name), void *ctx);

  /* Fault injection: see ty_test_fail. */
  uint64_t calls;    /* since the last setting, atomic */
  uint64_t fail_nth; /* 0: off */
  int32_t fail_errno;
  uint32_t fail_sticky;
};

void ty_os_init(ty_os *os);

/* os: system calls and memory. The lowest folder: it uses none of the others, and of a collection only its directory.
 *
 *   os.h        the table of all system calls: each call goes through it, so that a test can fail any of them
 *   inject.h    those failures
 *   plant.h     bugs that tests plant
 *   env.h       the environment; a collection's directory and the paths of its files
 *   assert.h    assertions
 *   fail.h      errors, and sizes that are checked for overflow
 *   buffer.h    runs of bytes, and a buffer that grows
 *   arena.h     arrays that are freed together
 *   numbers.h   LEB128, random numbers, the logarithm: the same bits on every machine
 *   spill.h     arrays that grow with the rows, in memory or in a file
 *   huge.h      huge pages for large blocks of memory
 *   resident.h  which pages of files stay in memory
 *   guard.h     mapped files that another process truncates
 *   stop.h      the end of a process that does not come to it after a signal */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A manifest's identity: changes with every rename over it. */
typedef struct ty_stamp {
  uint64_t device, inode, size, mtime_ns;
} ty_stamp;

/* What an entry of a folder is. */
typedef enum ty_kind {
  TY_KIND_UNKNOWN,
  TY_KIND_FILE,
  TY_KIND_FOLDER,
  TY_KIND_LINK,
  TY_KIND_FIFO,
  TY_KIND_SOCKET,
  TY_KIND_DEVICE,
} ty_kind;

/* What lstat says of an entry. */
typedef struct ty_lstat {
  ty_kind kind; /* never unknown */
  uint64_t device, inode, size;
  int64_t modified_s, changed_s; /* seconds since 1970, of the content and of the inode */
  uint32_t modified_ns, changed_ns;
} ty_lstat;

/* An entry as the table's `entries` gives it: the layout of getdents64(2). */
typedef struct ty_entry {
  uint64_t inode;
  int64_t offset;
  uint16_t bytes; /* to the next entry */
  uint8_t type;   /* see ty_entry_kind */
  char name[];    /* NUL-terminated */
} ty_entry;
#define TY_ENTRY_MAX 280u /* bytes of the longest, with a name of 255 */
/* Unknown where the file system does not say. */
ty_kind ty_entry_kind(uint8_t type);

/* What the system knows of a process. */
typedef struct ty_process {
  int64_t pid; /* 0: none that can be seen from here */
  enum { TY_PROCESS_UNKNOWN, TY_PROCESS_RUNS, TY_PROCESS_STOPPED /* by a signal */, TY_PROCESS_TRACED } state;
  uint32_t user;
} ty_process;

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
  int (*link)(ty_os *os, const char *from, const char *to); /* another name of the same file */
  int (*unlink)(ty_os *os, const char *path);
  int (*mkdir)(ty_os *os, const char *path, int mode);
  int (*lock)(ty_os *os, int fd); /* flock LOCK_EX | LOCK_NB: -EWOULDBLOCK when held elsewhere */
  int (*unlock)(ty_os *os, int fd);
  /* Which process has the flock of an open file that this process could not take. `named` is a pid that the file names;
   * macOS does not say who has a lock, and that one is looked at. */
  int (*holder)(ty_os *os, int fd, int64_t named, ty_process *out);
  int (*stamp)(ty_os *os, const char *path, ty_stamp *out); /* follows no link */
  int (*look)(ty_os *os, int fd, ty_stamp *out);            /* the same of an open file */
  int (*size)(ty_os *os, int fd, uint64_t *out);
  int (*truncate)(ty_os *os, int fd, uint64_t bytes);
  /* Makes a file at least so long and allocates its blocks, so that writing to it cannot fail. -ENOSPC where less than
   * `leave` bytes would stay free. */
  int (*room)(ty_os *os, int fd, uint64_t bytes, uint64_t leave);
  int (*space)(ty_os *os, const char *dir,
               uint64_t *out); /* bytes that this process may still write to a file system */
  int (*map)(ty_os *os, int fd, size_t bytes, void **out); /* read-only, shared */
  int (*map_write)(ty_os *os, int fd, size_t bytes, void **out);
  int (*map_copy)(ty_os *os, int fd, size_t bytes, void **out); /* what is written to it does not reach the file */
  int (*unmap)(ty_os *os, void *address, size_t bytes);
  /* Evicts pages of a file's mapping: they stay mapped and are read again when they are touched. */
  int (*evict)(ty_os *os, const void *address, size_t bytes);
  void (*pause)(ty_os *os, uint64_t ns); /* shorter where a signal ends it */
  uint64_t (*now)(ty_os *os); /* milliseconds since 1970; 0 for a clock before. A test may set another clock */
  /* Calls `each` with every name in a directory. */
  int (*list)(ty_os *os, const char *path, void (*each)(void *ctx, const char *name), void *ctx);
  /* Of an entry of an open folder. */
  int (*open_at)(ty_os *os, int folder, const char *name, int flags);
  int (*state_at)(ty_os *os, int folder, const char *name, ty_lstat *out); /* follows no link; NULL: of the open file */
  /* The next entries of an open folder, packed, into at least 2 TY_ENTRY_MAX bytes, 8-byte aligned: their bytes; 0 at
   * the end. `reading` is NULL before the first call; `entries_end` ends it, also in the middle. */
  int64_t (*entries)(ty_os *os, int folder, void *out, size_t capacity, void **reading);
  void (*entries_end)(ty_os *os, void **reading);

  /* Fault injection: see ty_test_fail. */
  uint64_t calls;    /* since the last setting, atomic */
  uint64_t fail_nth; /* 0: off */
  int32_t fail_errno;
  uint32_t fail_sticky;
  uint64_t disk; /* see ty_test_disk: bytes that are free, + 1; 0: as many as the system says */
};

void ty_os_init(ty_os *os);
/* Parts of the table, which ty_os_init calls. */
void ty_os_init_at(ty_os *os); /* the calls relative to an open folder */
void ty_os_init_process(ty_os *os);

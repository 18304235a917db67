/* Which process has a file's lock, and whether it runs. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#else
#include <sys/sysctl.h>
#endif

#include "os/inject.h"

#if defined(__linux__)
/* A file of /proc, whole, with a NUL at the end: the caller frees it. NULL where it cannot be read. */
static char *read_proc(const char *path) {
  size_t capacity = 4096, bytes = 0;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  char *text = fd < 0 ? NULL : malloc(capacity);
  while (text != NULL) {
    ssize_t n = read(fd, text + bytes, capacity - bytes - 1);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    bytes += (size_t)n;
    if (capacity - bytes > 1) continue;
    char *larger = capacity < (size_t)4 << 20 ? realloc(text, capacity *= 2) : NULL;
    if (larger == NULL) break;
    text = larger;
  }
  if (text != NULL) text[bytes] = 0;
  if (fd >= 0) close(fd);
  return text;
}

/* The kernel gives pids as this process sees them, and leaves out the locks of processes that it does not see. The
 * device is not that of stat on some file systems (btrfs, overlays): there the file's inode counts, and the pid that
 * the file names. */
static int64_t lock_pid(const struct stat *st, int64_t named) {
  char *text = read_proc("/proc/locks"), *rest = NULL;
  int64_t found = 0;
  for (char *line = text == NULL ? NULL : strtok_r(text, "\n", &rest); line != NULL && found == 0;
       line = strtok_r(NULL, "\n", &rest)) {
    long pid;
    unsigned first, second;
    unsigned long long inode;
    if (sscanf(line, "%*s FLOCK %*s WRITE %ld %x:%x:%llu", &pid, &first, &second, &inode) != 4) continue;
    if (pid <= 0 || inode != (unsigned long long)st->st_ino) continue;
    if (pid == named || (first == major(st->st_dev) && second == minor(st->st_dev))) found = pid;
  }
  free(text);
  return found;
}

/* The state follows the command's name, which is in parentheses and may hold any character. */
static void look_at(ty_process *p) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%lld/stat", (long long)p->pid);
  char *text = read_proc(path), *end = text == NULL ? NULL : strrchr(text, ')');
  if (end != NULL && end[1] == ' ')
    p->state = end[2] == 'T' ? TY_PROCESS_STOPPED : end[2] == 't' ? TY_PROCESS_TRACED : TY_PROCESS_RUNS;
  free(text);
  struct stat st;
  if (syscall(SYS_newfstatat, AT_FDCWD, path, &st, 0) == 0) p->user = st.st_uid;
}

static int os_holder(ty_os *os, int fd, int64_t named, ty_process *out) {
  struct stat st;
  RETURN_IF_INJECTED(os);
  *out = (ty_process){.user = geteuid()};
  /* The system call for the reason that stamp_of in os.c has. */
  if (syscall(SYS_newfstatat, fd, "", &st, AT_EMPTY_PATH) < 0) return -errno;
  out->pid = lock_pid(&st, named);
  if (out->pid > 0) look_at(out);
  return 0;
}
#else
static int os_holder(ty_os *os, int fd, int64_t named, ty_process *out) {
  RETURN_IF_INJECTED(os);
  (void)fd;
  *out = (ty_process){.user = geteuid()};
  struct kinfo_proc info;
  size_t bytes = sizeof info;
  int what[4] = {CTL_KERN, KERN_PROC, KERN_PROC_PID, (int)named};
  if (named <= 0 || sysctl(what, 4, &info, &bytes, NULL, 0) < 0 || bytes == 0) return 0;
  out->pid = named;
  out->state = info.kp_proc.p_stat != SSTOP            ? TY_PROCESS_RUNS
               : (info.kp_proc.p_flag & P_TRACED) != 0 ? TY_PROCESS_TRACED
                                                       : TY_PROCESS_STOPPED;
  out->user = info.kp_eproc.e_ucred.cr_uid;
  return 0;
}
#endif

void ty_os_init_process(ty_os *os) { os->holder = os_holder; }

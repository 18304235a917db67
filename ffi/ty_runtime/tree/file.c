/* The read of one file below the root. A repository is untrusted input: a FIFO would block a plain open for ever, a
 * link may leave the root, and a file may be replaced at any time. So each folder is opened by its name in the one
 * above, without links, the file without blocking, and what it is, is asked of the open file. */
#include <errno.h>
#include <fcntl.h>

#include "tree/tree.h"

/* A file is binary if its first bytes have a NUL, as for git and ripgrep. */
#define PROBE_BYTES 8192u
/* The first read: most files end in it. */
#define FIRST_BYTES 65536u

static ty_status outcome_of(ty_tree_read_args *args, int code, const char *what, ty_error *err) {
  if (code == EMFILE || code == ENFILE || code == ENOMEM)
    return ty_fail_io(err, -code, what, "a file of a folder tree");
  bool is_gone = code == ENOENT || code == ENOTDIR || code == ELOOP;
  args->outcome = is_gone ? TY_TREE_READ_GONE : TY_TREE_READ_UNREADABLE;
  args->sys_errno = (uint64_t)code;
  return TY_OK;
}

static ty_status read_open(ty_tree *tree, ty_tree_read_args *args, int fd, ty_error *err) {
  ty_os *os = &tree->env->os;
  ty_lstat seen;
  int result = os->state_at(os, fd, NULL, &seen);
  if (result < 0) return outcome_of(args, -result, "stat", err);
  if (seen.kind != TY_KIND_FILE) return outcome_of(args, 0, "read", err);
  args->size = seen.size;
  args->mark = ty_mark_of(&seen);
  args->changed_ms = ty_changed_ms(&seen);
  args->outcome = TY_TREE_READ_TOO_LARGE;
  if (seen.size > args->most) return TY_OK;
  args->outcome = TY_TREE_READ_BUFFER;
  if (seen.size > args->out_capacity) return TY_OK;
  uint64_t first = seen.size < FIRST_BYTES ? seen.size : FIRST_BYTES;
  int64_t bytes = first == 0 ? 0 : os->pread(os, fd, args->out, (size_t)first, 0);
  if (bytes < 0) return outcome_of(args, (int)-bytes, "read", err);
  uint64_t probe = (uint64_t)bytes < PROBE_BYTES ? (uint64_t)bytes : PROBE_BYTES;
  args->outcome = TY_TREE_READ_BINARY;
  if (probe > 0 && memchr(args->out, 0, (size_t)probe) != NULL) return TY_OK;
  if ((uint64_t)bytes == first && seen.size > first) {
    int64_t more = os->pread(os, fd, args->out + first, (size_t)(seen.size - first), first);
    if (more < 0) return outcome_of(args, (int)-more, "read", err);
    bytes += more;
  }
  args->outcome = TY_TREE_READ_OK;
  args->bytes = (uint64_t)bytes;
  args->hash = ty_content_hash(args->out, (size_t)bytes);
  return TY_OK;
}

ty_status ty_read_below(ty_tree *tree, ty_tree_read_args *args, ty_error *err) {
  ty_os *os = &tree->env->os;
  args->outcome = TY_TREE_READ_UNREADABLE;
  args->bytes = args->size = args->hash = args->sys_errno = 0;
  args->mark = args->changed_ms = 0;
  const char *wrong = args->path_bytes == 0 ? "it is empty" : ty_path_wrong(args->path, args->path_bytes);
  if (wrong != NULL) return ty_fail(err, TY_INVALID, "the path of the file is invalid: %s", wrong);
  char path[TY_TREE_PATH_MAX + 1];
  uint32_t bytes = (uint32_t)args->path_bytes, name = bytes;
  memcpy(path, args->path, bytes);
  path[bytes] = 0;
  while (name > 0 && path[name - 1] != '/') name--;
  int folder = ty_folders_open(os, tree->root, &tree->read, path, name > 0 ? name - 1 : 0, false);
  if (folder < 0) return outcome_of(args, -folder, "open", err);
  int fd = os->open_at(os, folder, path + name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return outcome_of(args, -fd, "open", err);
  ty_status status = read_open(tree, args, fd, err);
  (void)os->close(os, fd);
  return status;
}

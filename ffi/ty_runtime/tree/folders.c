#include "tree/folders.h"

#include <fcntl.h>

#include "os/assert.h"
#include "tree/paths.h"

#define FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK)

static void close_to(ty_os *os, ty_folders *folders, uint32_t count) {
  while (folders->count > count) (void)os->close(os, folders->fds[--folders->count]);
}

void ty_folders_close(ty_os *os, ty_folders *folders) { close_to(os, folders, 0); }

/* How many of the open folders lie above the path or are its own. */
static uint32_t shared(const ty_folders *folders, const char *path, uint32_t bytes) {
  uint32_t count = folders->count > 0 ? 1 : 0;
  for (; count > 0 && count < folders->count; count++) {
    uint32_t from = folders->ends[count - 1], end = folders->ends[count];
    if (end > bytes || memcmp(folders->path + from, path + from, end - from) != 0) break;
    if (end < bytes && path[end] != '/') break;
  }
  return count;
}

int ty_folders_open(ty_os *os, const char *root, ty_folders *folders, const char *path, uint32_t bytes, bool is_fresh) {
  uint32_t keep = shared(folders, path, bytes);
  if (is_fresh && keep > 0 && folders->ends[keep - 1] == bytes) keep--;
  close_to(os, folders, keep);
  if (folders->count == 0) {
    int fd = os->open(os, root, FLAGS, 0);
    if (fd < 0) return fd;
    folders->fds[0] = fd;
    folders->ends[0] = 0;
    folders->count = 1;
  }
  for (uint32_t at = folders->ends[folders->count - 1]; at < bytes;) {
    if (at > 0) folders->path[at++] = '/';
    uint32_t n = ty_path_component(path, bytes, at);
    TY_ASSERT(folders->count <= TY_TREE_LEVELS_MAX && n > 0);
    memcpy(folders->path + at, path + at, n);
    folders->path[at + n] = 0;
    int fd = os->open_at(os, folders->fds[folders->count - 1], folders->path + at, FLAGS);
    if (fd < 0) {
      folders->path[folders->ends[folders->count - 1]] = 0;
      return fd;
    }
    at += n;
    folders->fds[folders->count] = fd;
    folders->ends[folders->count++] = at;
  }
  return folders->fds[folders->count - 1];
}

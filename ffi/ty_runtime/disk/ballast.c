#include "disk/ballast.h"

#include <errno.h>
#include <fcntl.h>

/* Other processes may have used it: looked at again after so many saves. */
#define LOOK_EVERY 64u
#define BLOCK      4096u

/* More for a manifest that would not fit. */
static uint64_t whole(const ty_collection *c) {
  uint64_t manifest = c->store->manifest_bytes;
  if (manifest <= TY_BALLAST_BYTES / 4) return TY_BALLAST_BYTES;
  return TY_BALLAST_BYTES * (2 + manifest / TY_BALLAST_BYTES);
}

/* Zeros, where the file system cannot allocate blocks by itself. */
static int write_zeros(ty_os *os, int fd, uint64_t from, uint64_t bytes) {
  static const uint8_t zeros[BLOCK];
  int result = 0;
  for (uint64_t at = from; at < bytes && result >= 0; at += sizeof zeros)
    result = os->pwrite(os, fd, zeros, (size_t)(bytes - at < sizeof zeros ? bytes - at : sizeof zeros), at);
  return result;
}

/* Makes it so long, and true where it is. */
static bool grow(ty_collection *c, uint64_t bytes, uint64_t leave) {
  ty_os *os = &c->env->os;
  uint64_t have = 0;
  int fd = ty_file_open(c, TY_BALLAST_NAME, O_RDWR | O_CREAT);
  if (fd < 0) return false;
  int result = os->size(os, fd, &have);
  if (result >= 0 && have < bytes) {
    result = os->room(os, fd, bytes, leave);
    if (result == -EOPNOTSUPP || result == -ENOSYS) result = write_zeros(os, fd, have, bytes);
  }
  os->close(os, fd);
  return result >= 0;
}

void ty_ballast_keep(ty_collection *c) {
  struct ty_store *s = c->store;
  if (s->lock_fd < 0 || (s->ballast_whole && c->generation % LOOK_EVERY != 0)) return;
  s->ballast_whole = grow(c, whole(c), TY_BALLAST_LEAVE);
}

bool ty_ballast_free(ty_collection *c) {
  ty_os *os = &c->env->os;
  uint64_t have = 0;
  c->store->ballast_whole = false;
  int fd = ty_file_open(c, TY_BALLAST_NAME, O_RDWR);
  if (fd < 0) return false;
  bool freed = os->size(os, fd, &have) >= 0 && have > 0 && os->truncate(os, fd, 0) >= 0;
  os->close(os, fd);
  return freed;
}

void ty_ballast_take_back(ty_collection *c) {
  uint64_t most = whole(c), room = 0;
  if (c->env->os.space(&c->env->os, c->dir, &room) < 0) return;
  if (room > most) room = most;
  /* The file system may need some blocks for itself. */
  for (room -= room % BLOCK; room > BLOCK; room -= BLOCK) {
    if (grow(c, room - BLOCK, 0)) return;
  }
}

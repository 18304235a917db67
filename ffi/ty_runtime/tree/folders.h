/* Open folders, from the root down to one: a neighbour costs one openat. */
#pragma once

#include "os/env.h"

typedef struct ty_folders {
  int fds[TY_TREE_LEVELS_MAX + 1];       /* of the root, and of each folder of `path` */
  uint32_t ends[TY_TREE_LEVELS_MAX + 1]; /* where the path of each ends */
  uint32_t count;                        /* open ones; 0: not the root either */
  char path[TY_TREE_PATH_MAX + 1];       /* of the last one */
} ty_folders;

/* Opens the folder at a path (ty_path_wrong finds nothing wrong with it) relative to `root`, each component by its name
 * in the one above, without following links. The descriptor, which stays the struct's, or -errno: then the folders down
 * to the last one that could be opened are open. `is_fresh`: reopened, to read its entries
 * from the first one. */
int ty_folders_open(ty_os *os, const char *root, ty_folders *folders, const char *path, uint32_t bytes, bool is_fresh);
void ty_folders_close(ty_os *os, ty_folders *folders);

/* Files of blocks, which only grow: deltas, and the file of meaning. A save appends one block after the last committed
 * byte, over whatever lies there: the torn tail of a save that no manifest named. */
#pragma once

#include "disk/disk.h"

/* Sets the checksum of a header whose other fields are set. */
void ty_block_seal(const ame_kernel *k, ty_block_header *b);
/* Whether a header is as it was written, wherever its payload ends. */
bool ty_block_is_whole(const ame_kernel *k, const ty_block_header *b, uint32_t magic);
/* The offset of the first header of a block with this magic, from `at` on, that is as it was written, with room for its
 * payload up to `end`, and that header; `end` where there is none. The payload is not compared. */
uint64_t ty_block_find(const ame_kernel *k, const ty_file *file, uint32_t magic, uint64_t at, uint64_t end,
                       ty_block_header *out);

/* Appending to a file: ty_append_open, ty_append_put as often as needed, then ty_append_sync or, after a failure,
 * ty_append_drop. Exactly one ty_append_finish follows each ty_append_sync, also where the save fails. */
typedef struct ty_append {
  ty_collection *c;
  uint32_t kind;
  uint64_t generation; /* of the save */
  /* What ty_append_open fills. */
  int fd;
  char name[64];
  uint64_t from; /* where the new bytes begin */
  bool fresh, beside;
} ty_append;
/* Opens what `file` names, which must be what is mapped. Without a name it creates a file with a header and names it.
 */
ty_status ty_append_open(ty_append *a, ty_file *file, ty_error *err);
/* Writes after the bytes of `file`, which grow; its checksum is continued. 0, or -errno. */
int ty_append_put(const ty_append *a, ty_file *file, const void *data, uint64_t bytes);
/* Ends a failed append; returns TY_IO, of the negative errno. */
ty_status ty_append_drop(const ty_append *a, int result, ty_error *err);
/* Begins the sync, on another thread where one is free. */
void ty_append_sync(ty_append *a);
/* Waits for the sync and closes the file. `lost`: set where the sync failed, as its pages may be lost and count as
 * clean; nothing may be appended to the file any more. */
ty_status ty_append_finish(ty_append *a, bool *lost, ty_error *err);

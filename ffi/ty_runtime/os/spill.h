/* Arrays that grow with the rows: in memory while they are small, beyond that in a file without a name in the
 * collection's directory.
 *
 * An ingest would else need memory for every row until the next rewrite of the base. The pages of a file can be
 * evicted: the system writes them out where it needs the room and brings them back where they are read. A file system
 * without room, or one that cannot set room aside, is no failure: the array stays in memory then. Nothing of it is
 * synced or ever read by another process, and a killed one leaves nothing behind.
 */
#ifndef TY_SPILL_H
#define TY_SPILL_H

#include <stdbool.h>
#include "os/env.h"

/* Arrays of more bytes go to a file; ty_env_open sets this and the next, tests set others. Writing into a mapped file
 * takes longer than into memory: with 4 MiB here ingests took up to a third more CPU. */
#define TY_SPILL_FROM ((uint64_t)16 << 20)
/* What stays free on the disk: the room is for saves. Readers, too, would else take it from writers. */
#define TY_SPILL_LEAVE ((uint64_t)1 << 30)
/* What their files are called while they have a name: with ".tmp-" and more behind it. */
#define TY_SPILL_NAME "spill"

typedef struct ty_spill {
  void *data;     /* 64-byte aligned at least; NULL: nothing was asked for yet */
  uint64_t bytes; /* room */
  bool in_file;   /* else in memory */
} ty_spill;

/* Room for `bytes`, of which the first `used` stay as they are and the new ones are zero. It may move. False: out of
 * memory, everything is as before. */
bool ty_spill_grow(ty_dir dir, ty_spill *s, uint64_t used, uint64_t bytes);
/* The same in a fresh array; the other one stays. */
bool ty_spill_copy(ty_dir dir, const ty_spill *from, uint64_t used, uint64_t bytes, ty_spill *out);
void ty_spill_free(ty_env *env, ty_spill *s);
/* Evicts the pages that are in a file. Other threads may read and write it meanwhile. */
void ty_spill_let_go(ty_env *env, const ty_spill *s);

#endif

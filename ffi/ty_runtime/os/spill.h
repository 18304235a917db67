/* Arrays that grow with the rows: in memory while they are small, beyond that in a file without a name in the
 * collection's directory.
 *
 * Without it an ingest would need memory for every row until the next rewrite of the base. Pages of a file can be
 * evicted: the system writes them out when it needs memory and reads them again when they are touched. Where the file
 * system is full or cannot allocate blocks the array stays in memory. The file is never synced or read by another
 * process, and a killed process leaves none behind. */
#pragma once

#include "os/env.h"

/* Arrays of more bytes go to a file; ty_env_open sets this and the next, tests set others. Writing into a mapped file
 * takes longer than into memory: with 4 MiB here ingests took up to a third more CPU. */
#define TY_SPILL_FROM ((uint64_t)16 << 20)
/* Bytes that stay free on the disk for saves: readers spill too. */
#define TY_SPILL_LEAVE ((uint64_t)1 << 30)
/* Freed blocks of memory that the environment keeps, in all: a batch of 500 rows of the text embedder takes 3.5 MB, and
 * a C library that gives such blocks back to the system takes them again page by page, a fifth of an import's faults.
 */
#define TY_SPARE_BYTES ((uint64_t)4 << 20)
/* The beginning of their files' names, before ".tmp-", until they are unlinked. */
#define TY_SPILL_NAME "spill"

typedef struct ty_spill {
  void *data;     /* 64-byte aligned at least; NULL: not allocated yet */
  uint64_t bytes; /* capacity */
  bool in_file;   /* else in memory */
} ty_spill;

/* Grows to `bytes`: the first `used` are kept, new ones are zero. `data` may move. False: out of memory, nothing
 * changed. */
bool ty_spill_grow(ty_dir dir, ty_spill *s, uint64_t used, uint64_t bytes);
/* The same into a new array; `from` is kept. */
bool ty_spill_copy(ty_dir dir, const ty_spill *from, uint64_t used, uint64_t bytes, ty_spill *out);
void ty_spill_free(ty_env *env, ty_spill *s);
/* The environment's kept blocks, at its opening and closing. */
void ty_spare_open(ty_env *env);
void ty_spare_close(ty_env *env);
/* Evicts the pages of an array in a file. Other threads may read and write it meanwhile. */
void ty_spill_evict(ty_env *env, const ty_spill *s);

/* An array to which is only appended: `used` bytes of its memory. */
typedef struct ty_growing {
  ty_spill memory;
  uint64_t used;
} ty_growing;
/* Room for so many bytes more, at its end. NULL: out of memory. */
void *ty_growing_room(ty_dir dir, ty_growing *g, uint64_t bytes);

/* What an ingest or a rewrite reads and writes of files does not stay resident: pages are evicted as they become
 * many, and the system has them in its cache for as long as it likes. Questions beside it bring back what they touch,
 * at a fraction of a microsecond a page.
 *
 * Who may call what. The delta's columns and the mapped files change under the exclusive lock and by the thread of the
 * change only, so that thread and the holder of the lock may evict them; unsaved operations are the change's alone,
 * and the threads' that work for it. The derived tables belong to the thread that builds them or has the exclusive
 * lock. Evicting memory that was given to something else meanwhile would empty it.
 */
#ifndef TY_RESIDENT_H
#define TY_RESIDENT_H

#include <stdatomic.h>
#include "os/env.h"

/* Resident at most, about, of each kind. Less would make questions beside it bring their pages back more often. */
#define TY_RESIDENT_MOST ((uint64_t)16 << 20)
/* The same where an index is built or kept, which reads rows here and there. What is evicted has to be mapped again,
 * row by row: with TY_RESIDENT_MOST the first index of 60,000 x 784 rows took 0.8 s longer to build, with this 0.3.
 * Files of TY_RESIDENT_FILES together are not evicted at all. */
#define TY_RESIDENT_BUILD ((uint64_t)64 << 20)
#define TY_RESIDENT_FILES ((uint64_t)512 << 20)
/* Of reading what does not come next, and of writing so. A fault of reading maps sixteen pages, of which two are
 * counted: eight times the bound may be resident. */
#define TY_SCATTERED       ((uint64_t)8 << 10)
#define TY_SCATTERED_WRITE ((uint64_t)4 << 10)

/* Kinds of what may be resident: the base's file; the delta's files and columns; unsaved operations, which only the
 * change's own thread and those that work for it may name; tables by id and by birth, of the holder of `derive` or the
 * exclusive lock. */
enum { TY_OF_BASE = 1, TY_OF_DELTA = 2, TY_OF_OPERATIONS = 4, TY_OF_DERIVED = 8, TY_KINDS = 4 };
/* Bytes of each kind that became resident since it was evicted, and how to evict a kind (1 << i). */
typedef struct ty_resident {
  _Atomic uint64_t touched[TY_KINDS];
  void (*let_go)(void *owner, unsigned kind);
  void *owner;
} ty_resident;

/* Counts so many more bytes of these kinds as resident; kinds that came to `most` are evicted. For the change's own
 * thread, or under the lock. */
void ty_touched(ty_resident *r, unsigned kinds, uint64_t bytes, uint64_t most);
/* The checksum of mapped bytes, which do not stay resident where they are many. */
uint32_t ty_crc_mapped(ty_env *env, uint32_t crc, const uint8_t *data, uint64_t bytes);

#endif

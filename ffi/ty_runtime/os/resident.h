/* Pages of files that an ingest or a rewrite reads and writes do not stay resident: they are evicted when they become
 * many; the system may keep them in its page cache. Concurrent queries map the pages that they touch again, at a
 * fraction of a microsecond a page.
 *
 * Who may evict what. The delta's columns and the mapped files change only under the exclusive lock and by the thread
 * of the change, so that this thread and the holder of the lock may evict them; unsaved operations, only the change's
 * threads; derived tables, only the thread that builds them or holds the exclusive lock. Evicting memory that was freed
 * and given out again would zero it. */
#pragma once

#include <stdatomic.h>
#include "os/env.h"

/* About the most that is resident of each kind. With less, concurrent queries map pages again more often. */
#define TY_RESIDENT_MOST ((uint64_t)16 << 20)
/* The same while a base is rewritten, which reads rows in the order of their partitions, once for each section: evicted
 * ones are mapped again one by one. With TY_RESIDENT_MOST the first index of 60,000 x 784 rows took 0.8 s longer to
 * build, with this 0.3; a compaction of 100,000 notes in 50 partitions took 2.6 s of CPU, with this 1.5, without
 * evictions 1.1. Nothing is evicted if an IVF index is built or kept and the files have at most TY_RESIDENT_FILES
 * together, or if there are several partitions and the files have at most TY_RESIDENT_REWRITE. For larger files, rows
 * of the text embedder are first copied in the order of the new base (state/sorted.h). Small files are rewritten faster
 * without that copy: with 70 MB a compaction took 8 us a row without it and 10 with it, with 1.2 GB 18 and 10. */
#define TY_RESIDENT_BUILD   ((uint64_t)64 << 20)
#define TY_RESIDENT_FILES   ((uint64_t)512 << 20)
#define TY_RESIDENT_REWRITE ((uint64_t)128 << 20)
/* Bytes counted for a scattered read and write. A read fault maps sixteen pages, of which two are counted: eight times
 * the bound may be resident. */
#define TY_SCATTERED       ((uint64_t)8 << 10)
#define TY_SCATTERED_WRITE ((uint64_t)4 << 10)

/* Kinds of resident memory: the base's file; the delta's files and columns; unsaved operations, for the change's
 * threads only; tables by id and by birth, for the holder of `derive` or the exclusive lock. */
enum { TY_OF_BASE = 1, TY_OF_DELTA = 2, TY_OF_OPERATIONS = 4, TY_OF_DERIVED = 8, TY_KINDS = 4 };
/* Bytes of each kind that became resident since it was evicted, and how to evict a kind (1 << i). */
typedef struct ty_resident {
  _Atomic uint64_t touched[TY_KINDS];
  void (*evict)(void *owner, unsigned kind);
  void *owner;
} ty_resident;

/* Counts so many more bytes of these kinds as resident and evicts kinds that reach `most`. For the change's own thread,
 * or under the lock. */
void ty_touched(ty_resident *r, unsigned kinds, uint64_t bytes, uint64_t most);
/* The checksum of mapped bytes; evicts them in steps of TY_RESIDENT_MOST. */
uint32_t ty_crc_mapped(ty_env *env, uint32_t crc, const uint8_t *data, uint64_t bytes);

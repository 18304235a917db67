/* What an ingest or a rewrite reads and writes of files does not stay resident: the pages are let go as they become many, and the system has them
 * in its cache for as long as it likes. Questions beside it bring back what they touch, at a fraction of a microsecond a page.
 *
 * Who may call what. The delta's columns and the mapped files change under the exclusive lock and by the thread of the change only, so that
 * thread and whoever has the lock may let go of them; unsaved operations are the change's alone, and the threads' that work for it. The derived
 * tables belong to whoever builds them or has the exclusive lock. Letting go of memory that meanwhile became something else's would empty it.
 */
#ifndef TY_RESIDENT_H
#define TY_RESIDENT_H

#include "internal.h"

/* Resident at most, about, of what an ingest passes over. Less would make questions beside it bring their pages back more often. */
#define TY_RESIDENT_MOST ((uint64_t)16 << 20)
/* The same of a rewrite. In the order of lists or partitions it reads here and there, a fault maps sixteen pages and only two are counted: 500 MB may be
 * resident then. What is let go has to be mapped again, row by row: bounds of an eighth made the first index of 60,000 x 784 rows 0.8 s longer
 * to build. */
#define TY_RESIDENT_REWRITE ((uint64_t)64 << 20)
#define TY_SCATTERED        ((uint64_t)8 << 10)
#define TY_SCATTERED_WRITE  ((uint64_t)4 << 10) /* writing maps one */
/* Tells that so many more bytes of mapped files or the delta's columns are resident; past the bound they are let go. For the change's own
 * thread, or under the lock. */
void ty_touched(const ty_collection *c, uint64_t bytes);
/* The same, of unsaved operations too, past the bound given: for the change's own thread and those that work for it. */
void ty_passed(const ty_collection *c, uint64_t bytes, uint64_t most);
/* The same of the derived tables: under `derive` or the exclusive lock. */
void ty_derived_touched(const ty_collection *c, uint64_t bytes);
/* The checksum of mapped bytes, which do not stay resident where they are many. */
uint32_t ty_crc_mapped(const ty_collection *c, uint32_t crc, const uint8_t *data, uint64_t bytes);

#endif

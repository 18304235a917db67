/* The ballast: blocks that a collection keeps for deletions on a full disk.
 *
 * A deletion frees nothing before the next compaction, and needs a new manifest, at times a block of the delta: on a
 * full disk nothing could be deleted to make room. A save that puts no rows and meets a full disk frees the ballast,
 * is tried again, and takes back what it leaves. */
#pragma once

#include "disk/disk.h"

/* A manifest of up to a quarter of it and 350 deletions fit, one by one, if no other process takes the blocks. */
#define TY_BALLAST_BYTES ((uint64_t)64 << 10)
/* What stays free beside it where it is made: on a disk that is nearly full it would take the place of a row. */
#define TY_BALLAST_LEAVE ((uint64_t)1 << 20)

/* Makes it whole, under the writer's lock, where TY_BALLAST_LEAVE other bytes stay free. Asks the system only where
 * this handle has not found it whole lately. Failures are ignored; nothing is synced. */
void ty_ballast_keep(ty_collection *c);
/* Gives its blocks to the file system. False: there are none. */
bool ty_ballast_free(ty_collection *c);
/* Makes as much of it as there are free blocks for. */
void ty_ballast_take_back(ty_collection *c);

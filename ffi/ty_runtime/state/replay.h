/* From the bytes of a delta to its rows. */
#ifndef TY_REPLAY_H
#define TY_REPLAY_H

#include "disk/file.h"

/* Applies the blocks of a mapped delta from an offset on to its committed end. The bytes have passed their checksum. */
ty_status ty_delta_replay(ty_collection *c, const ty_file *file, uint64_t from, ty_error *err);
/* Points the rows from delta position `at` on, which were saved in the block at `from`, to the mapping. */
void ty_delta_settle(ty_collection *c, const ty_file *file, uint64_t from, uint64_t at);
/* Makes sure that `bytes` of a delta are mapped; rows that point into the old mapping follow. Under the exclusive lock.
 */
ty_status ty_delta_remap(ty_collection *c, ty_file *file, uint64_t bytes, ty_error *err);

#endif

/* Reading the rows of a delta. */
#pragma once

#include "disk/file.h"

/* The generations that the next blocks may have: above that of the block before, up to the manifest's. */
typedef struct ty_block_span {
  uint64_t above, most;
} ty_block_span;
/* Applies the blocks of a mapped delta from an offset to its committed end. The caller has compared the checksum.
 * `span` is moved on. `makes_sparse`: rows become sparse blocks while they are added; under the exclusive lock, or into
 * a state that no other thread has. */
ty_status ty_delta_replay(ty_collection *c, const ty_file *file, uint64_t from, bool makes_sparse, ty_block_span *span,
                          ty_error *err);
/* Points the rows from delta position `at` on, which were saved in the block at `from`, to the mapping. */
void ty_delta_settle(ty_collection *c, const ty_file *file, uint64_t from, uint64_t at);
/* Maps at least `bytes` of a delta and moves the pointers of its rows. Under the exclusive lock. */
ty_status ty_delta_remap(ty_collection *c, ty_file *file, uint64_t bytes, ty_error *err);

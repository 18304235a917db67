/* What the last destructive save superseded: the dead rows of earlier saves that the last block which killed any
 * deleted or replaced. They lie in the base and in the deltas as they were, until a rewrite drops them; one that keeps
 * them can still be undone. The manifest has that block's generation and time. */
#pragma once

#include "state/state.h"

/* So long a rewrite that asks for it keeps them. */
#define TY_SUPERSEDED_MS ((uint64_t)24 * 60 * 60 * 1000)

/* A block was replayed before which `killed` rows had died since the mark and there were `rows` in all. */
void ty_superseded_block(ty_collection *c, uint64_t generation, uint64_t killed, uint64_t rows);
/* After a replay: the rows of the block that the manifest names, `named`, of which `before` were the state's before.
 * Where the deltas have no such block, none. */
ty_status ty_superseded_settle(ty_collection *c, ty_superseded_save before, ty_superseded_save named, ty_error *err);
/* For a save: the rows that died since the mark and were saved before. None: `places` is NULL. */
ty_status ty_superseded_since(const ty_collection *c, ty_superseded_rows *out, ty_error *err);
/* How many of them a rewrite keeps that asks for it: all or none. */
uint64_t ty_superseded_count(const ty_collection *c);
/* Writes, under the lock of `c`, the first delta of the base that was just written and opened in `t`: a block that
 * deletes the rows which those of `c` have become by `rank`, and kills them in `t`. Fills the files of `t`. */
ty_status ty_superseded_write(ty_collection *t, const ty_collection *c, const ty_place *rank, ty_superseded_save save,
                              ty_error *err);

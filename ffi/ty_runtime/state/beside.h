/* A rewrite of the base beside writers: it may take minutes in a large collection, and no save waits for it.
 *
 * It begins under the writer's lock and releases it. At a low priority it writes the last saved state to files with
 * temporary names, and then copies what others save meanwhile (tail.h), until little is left. It takes the lock again,
 * copies the rest and commits. The result is as if the base had been rewritten under the lock at the beginning, and the
 * same saves had followed. FORMAT.md has the steps as others see them. */
#pragma once

#include "state/rebase.h"

/* How far the first row number of the new base is above the last one of the state that was read. Saves take the numbers
 * in between, which have room for as many rows as fit into a collection, so that no number is used twice. */
#define TY_BESIDE_ROWS ((uint64_t)TY_ROWS_MAX + 1)

typedef struct ty_beside {
  uint64_t reclaimed, live; /* rows that were left out; live rows of the new state */
  bool unknown;             /* as in ty_next */
} ty_beside;

/* Rewrites and commits. The caller has entered a change of a saved collection of the newest version, without staged
 * changes. No other call may use the handle meanwhile; afterwards it still has the old state, until it follows the
 * saves. TY_BUSY, and nothing is changed, if another process does the same, the lock was never free, or the base, an
 * index or the history was replaced meanwhile. TY_IO also if damage is known, because the damaged rows would be missing
 * from the new state. */
ty_status ty_rebase_beside(ty_collection *c, const ty_rebase_wish *wish, ty_progress *progress, ty_beside *out,
                           ty_error *err);

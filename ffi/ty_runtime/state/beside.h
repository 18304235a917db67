/* A rewrite of the base beside writers: minutes of a large collection, for which no save has to wait.
 *
 * It takes the writer's lock to begin, and lets it go. It writes a saved state to files with temporary names, at a low
 * priority. Then it copies what was saved meanwhile (tail.h), until little is left, takes the lock, copies the rest and
 * commits. The new state is that of a rewrite under the lock, followed by the same saves. */
#pragma once

#include "state/rebase.h"

/* Row numbers between the last one of the state that is written and the first one of the new base: those that saves get
 * meanwhile are not used again, and no more rows fit into a collection. */
#define TY_BESIDE_ROWS ((uint64_t)TY_ROWS_MAX + 1)

/* What became of it. */
typedef struct ty_beside {
  uint64_t reclaimed, live; /* rows that were left out; live rows of the new state */
  bool unknown;             /* as in ty_next */
} ty_beside;

/* Gathers, writes and commits. The caller has entered a change of a saved collection of the newest version, without
 * staged changes. No other call uses the handle, which keeps its old state. TY_BUSY if nothing was changed because
 * another process does the same, the lock was never free, or the base or an index was replaced meanwhile. TY_IO too if
 * any damage is known: it would be left out of the new state. */
ty_status ty_rebase_beside(ty_collection *c, const ty_rebase_wish *wish, ty_progress *progress, ty_beside *out,
                           ty_error *err);

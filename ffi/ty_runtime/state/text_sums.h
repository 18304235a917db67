/* Checksums of the texts of the delta's rows. A base stores those of its rows. */
#pragma once

#include "state/state.h"

/* The CRC-32C of the text of each row of the delta, by position; 0 for a row without a text. The first call computes
 * them all, a later one those of the rows that were added since. NULL: out of memory, or the delta has no rows. Call it
 * under the lock, shared at least: the array stays where it is while that is held. */
const uint32_t *ty_text_sums(const ty_collection *c);
/* Drops them, when rows of the delta were undone or the delta is replaced. */
void ty_text_sums_drop(const ty_collection *c);

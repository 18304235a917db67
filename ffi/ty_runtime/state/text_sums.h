/* Checksums of the texts of the delta's rows. A base stores those of its rows. */
#pragma once

#include "state/state.h"

/* CRC-32C of the text of each row of the delta by position, 0 of a row without one. They are computed when they are
 * first asked for, and then of the rows that were added since. NULL: out of memory. Under the lock, shared at least. */
const uint32_t *ty_text_sums(const ty_collection *c);
/* Forgets them: rows were taken back, or are another state's. */
void ty_text_sums_drop(const ty_collection *c);

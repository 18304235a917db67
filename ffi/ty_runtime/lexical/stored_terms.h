/* The terms of rows of the base from its index: of rows without a text they are nowhere else. Stored beside the rows
 * too, as they were, they took 315 bytes a row of a repository, where the whole index takes 122. */
#pragma once

#include "os/spill.h"
#include "rows/collection.h"

/* Some rows' terms, row by row. */
typedef struct ty_stored_terms {
  const ty_lexical *x; /* NULL: no row's */
  ty_spill slots;      /* u32 by position: number of the row + 1, 0 for others */
  ty_spill items;      /* u64: hash << 32 | tf, row by row, ascending */
  uint64_t *ends;      /* of each row among the items, after a 0 */
} ty_stored_terms;
/* Whether reading the terms of so many rows from the index takes less than tokenising their texts again. */
bool ty_stored_terms_pays(const ty_lexical *x, uint64_t rows);
/* Reads those of `rows` positions. TY_INDEX where the index is damaged or cannot be used. */
ty_status ty_stored_terms_open(ty_stored_terms *k, const ty_collection *c, const uint32_t *positions, uint64_t rows,
                               ty_error *err);
/* The terms of the row at a position: *n items, and its tokens; NULL where it is none of them. */
const uint64_t *ty_stored_terms_row(const ty_stored_terms *k, uint64_t at, uint64_t *n, uint64_t *tokens);
void ty_stored_terms_free(ty_stored_terms *k, ty_env *env);
/* How many live rows of the base had terms that are lost: they have no text, and the index cannot be used. */
uint64_t ty_stored_terms_lost(const ty_collection *c);
/* The error for so many of them. */
ty_status ty_stored_terms_refusal(uint64_t lost, ty_error *err);

/* Tables over the live rows: by external id, by order of insertion, by row number. Built at the first use, then updated
 * under the exclusive lock. */
#pragma once

#include "state/state.h"

/* Looks up an external id among the live rows. TY_NO_MEMORY where the table could not be built. */
ty_status ty_find(const ty_collection *c, ty_slice id, ty_ref *out, bool *found, ty_error *err);
/* The same of n ids, TY_FEW at most; rows without a segment are not live. The first call of a handle that has no table
 * yet looks through the ids of all rows, in a third of the time that the table takes: a process may need no more. */
#define TY_FEW 20u
ty_status ty_find_few(const ty_collection *c, const uint8_t *ids, const uint64_t *ends, uint64_t n, ty_ref *out,
                      ty_error *err);
/* Places by birth - first_row, order_size of them; after ty_order_need. */
static inline const ty_place *ty_order(const ty_collection *c) { return c->state->order.data; }
/* Build the table unless it is built. */
ty_status ty_ids_need(const ty_collection *c, ty_error *err);
ty_status ty_order_need(const ty_collection *c, ty_error *err);
/* Live rows with a text that is stored. They are counted at the first call, then with each change. */
uint64_t ty_texts(const ty_collection *c);
/* Update the tables: a row was added to the delta; a row is about to be marked dead; drop all tables. */
void ty_derived_added(ty_collection *c, ty_place place);
void ty_derived_died(ty_collection *c, ty_place place);
void ty_derived_drop(ty_collection *c);
/* Looks up a row by its number. False: no segment has it. */
bool ty_place_of_row(const ty_collection *c, uint64_t row, ty_place *out);

/* Tables over the live rows: by external id, by order of insertion, by row number. Built at the first need, then kept
 * up to date under the exclusive lock. */
#ifndef TY_IDS_H
#define TY_IDS_H

#include "state/state.h"

/* Looks an external id up among the live rows; `found`: it is there. TY_NO_MEMORY where the table for it could not be
 * built. */
ty_status ty_find(const ty_collection *c, ty_slice id, ty_ref *out, bool *found, ty_error *err);
/* Places by birth - first_row, order_size of them; after ty_order_need. */
static inline const ty_place *ty_order(const ty_collection *c) { return c->state->order.data; }
/* Build what is not there yet. */
ty_status ty_ids_need(const ty_collection *c, ty_error *err);
ty_status ty_order_need(const ty_collection *c, ty_error *err);
/* A row came (it is in the delta), is about to die; everything is another. */
void ty_derived_added(ty_collection *c, ty_place place);
void ty_derived_died(ty_collection *c, ty_place place);
void ty_derived_drop(ty_collection *c);
/* A row by its number. False where no segment has it. */
bool ty_place_of_row(ty_collection *c, uint64_t row, ty_place *out);

#endif

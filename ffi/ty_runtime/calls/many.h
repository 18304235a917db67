/* Entering several collections for one call. */
#pragma once

#include "os/fail.h"
#include "rows/collection.h"

typedef struct ty_entered {
  ty_many_args *many;
  uint64_t *order; /* of the indices: the collections by address */
  uint64_t count;  /* entered, in that order */
} ty_entered;

/* Enters all collections of a call. They are entered in the order of their addresses, whatever their order in the call
 * is: two calls cannot wait for each other, and a change holds the lock of one collection at a time. A collection that
 * was entered stays so until ty_leave_many. On failure nothing is entered, and many->failed is set. TY_INVALID where
 * there is none, or one twice. */
ty_status ty_enter_many(ty_many_args *many, const ty_progress *progress, ty_entered *out, ty_error *err);
/* As ty_leave, of all. Where one has a file that was truncated, many->failed is that one. */
ty_status ty_leave_many(ty_entered *e, ty_status status, ty_error *err);

/* How much room a rewrite of the base needs. */
#pragma once

#include "state/rebase.h"

/* TY_IO with ENOSPC, in a sentence that begins with `what` and has both figures, where the file system has much less
 * room than a rewrite with this wish takes beside the files that it replaces. They are there until it is saved. */
ty_status ty_room_check(const ty_collection *c, const ty_rebase_wish *wish, const char *what, ty_error *err);
/* The estimate, in bytes: 0.94 to 1.06 times what the new files took, where they took a MiB or more. */
uint64_t ty_room_need(const ty_collection *c, const ty_rebase_wish *wish);

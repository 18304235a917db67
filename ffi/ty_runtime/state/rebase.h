/* Rewriting the base. */
#pragma once

#include "state/history.h"

typedef struct ty_rebase_wish {
  bool ivf, retrain, lexical, lexical_built;
  ty_history_wish history;
  uint64_t ivf_min_rows;
  double ivf_target_recall, k1, b; /* with retrain the target becomes the collection's default */
} ty_rebase_wish;
/* The wish that keeps the indexes and parameters of `c`. */
ty_rebase_wish ty_rebase_keep(const ty_collection *c);
/* Gathers, writes, commits, swaps. The caller has entered a change. On failure memory is unchanged. */
ty_status ty_rebase_run(ty_collection *c, const ty_rebase_wish *wish, ty_progress *progress, bool *unknown,
                        ty_error *err);

/* room.c. TY_IO with ENOSPC, in a sentence that begins with `what` and has both figures, where the file system has much
 * less room than a rewrite with this wish takes beside the files that it replaces. They are there until it is saved. */
ty_status ty_room_check(const ty_collection *c, const ty_rebase_wish *wish, const char *what, ty_error *err);
/* The estimate, in bytes: 0.94 to 1.06 times what the new files took, where they took a MiB or more. */
uint64_t ty_room_need(const ty_collection *c, const ty_rebase_wish *wish);

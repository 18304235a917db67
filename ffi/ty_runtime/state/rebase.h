/* Rewriting the base. */
#pragma once

#include "rows/collection.h"

typedef struct ty_rebase_wish {
  bool ivf, retrain, lexical, lexical_built;
  bool superseded; /* keep what the last destructive save superseded; no unsaved change then */
  uint64_t ivf_min_rows;
  double ivf_target_recall, k1, b; /* with retrain the target becomes the collection's default */
} ty_rebase_wish;
/* The wish that keeps the indexes and parameters of `c`. */
ty_rebase_wish ty_rebase_keep(const ty_collection *c);
/* Gathers, writes, commits, swaps. The caller has entered a change. On failure memory is unchanged. */
ty_status ty_rebase_run(ty_collection *c, const ty_rebase_wish *wish, ty_progress *progress, bool *unknown,
                        ty_error *err);

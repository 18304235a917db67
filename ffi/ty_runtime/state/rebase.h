/* Rewriting the base. */
#ifndef TY_REBASE_H
#define TY_REBASE_H

#include "rows/collection.h"

typedef struct ty_rebase_wish {
  bool ivf, retrain, lexical;
  uint64_t ivf_min_rows;
  double ivf_target_recall, k1, b; /* with retrain the target becomes the collection's default */
} ty_rebase_wish;
/* The wish that keeps what is there. */
ty_rebase_wish ty_rebase_keep(const ty_collection *c);
/* Gathers, writes, commits, swaps. The caller has entered a change; on failure nothing in memory is other than before.
 */
ty_status ty_rebase_run(ty_collection *c, const ty_rebase_wish *wish, ty_progress *progress, bool *unknown,
                        ty_error *err);

#endif

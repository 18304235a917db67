/* The steps that both kinds of rewrites of the base have: rebase.c, under the writer's lock, and beside.c, without it.
 */
#pragma once

#include "disk/base.h"
#include "state/gather.h"
#include "state/meanings.h"
#include "state/rebase.h"
#include "state/sorted.h"

typedef struct ty_rewriting {
  ty_collection *c; /* what is rewritten */
  ty_collection *t; /* the new state */
  ty_rebase r;
  ty_base_plan plan;
  ty_gathered gathered;
  ty_sorted sorted;
  ty_unpack unpack;  /* for the ids of the id map */
  bool id_map_moved; /* id_map.npy may have been replaced */
  const ty_history_wish *history;
  ty_meaning_save meaning; /* of the new state; open until ty_meaning_rewrite_end */
} ty_rewriting;

/* Compares checksums of what will be copied, and gathers the rows. `wish` must stay valid until ty_rewriting_close,
 * which has to follow, also after a failure. */
ty_status ty_rewriting_open(ty_rewriting *w, ty_collection *c, const ty_rebase_wish *wish, ty_progress *progress,
                            ty_error *err);
/* Sets the number of the first row of the new base, and the generation of its files. */
void ty_rewriting_plan(ty_rewriting *w, uint64_t generation, uint64_t first_row);
/* Writes all files and opens them in w->t. The file of meaning may still be open for more vectors. The directory is not
 * synced. */
ty_status ty_rewriting_write(ty_rewriting *w, ty_error *err);
/* The id of the i-th row of the new base by birth, for ty_id_list; `w` is a ty_rewriting. */
ty_slice ty_rewriting_id(void *w, uint64_t i);
/* Removes the files of the new state, except its id map. */
void ty_rewriting_remove(ty_rewriting *w);
void ty_rewriting_close(ty_rewriting *w);

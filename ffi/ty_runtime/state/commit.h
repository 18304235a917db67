/* Making the next state the one that the directory says. */
#ifndef TY_COMMIT_H
#define TY_COMMIT_H

#include "disk/manifest.h"

/* The next state as its manifest will say it. */
typedef struct ty_next {
  const ty_collection *schema_of;
  const ty_files *files;
  uint64_t generation, live, total;
  bool first;          /* the directory itself is new */
  ty_before_fn before; /* what must have succeeded before the rename; may be NULL */
  void *before_ctx;
  ty_stamp stamp; /* out: zero where it could not be read */
  uint64_t bytes; /* out: of the manifest */
  bool unknown;   /* out: on failure, the disk may hold the new manifest all the same */
} ty_next;
/* Writes the manifest and makes it durable. */
ty_status ty_commit(ty_collection *c, ty_next *next, ty_error *err);
/* Saves the unsaved operations and the schema. `unknown` as in ty_next. The caller has entered a change. */
ty_status ty_save_changes(ty_collection *c, bool *unknown, ty_error *err);

#endif

/* Writing the manifest of the next state, which commits it. */
#pragma once

#include "disk/manifest.h"

/* The next state, for its manifest. */
typedef struct ty_next {
  const ty_collection *schema_of;
  const ty_files *files;
  uint64_t generation, live, total;
  bool first;          /* the directory itself is new */
  ty_before_fn before; /* must succeed before the rename; may be NULL */
  void *before_ctx;
  ty_stamp stamp; /* out: zero where it could not be read */
  uint64_t bytes; /* out: of the manifest */
  bool unknown;   /* out: on failure, whether the disk may hold the new manifest */
} ty_next;
/* Writes the manifest and makes it durable. */
ty_status ty_commit(ty_collection *c, ty_next *next, ty_error *err);
/* Saves the unsaved operations and the schema. `unknown` as in ty_next. The caller has entered a change. */
ty_status ty_save_changes(ty_collection *c, bool *unknown, ty_error *err);

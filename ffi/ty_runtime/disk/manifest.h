/* The manifest, collection.json: the schema as its creator gave it, and the files of one state. */
#pragma once

#include "disk/file.h"
#include "disk/schema.h"

/* A manifest as read. Its files are not mapped. */
typedef struct ty_saved {
  ty_buffer text;
  ty_schema schema;
  uint64_t version, generation, live_rows, total_rows;
  ty_files files;
} ty_saved;

/* Takes over the text's memory, also on failure. TY_VERSION, TY_CORRUPT: see ty_seal_check. */
ty_status ty_saved_read(const ty_env *env, ty_buffer *text, ty_saved *out, ty_error *err);
/* Where `status` is TY_VERSION, adds to the message which program wrote the collection, if `json`, a manifest or schema
 * that may be of another version, names it in plain ASCII. Returns `status`. */
ty_status ty_name_writer(const ty_buffer *json, ty_status status, ty_error *err);
void ty_saved_free(ty_saved *m);

/* The manifest of the collection as it stands in memory. `generation` is the one to write. */
ty_status ty_manifest_text(const ty_collection *c, const ty_files *files, uint64_t generation, uint64_t live,
                           uint64_t total, ty_buffer *out, ty_error *err);

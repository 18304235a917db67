/* The manifest, collection.json: the schema as it was given, and the files of one state. */
#ifndef TY_MANIFEST_H
#define TY_MANIFEST_H

#include "disk/file.h"

/* The schema's keys in their order; the manifest repeats them with id_map between filter_columns and telys_version. */
enum {
  TY_KEY_NAME,
  TY_KEY_DIM,
  TY_KEY_DTYPE,
  TY_KEY_KEY_NAME,
  TY_KEY_FILTER_COLUMNS,
  TY_KEY_TELYS_VERSION,
  TY_KEY_DEFAULT_TARGET_RECALL,
  TY_KEY_APPLIED_TUNER,
  TY_KEY_LEXICAL,
  TY_KEY_EMBEDDER_PROFILE,
  TY_SCHEMA_KEYS
};
extern const char *const ty_schema_keys[TY_SCHEMA_KEYS];

typedef struct ty_schema {
  ty_slice members[TY_SCHEMA_KEYS]; /* raw JSON, pointing into the text it was read from */
  uint32_t dim, columns;
  ty_dtype dtype;
  ty_metric metric; /* by the embedder profile's member distance */
  bool lexical;
  double default_target_recall;
} ty_schema;

/* A manifest as read. Its files are not mapped. */
typedef struct ty_saved {
  ty_buffer text;
  ty_schema schema;
  uint64_t generation, live_rows, total_rows;
  ty_files files;
} ty_saved;

/* Reads the members of an object that is a schema: exactly its keys. */
ty_status ty_schema_read(ty_slice json, ty_schema *out, ty_error *err);
/* Writes a schema as one JSON object. */
void ty_schema_write(const ty_schema *schema, ty_buffer *out);
/* TY_INVALID naming the first of dim, dtype, metric, key_name, filter_columns and lexical that differs. */
ty_status ty_schema_agree(const ty_schema *mine, const ty_schema *theirs, ty_error *err);
ty_status ty_saved_read(ty_buffer *text, ty_saved *out,
                        ty_error *err); /* takes the text's memory over, also on failure */
void ty_saved_free(ty_saved *m);

/* The manifest of the collection as it stands in memory. `generation` is the one to write. */
ty_status ty_manifest_text(const ty_collection *c, const ty_files *files, uint64_t generation, uint64_t live,
                           uint64_t total, ty_buffer *out, ty_error *err);

#endif

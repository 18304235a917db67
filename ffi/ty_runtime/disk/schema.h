/* The schema of a collection: the keys of its JSON, which the manifest repeats. */
#pragma once

#include "disk/format.h"
#include "rows/collection.h"

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
  TY_KEY_NOTES, /* the only one that may be missing */
  TY_SCHEMA_KEYS
};

/* The manifest's own keys. */
enum {
  TY_OWN_ID_MAP,
  TY_OWN_FORMAT_VERSION,
  TY_OWN_GENERATION,
  TY_OWN_LIVE_ROWS,
  TY_OWN_TOTAL_ROWS,
  TY_OWN_SUPERSEDED, /* of version 7 only, where it may be missing; not read */
  TY_OWN_FILES,
  TY_OWN_CRC32C,
  TY_OWN_KEYS
};
extern const char *const ty_own_keys[TY_OWN_KEYS];

/* Further keys that a collection may have, and bytes of the description, which is one of them. */
#define TY_OTHER_KEYS_MAX   64u
#define TY_DESCRIPTION_MAX  4096u
#define TY_DESCRIPTION_NAME "description"
/* A reserved manifest key that other versions preserve: the build of telys_version that made the collection, for
 * people. */
#define TY_BUILD_NAME "telys_build"

/* A key that this program does not know, or only reserves: another program's or a later version's. Every save keeps
 * it as it is. Raw JSON both, the key without its quotes. */
typedef struct ty_other_key {
  ty_slice key, value;
} ty_other_key;

typedef struct ty_schema {
  ty_slice members[TY_SCHEMA_KEYS];       /* raw JSON, pointing into the text it was read from; no notes: NULL */
  ty_other_key others[TY_OTHER_KEYS_MAX]; /* in their order */
  uint32_t other_count;
  uint32_t dim, columns;
  ty_dtype dtype;
  ty_metric metric; /* by the embedder profile's member distance */
  bool hashed;      /* the profile's member provider is "svc": texts embedded by the kernel */
  bool lexical;
  bool words; /* lexical, or a collection of texts: its rows are ranked by words as well */
  double default_target_recall;
} ty_schema;

/* Reads a schema: an object of these keys, notes or none, and others that are kept, but none of the manifest's own. */
ty_status ty_schema_read(ty_slice json, ty_schema *out, ty_error *err);
/* What its notes say of the history. With a MiB of notes a look at them takes milliseconds. */
ty_history_rule ty_schema_history(const ty_schema *schema);
/* Writes a schema as one JSON object. */
void ty_schema_write(const ty_schema *schema, ty_buffer *out);
/* Sets the description, or removes it where `json`, which has passed ty_json_check, is empty; `json` has to outlive the
 * schema. TY_INVALID for what is not a string of at most TY_DESCRIPTION_MAX bytes. */
ty_status ty_schema_with_description(ty_schema *s, ty_slice json, ty_error *err);
/* Whether this may be a note's name: 1 to TY_NOTE_NAME_MAX letters, digits and `-._:`. */
bool ty_note_name(ty_slice name);
/* Appends to `out`, which is empty, the notes with that one set, or without it where `json` is empty. The name has
 * passed ty_note_name, the value ty_json_check. Without a note left, nothing is appended. */
void ty_notes_with(const ty_schema *schema, ty_slice name, ty_slice json, ty_buffer *out);
/* TY_INVALID naming the first of dim, dtype, metric, key_name, filter_columns and lexical that differs. */
ty_status ty_schema_agree(const ty_schema *mine, const ty_schema *theirs, ty_error *err);

/* For the manifest, which has the schema's keys and its own. Takes a member of the object that is none of the
 * manifest's own. Fails with `status` for a key that is there already, or that cannot be kept: with an escape, as two
 * of them may then be the same key, or one too many. */
ty_status ty_schema_take(ty_schema *s, ty_slice key, ty_slice value, ty_status status, ty_error *err);
/* Checks that all members are there, and their values, and fills the other fields. `status` is the error of a wrong
 * one: TY_INVALID for an argument, TY_CORRUPT for a file. */
ty_status ty_schema_check(ty_schema *s, ty_status status, ty_error *err);
/* Writes the members of the object, those that are kept last, without its end; `id_map`: with that key after
 * filter_columns. */
void ty_schema_put(const ty_schema *schema, bool id_map, ty_buffer *out);

/* Sets the keys of the manifest that may change after creation: three of the schema, the description, and the caller's
 * notes. */
#include <string.h>
#include "disk/json.h"
#include "state/load.h"
#include "state/state.h"

ty_status ty_set(ty_collection *c, const char *key, const uint8_t *json, uint64_t json_bytes, ty_error *err) {
  ty_status status = ty_change_enter(c, err);
  if (status != TY_OK) return status;
  bool described = strcmp(key, TY_DESCRIPTION_NAME) == 0;
  int index = strcmp(key, "default_target_recall") == 0 ? TY_KEY_DEFAULT_TARGET_RECALL
              : strcmp(key, "applied_tuner") == 0       ? TY_KEY_APPLIED_TUNER
              : strcmp(key, "name") == 0                ? TY_KEY_NAME
                                                        : -1;
  ty_slice value = {0};
  if (index < 0 && !described) status = ty_fail(err, TY_INVALID, "%.64s cannot be changed", key);
  else if (described && json_bytes == 0) status = ty_schema_describe(c, value, err);
  else if (json_bytes > TY_MANIFEST_MAX / 2 || !ty_json_check((ty_slice){json, json_bytes}, &value))
    status = ty_fail(err, TY_INVALID, "the value of %s is not JSON", key);
  else status = described ? ty_schema_describe(c, value, err) : ty_schema_set(c, index, value, err);
  if (status == TY_OK) c->state->changed = true;
  return ty_change_leave(c, status, err);
}

ty_status ty_note(ty_collection *c, const uint8_t *name, uint64_t name_bytes, const uint8_t *json, uint64_t json_bytes,
                  ty_error *err) {
  ty_status status = ty_change_enter(c, err);
  if (status != TY_OK) return status;
  ty_schema schema;
  ty_buffer notes = {0};
  ty_slice value = {0};
  ty_slice named = {name, name_bytes};
  if (!ty_note_name(named))
    status = ty_fail(err, TY_INVALID, "a note's name has 1 to %u letters, digits and -._:", TY_NOTE_NAME_MAX);
  else if (json_bytes > TY_NOTES_MAX)
    status = ty_fail(err, TY_INVALID, "the note %.*s has %llu bytes; all notes may have %u", (int)name_bytes, name,
                     (unsigned long long)json_bytes, TY_NOTES_MAX);
  else if (json_bytes > 0 && !ty_json_check((ty_slice){json, json_bytes}, &value))
    status = ty_fail(err, TY_INVALID, "the note %.*s is not JSON", (int)name_bytes, name);
  if (status == TY_OK) status = ty_schema_read((ty_slice){c->schema.data, c->schema.bytes}, &schema, err);
  if (status == TY_OK) {
    ty_notes_with(&schema, named, value, &notes);
    if (notes.failed) status = ty_fail(err, TY_NO_MEMORY, "out of memory for notes");
  }
  if (status == TY_OK) status = ty_schema_set(c, TY_KEY_NOTES, (ty_slice){notes.data, notes.bytes}, err);
  if (status == TY_OK) c->state->changed = true;
  ty_buffer_free(&notes);
  return ty_change_leave(c, status, err);
}

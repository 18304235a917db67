/* The two keys of the manifest that may change after creation. */
#include <string.h>
#include "store.h"

ty_status ty_schema_set(ty_collection *c, int key, ty_slice json, ty_error *err) {
  ty_schema schema;
  ty_buffer text = {0};
  ty_status status = ty_schema_read((ty_slice){c->schema.data, c->schema.bytes}, &schema, err);
  if (status != TY_OK) return status;
  schema.members[key] = json;
  ty_schema_write(&schema, &text);
  if (text.failed) status = ty_fail(err, TY_NO_MEMORY, "out of memory for the schema");
  if (status == TY_OK) status = ty_schema_read((ty_slice){text.data, text.bytes}, &schema, err);
  if (status != TY_OK) {
    ty_buffer_free(&text);
    return status;
  }
  pthread_rwlock_wrlock(&c->lock);
  if (c->store->kept_schema.bytes == 0) c->store->kept_schema = c->schema;
  else ty_buffer_free(&c->schema);
  c->schema = text;
  c->default_target_recall = schema.default_target_recall;
  pthread_rwlock_unlock(&c->lock);
  return TY_OK;
}

ty_status ty_set(ty_collection *c, const char *key, const uint8_t *json, uint64_t json_bytes, ty_error *err) {
  ty_status status = ty_change_enter(c, err);
  if (status != TY_OK) return status;
  int index = strcmp(key, "default_target_recall") == 0 ? TY_KEY_DEFAULT_TARGET_RECALL
              : strcmp(key, "applied_tuner") == 0       ? TY_KEY_APPLIED_TUNER
                                                        : -1;
  ty_slice value;
  if (index < 0) status = ty_fail(err, TY_INVALID, "%.64s cannot be changed", key);
  else if (json_bytes > TY_MANIFEST_MAX / 2 || !ty_json_check((ty_slice){json, json_bytes}, &value))
    status = ty_fail(err, TY_INVALID, "the value of %s is not JSON", key);
  else status = ty_schema_set(c, index, value, err);
  if (status == TY_OK) c->store->changed = true;
  ty_change_leave(c);
  return status;
}

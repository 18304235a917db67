/* Sets the two keys of the manifest that may change after creation. */
#include <string.h>
#include "disk/json.h"
#include "state/load.h"
#include "state/state.h"

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
  if (status == TY_OK) c->state->changed = true;
  ty_change_leave(c);
  return status;
}

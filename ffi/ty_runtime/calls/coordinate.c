/* Saves that another program decides. */
#include "state/decision.h"

ty_status ty_coordinate(ty_collection *c, ty_done_fn prepared, uint32_t token, ty_error *err) {
  return ty_decision_open(c, prepared, token, err);
}

ty_status ty_prepared(ty_collection *c, ty_manifest_args *args, ty_error *err) {
  return ty_decision_manifest(c, args, err);
}

ty_status ty_decide(ty_collection *c, uint32_t decision, const char *message, ty_error *err) {
  return ty_decision_make(c, decision, message, err);
}

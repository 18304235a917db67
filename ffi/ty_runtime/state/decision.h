/* A save that another program decides: two-phase commit with this process as the participant. The calls of ty_runtime.h
 * are in calls/coordinate.c. */
#pragma once

#include "rows/collection.h"

/* ty_coordinate, ty_prepared and ty_decide. */
ty_status ty_decision_open(ty_collection *c, ty_done_fn prepared, uint32_t token, ty_error *err);
ty_status ty_decision_manifest(ty_collection *c, ty_manifest_args *args, ty_error *err);
ty_status ty_decision_make(ty_collection *c, uint32_t decision, const char *message, ty_error *err);

/* Waits until the coordinator decides about a save whose files and `manifest` are durable. TY_OK at once without one.
 * TY_OK: the manifest is renamed; TY_UNSURE: the coordinator does not know whether the save is committed elsewhere. */
ty_status ty_decision_wait(const ty_collection *c, ty_slice manifest, ty_error *err);
/* Asks the coordinator about a compaction beside writers, before the compaction goes on: TY_STAGE_BEGUN with the
 * writer's lock, TY_STAGE_WRITTEN without it. TY_OK at once without a coordinator. */
ty_status ty_decision_ask(const ty_collection *c, const char *stage, ty_error *err);
void ty_decision_free(struct ty_decision *d);

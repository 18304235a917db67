/* work: threads, progress and cancellation. Uses os.
 *
 *   work.h  progress, cancellation, and the phases of a rewrite
 *   pool.h  the environment's worker threads, and one sync beside a save
 *   crew.h  one call's work on several threads */
#pragma once

#include <stdbool.h>
#include "ty_runtime.h"

/* True when the caller of a long operation has cancelled it. */
bool ty_cancelled(const ty_progress *progress);
void ty_progress_set(ty_progress *progress, uint64_t done, uint64_t total);

/* A rewrite has one progress for all its phases, one after the other, each with a fixed share of the whole, so that
 * done / total never falls. */
typedef enum ty_phase {
  TY_PHASE_CHECK,
  TY_PHASE_TRAIN,
  TY_PHASE_WRITE,
  TY_PHASE_CALIBRATE,
  TY_PHASE_LEXICAL,
  TY_PHASE_COMMIT,
  TY_PHASES
} ty_phase;
typedef struct ty_phases {
  ty_progress *progress; /* NULL: no caller reads it */
  bool skips[TY_PHASES]; /* phases that this rewrite skips */
} ty_phases;
/* `done` and `total` are of the phase. On any number of threads, in any order. */
void ty_phases_set(const ty_phases *p, ty_phase phase, uint64_t done, uint64_t total);

/* The work of one call on several threads: each takes the next task until none is left. */
#pragma once

#include <stdatomic.h>
#include "work/work.h"

#define TY_CREW_MAX 4u

typedef struct ty_crew {
  uint32_t threads; /* 1 .. TY_CREW_MAX */
  ty_progress *progress;
  const ty_phases *phases; /* of the rewrite that this is a phase of; NULL for other work */
  ty_phase phase;
  _Atomic uint64_t done;
  uint64_t total;
} ty_crew;

void ty_crew_init(ty_crew *crew, uint32_t threads, ty_progress *progress);
/* For a phase of a rewrite, whose `phases` live as long as the crew. */
void ty_crew_for(ty_crew *crew, uint32_t threads, const ty_phases *phases, ty_phase phase);
/* Counts work as done, also in the caller's ty_progress. */
void ty_crew_step(ty_crew *crew, uint64_t done);

/* `worker` is below crew->threads: an index for scratch memory. The result of a task must not depend on it or on the
 * order of tasks. */
typedef ty_status (*ty_crew_task)(void *context, uint64_t task, uint32_t worker, ty_error *err);
/* Runs the tasks 0 .. n - 1. Checks for cancellation before each: a task should take a tenth of a second at most.
 * Returns the first failure. */
ty_status ty_crew_run(ty_crew *crew, uint64_t n, ty_crew_task run, void *context, ty_error *err);

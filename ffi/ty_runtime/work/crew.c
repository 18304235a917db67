/* The threads live for one call. The pool's workers cannot be used: the call runs on one of them, and waiting for
 * others that wait for the same is a deadlock, with one worker always. Starting and joining three threads takes 0.06
 * ms, and the build of an index does it some twenty times. */
#include "work/crew.h"

#include <unistd.h>

#include "os/assert.h"
#include "work/pool.h"

/* Asked once: glibc opens and reads a file each time, which takes as long as to embed a short text. */
static uint32_t cores(void) {
  static _Atomic uint32_t known;
  uint32_t count = atomic_load_explicit(&known, memory_order_relaxed);
  if (count == 0) {
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    count = online < 1 ? 1 : online > TY_CREW_MAX ? TY_CREW_MAX : (uint32_t)online;
    atomic_store_explicit(&known, count, memory_order_relaxed);
  }
  return count;
}

void ty_crew_init(ty_crew *crew, uint32_t threads, ty_progress *progress) {
  if (threads == 0) threads = cores();
  crew->threads = threads > TY_CREW_MAX ? TY_CREW_MAX : threads;
  crew->progress = progress;
  crew->phases = NULL;
  atomic_store_explicit(&crew->done, 0, memory_order_relaxed);
  crew->total = 0;
}

void ty_crew_for(ty_crew *crew, uint32_t threads, const ty_phases *phases, ty_phase phase) {
  ty_crew_init(crew, threads, phases->progress);
  crew->phases = phases;
  crew->phase = phase;
}

void ty_crew_step(ty_crew *crew, uint64_t done) {
  uint64_t sum = done + atomic_fetch_add_explicit(&crew->done, done, memory_order_relaxed);
  if (crew->phases != NULL) ty_phases_set(crew->phases, crew->phase, sum, crew->total);
  else ty_progress_set(crew->progress, sum < crew->total ? sum : crew->total, crew->total);
}

typedef struct job {
  ty_crew *crew;
  uint64_t n;
  ty_crew_task run;
  void *context;
  _Atomic uint64_t next;
  _Atomic bool stop;
  pthread_mutex_t lock; /* of the two below */
  ty_status status;
  ty_error error;
} job;

typedef struct hand {
  job *job;
  uint32_t worker;
  pthread_t thread;
} hand;

static void *work(void *argument) {
  const hand *h = argument;
  job *j = h->job;
  while (!atomic_load_explicit(&j->stop, memory_order_relaxed)) {
    TY_ASSERT(h->worker < j->crew->threads && j->crew->threads <= TY_CREW_MAX);
    uint64_t task = atomic_fetch_add_explicit(&j->next, 1, memory_order_relaxed);
    if (task >= j->n) break;
    ty_error error;
    ty_status status = ty_cancelled(j->crew->progress)
                           ? ty_fail(&error, TY_CANCELLED, "cancelled; the last saved state stands")
                           : j->run(j->context, task, h->worker, &error);
    if (status == TY_OK) continue;
    atomic_store_explicit(&j->stop, true, memory_order_relaxed);
    pthread_mutex_lock(&j->lock);
    if (j->status == TY_OK) {
      j->status = status;
      j->error = error;
    }
    pthread_mutex_unlock(&j->lock);
  }
  return NULL;
}

ty_status ty_crew_run(ty_crew *crew, uint64_t n, ty_crew_task run, void *context, ty_error *err) {
  job j = {.crew = crew, .n = n, .run = run, .context = context};
  hand hands[TY_CREW_MAX];
  uint32_t started = 1;
  pthread_mutex_init(&j.lock, NULL);
  for (; started < crew->threads && started < n; started++) {
    hands[started] = (hand){.job = &j, .worker = started};
    if (ty_start_thread(&hands[started].thread, work, &hands[started]) != 0) break; /* the others do the work */
  }
  hands[0] = (hand){.job = &j, .worker = 0};
  work(&hands[0]);
  for (uint32_t i = 1; i < started; i++) pthread_join(hands[i].thread, NULL);
  pthread_mutex_destroy(&j.lock);
  if (j.status != TY_OK && err != NULL) *err = j.error;
  return j.status;
}

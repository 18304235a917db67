/* A crew of threads for the build of an index: each takes the next task until there is none.
 *
 * The threads live for one call. The pool's workers are no alternative: the build runs on one of them, and waiting there for others that
 * may be busy with other builds is a deadlock with one worker. Starting and joining three threads takes 0.06 ms, and a build does it some
 * ten times.
 */
#include <signal.h>
#include <unistd.h>

#include "ivf.h"

void ty_ivf_crew_init(ty_ivf_crew *crew, uint32_t threads, ty_progress *progress) {
  long online = sysconf(_SC_NPROCESSORS_ONLN);
  if (threads == 0) threads = online < 1 ? 1 : online > TY_IVF_THREADS_MAX ? TY_IVF_THREADS_MAX : (uint32_t)online;
  crew->threads = threads > TY_IVF_THREADS_MAX ? TY_IVF_THREADS_MAX : threads;
  crew->progress = progress;
  crew->r = NULL;
  atomic_store_explicit(&crew->done, 0, memory_order_relaxed);
  crew->total = 0;
}

void ty_ivf_crew_for(ty_ivf_crew *crew, const ty_rebase *r, ty_phase phase) {
  ty_ivf_crew_init(crew, r->ivf_threads, r->progress);
  crew->r = r;
  crew->phase = phase;
}

void ty_ivf_crew_step(ty_ivf_crew *crew, uint64_t done) {
  uint64_t sum = done + atomic_fetch_add_explicit(&crew->done, done, memory_order_relaxed);
  if (crew->r != NULL)
    ty_rebase_progress(crew->r, crew->phase, sum, crew->total);
  else
    ty_progress_set(crew->progress, sum < crew->total ? sum : crew->total, crew->total);
}

typedef struct job {
  ty_ivf_crew *crew;
  uint64_t n;
  ty_ivf_task run;
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
    uint64_t task = atomic_fetch_add_explicit(&j->next, 1, memory_order_relaxed);
    if (task >= j->n) break;
    ty_error error;
    ty_status status = ty_cancelled(j->crew->progress)
                           ? ty_fail(&error, TY_CANCELLED, "the build of the IVF index was cancelled")
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

ty_status ty_ivf_crew_run(ty_ivf_crew *crew, uint64_t n, ty_ivf_task run, void *context, ty_error *err) {
  job j = {.crew = crew, .n = n, .run = run, .context = context};
  hand hands[TY_IVF_THREADS_MAX];
  uint32_t started = 1;
  pthread_mutex_init(&j.lock, NULL);
  /* Signals are the host program's business, as in pool.c. */
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  for (; started < crew->threads && started < n; started++) {
    hands[started] = (hand){.job = &j, .worker = started};
    if (pthread_create(&hands[started].thread, NULL, work, &hands[started]) != 0) break; /* those there are do it */
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  hands[0] = (hand){.job = &j, .worker = 0};
  work(&hands[0]);
  for (uint32_t i = 1; i < started; i++) pthread_join(hands[i].thread, NULL);
  pthread_mutex_destroy(&j.lock);
  if (j.status != TY_OK && err != NULL) *err = j.error;
  return j.status;
}

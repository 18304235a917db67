/* A FIFO queue of work and the threads that run it. Work runs with no lock held, so it may push more. One thread is
 * started when the pool is opened, each other one when work finds no thread idle: a short command needs one at most,
 * and starting and ending a thread takes 0.2 ms of CPU. */
#include "work/pool.h"

#include <signal.h>
#include <stdlib.h>
#if defined(__linux__)
#include <sys/resource.h>
#else
#include <pthread/qos.h>
#endif

#include "os/assert.h"

struct ty_pool {
  pthread_mutex_t lock;
  pthread_cond_t wake;
  ty_work *first, *last;
  uint64_t queued; /* pieces of work */
  bool closing;
  uint32_t threads, most; /* threads that run, and that may */
  uint32_t idle;          /* threads that wait, or were just woken */
  pthread_t *ids;
  uint32_t apart; /* threads of ty_pool_push_apart */
  pthread_cond_t apart_done;
  /* The side sync: a thread of its own, started at first use, so that it never waits for a long job. */
  pthread_t side;
  pthread_cond_t side_wake, side_done;
  bool side_started, side_taken, side_pending, side_closing;
  int side_fd, side_result;
  ty_os *side_os;
};

static void *worker(void *arg) {
  struct ty_pool *p = arg;
  pthread_mutex_lock(&p->lock);
  for (;;) {
    p->idle++;
    while (p->first == NULL && !p->closing) pthread_cond_wait(&p->wake, &p->lock);
    p->idle--;
    ty_work *next = p->first;
    TY_ASSERT((p->first == NULL) == (p->last == NULL) && (p->first == NULL) == (p->queued == 0));
    if (next == NULL) break;
    p->queued--;
    p->first = next->next;
    if (p->first == NULL) p->last = NULL;
    pthread_mutex_unlock(&p->lock);
    next->run(next);
    pthread_mutex_lock(&p->lock);
  }
  pthread_mutex_unlock(&p->lock);
  return NULL;
}

/* ---- The side sync ---- */
static void *side_work(void *arg) {
  struct ty_pool *p = arg;
  pthread_mutex_lock(&p->lock);
  for (;;) {
    while (!p->side_pending && !p->side_closing) pthread_cond_wait(&p->side_wake, &p->lock);
    if (!p->side_pending) break;
    int fd = p->side_fd;
    ty_os *os = p->side_os;
    pthread_mutex_unlock(&p->lock);
    int result = os->sync(os, fd);
    pthread_mutex_lock(&p->lock);
    p->side_result = result;
    p->side_pending = false;
    pthread_cond_signal(&p->side_done);
  }
  pthread_mutex_unlock(&p->lock);
  return NULL;
}

int ty_start_thread(pthread_t *id, void *(*body)(void *), void *arg) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int result = pthread_create(id, NULL, body, arg);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return result;
}

void ty_lower_priority(bool lowest) {
#if defined(__linux__)
  (void)setpriority(PRIO_PROCESS, 0, lowest ? 10 : 5); /* of this thread alone, on Linux */
#else
  (void)pthread_set_qos_class_self_np(lowest ? QOS_CLASS_BACKGROUND : QOS_CLASS_UTILITY, 0);
#endif
}

bool ty_side_sync(ty_env *env, int fd) {
  struct ty_pool *p = env->pool;
  pthread_mutex_lock(&p->lock);
  if (!p->side_started) p->side_started = ty_start_thread(&p->side, side_work, p) == 0;
  bool free = p->side_started && !p->side_taken;
  if (free) {
    p->side_taken = p->side_pending = true;
    p->side_fd = fd;
    p->side_os = &env->os;
    pthread_cond_signal(&p->side_wake);
  }
  pthread_mutex_unlock(&p->lock);
  return free;
}

int ty_side_wait(ty_env *env) {
  struct ty_pool *p = env->pool;
  pthread_mutex_lock(&p->lock);
  TY_ASSERT(p->side_taken);
  while (p->side_pending) pthread_cond_wait(&p->side_done, &p->lock);
  p->side_taken = false;
  int result = p->side_result;
  pthread_mutex_unlock(&p->lock);
  return result;
}

ty_status ty_pool_open(uint32_t threads, struct ty_pool **out, ty_error *err) {
  struct ty_pool *p = calloc(1, sizeof *p);
  pthread_t *ids = calloc(threads, sizeof *ids);
  if (p == NULL || ids == NULL) {
    free(p), free(ids);
    return ty_fail(err, TY_NO_MEMORY, "out of memory for %u threads", threads);
  }
  pthread_mutex_init(&p->lock, NULL);
  pthread_cond_init(&p->wake, NULL);
  pthread_cond_init(&p->apart_done, NULL);
  pthread_cond_init(&p->side_wake, NULL);
  pthread_cond_init(&p->side_done, NULL);
  p->ids = ids;
  p->most = threads;
  const int result = ty_start_thread(ids, worker, p);
  if (result != 0) {
    ty_pool_close(p);
    return ty_fail_io(err, -result, "start", "a worker thread");
  }
  p->threads = 1;
  *out = p;
  return TY_OK;
}

void ty_pool_close(struct ty_pool *p) {
  pthread_mutex_lock(&p->lock);
  p->closing = true;
  pthread_cond_broadcast(&p->wake);
  pthread_mutex_unlock(&p->lock);
  for (uint32_t i = 0; i < p->threads; i++) pthread_join(p->ids[i], NULL);
  /* After the workers: queued work may have saved. */
  pthread_mutex_lock(&p->lock);
  while (p->apart > 0) pthread_cond_wait(&p->apart_done, &p->lock);
  bool started = p->side_started;
  p->side_closing = true;
  pthread_cond_signal(&p->side_wake);
  pthread_mutex_unlock(&p->lock);
  if (started) pthread_join(p->side, NULL);
  pthread_cond_destroy(&p->wake);
  pthread_cond_destroy(&p->apart_done);
  pthread_cond_destroy(&p->side_wake);
  pthread_cond_destroy(&p->side_done);
  pthread_mutex_destroy(&p->lock);
  free(p->ids);
  free(p);
}

void ty_pool_push(struct ty_pool *p, ty_work *work) {
  work->next = NULL;
  pthread_mutex_lock(&p->lock);
  if (p->last == NULL) p->first = work;
  else p->last->next = work;
  p->last = work;
  p->queued++;
  /* Where no thread can be started, those that run do the work. */
  const bool more = p->queued > p->idle && p->threads < p->most && !p->closing;
  if (more && ty_start_thread(&p->ids[p->threads], worker, p) == 0) p->threads++;
  pthread_cond_signal(&p->wake);
  pthread_mutex_unlock(&p->lock);
}

typedef struct apart {
  struct ty_pool *pool;
  ty_work *work;
} apart;

static void *run_apart(void *arg) {
  apart a = *(apart *)arg;
  free(arg);
  a.work->run(a.work);
  pthread_mutex_lock(&a.pool->lock);
  /* Under the lock, because the pool is freed once the last one has ended. */
  if (--a.pool->apart == 0) pthread_cond_signal(&a.pool->apart_done);
  pthread_mutex_unlock(&a.pool->lock);
  return NULL;
}

bool ty_pool_push_apart(struct ty_pool *p, ty_work *work) {
  apart *a = malloc(sizeof *a);
  pthread_t id;
  if (a == NULL) return false;
  *a = (apart){p, work};
  pthread_mutex_lock(&p->lock);
  bool started = ty_start_thread(&id, run_apart, a) == 0;
  if (started) p->apart++;
  pthread_mutex_unlock(&p->lock);
  if (started) pthread_detach(id);
  else free(a);
  return started;
}

/* Worker threads for calls that take longer than the caller's thread should wait. */
#pragma once

#include "os/env.h"

/* One piece of work; the first member of the struct that `run` needs. The caller of ty_pool_push owns it and may free
 * it in `run`. */
typedef struct ty_work {
  struct ty_work *next;
  void (*run)(struct ty_work *work);
} ty_work;

/* pthread_create with all signals blocked: the host program handles them on its own threads only. 0 or an errno. */
int ty_start_thread(pthread_t *id, void *(*body)(void *), void *arg);
/* Gives the calling thread a low priority until it ends: it cannot be raised again without privileges. On a machine
 * that is busy it gets a third of the time of another thread, or with `lowest` a tenth. */
void ty_lower_priority(bool lowest);

/* A pool of at most so many threads, at least 1. */
ty_status ty_pool_open(uint32_t threads, struct ty_pool **out, ty_error *err);
void ty_pool_close(struct ty_pool *pool); /* runs all work that was pushed, then ends the threads */
void ty_pool_push(struct ty_pool *pool, ty_work *work);
/* Runs work that waits for other programs on a thread of its own, so that it keeps no worker. False: there is none. */
bool ty_pool_push_apart(struct ty_pool *pool, ty_work *work);

/* One sync beside the caller's own work: two files of a save become durable in the time of the slower one. False: not
 * started (another save uses it, or there is no thread), the caller syncs itself. After true the caller calls
 * ty_side_wait exactly once, for the sync's result. */
bool ty_side_sync(ty_env *env, int fd);
int ty_side_wait(ty_env *env);

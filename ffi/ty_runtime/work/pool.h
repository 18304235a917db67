/* Worker threads for what takes longer than a caller's thread should wait. */
#ifndef TY_POOL_H
#define TY_POOL_H

#include <stdbool.h>
#include "os/env.h"

/* One piece of work; the first member of whatever `run` needs. The caller of ty_pool_push owns it, and may free it in
 * `run`. */
typedef struct ty_work {
  struct ty_work *next;
  void (*run)(struct ty_work *work);
} ty_work;

ty_status ty_pool_open(uint32_t threads, struct ty_pool **out, ty_error *err);
void ty_pool_close(struct ty_pool *pool); /* runs what was pushed, then joins the workers */
void ty_pool_push(struct ty_pool *pool, ty_work *work);

/* One sync beside the caller's own work: two files of a save become durable in the time of the slower one. False:
 * nothing was started (another save is at it, or there is no thread), the caller syncs itself. After true, ty_side_wait
 * returns the sync's result; exactly once. */
bool ty_side_sync(ty_env *env, int fd);
int ty_side_wait(ty_env *env);

#endif

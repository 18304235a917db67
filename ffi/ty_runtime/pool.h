/* Worker threads for what takes longer than a caller's thread should wait. */
#ifndef TY_POOL_H
#define TY_POOL_H

#include "internal.h"

ty_status ty_pool_open(uint32_t threads, struct ty_pool **out, ty_error *err);
void ty_pool_close(struct ty_pool *pool); /* runs what was submitted, then joins the workers */

/* One sync beside the caller's own work: two files of a save become durable in the time of the slower one. False: nothing was started (another
 * save is at it, or there is no thread), the caller syncs itself. After true, ty_side_wait returns the sync's result; exactly once. */
bool ty_side_sync(ty_env *env, int fd);
int ty_side_wait(ty_env *env);

#endif

/* Worker threads for what takes longer than a caller's thread should wait. */
#ifndef TY_POOL_H
#define TY_POOL_H

#include "internal.h"

ty_status ty_pool_open(uint32_t threads, struct ty_pool **out, ty_error *err);
void ty_pool_close(struct ty_pool *pool); /* runs what was submitted, then joins the workers */

#endif

/* The writer's lock: one process at a time changes a directory. */
#pragma once

#include "rows/collection.h"

/* Takes the lock and, before the first save, creates the directory. TY_BUSY, naming the process, where another holds
 * it. */
ty_status ty_lock_take(ty_collection *c, ty_error *err);
void ty_lock_drop(ty_collection *c); /* nothing where it is not held */
/* TY_IO where the writer's lock no longer excludes other writers: the directory was removed, and another process may
 * have made a new one with files of the same names. Called before each creation, rename and removal, so that no file of
 * a new directory is changed. */
ty_status ty_lock_still(const ty_collection *c, ty_error *err);
/* After a failed save or rewrite: whether the lock was lost, which is then the cause that `err` gets. */
bool ty_lock_lost(const ty_collection *c, ty_error *err);

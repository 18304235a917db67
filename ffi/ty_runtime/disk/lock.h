/* The writer's lock: one process at a time changes a directory. */
#ifndef TY_LOCK_H
#define TY_LOCK_H

#include "rows/collection.h"

/* Takes the lock; the first one makes the directory. TY_BUSY, with the process that holds it, where another does. */
ty_status ty_lock_take(ty_collection *c, ty_error *err);
void ty_lock_drop(ty_collection *c); /* where it is not held, nothing */
/* TY_IO where the writer's lock no longer excludes other writers: its directory was removed, and another process may
 * have made one of the same name, with files of the same names. Called before a file is created, renamed or removed:
 * nothing in another directory may be changed. */
ty_status ty_lock_still(const ty_collection *c, ty_error *err);
/* A failed save or rewrite: where the lock is lost, that is the cause, whatever came of it, and `err` says so. */
bool ty_lock_lost(const ty_collection *c, ty_error *err);

#endif

/* The writer's lock: one process at a time changes a directory. */
#pragma once

#include "rows/collection.h"

/* Takes the lock and, before the first save, creates the directory. TY_BUSY with the errno EWOULDBLOCK where another
 * process holds it. */
ty_status ty_lock_take(ty_collection *c, ty_error *err);
void ty_lock_drop(ty_collection *c); /* nothing where it is not held */
/* Releases the lock, but keeps its file open, so that ty_lock_still finds out whether the directory is still the same.
 * Then ty_lock_resume tries to take it again: TY_BUSY with the errno EWOULDBLOCK if another handle or process holds it;
 * TY_IO if the directory was removed or replaced. `what` is as in ty_lock_says. */
ty_status ty_lock_suspend(ty_collection *c, ty_error *err);
ty_status ty_lock_resume(ty_collection *c, const char *what, ty_error *err);
/* What this process does while it holds the lock, for the messages of others: "saving" when it is taken. Nothing where
 * it is not held. Failures are ignored: only flock decides. */
void ty_lock_says(const ty_collection *c, const char *what);
/* Who holds the lock, for a message after TY_BUSY; see ty_holder. */
void ty_lock_holder(const ty_collection *c, ty_holder_args *out);
/* TY_IO where the writer's lock no longer excludes other writers: the directory was removed, and another process may
 * have made a new one with files of the same names. Called before each creation, rename and removal, so that no file of
 * a new directory is changed. */
ty_status ty_lock_still(const ty_collection *c, ty_error *err);
/* After a failed save or rewrite: whether the lock was lost, which is then the cause that `err` gets. */
bool ty_lock_lost(const ty_collection *c, ty_error *err);

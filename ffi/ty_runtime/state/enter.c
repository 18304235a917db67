/* Entering: reading calls, which look whether another process has saved, and the calls of a change. */
#include <errno.h>
#include <string.h>
#include "disk/lock.h"
#include "os/plant.h"
#include "state/load.h"
#include "state/meanings.h"
#include "state/state.h"

/* Whether the manifest differs from the one in memory, or a file that it names was truncated since; also where it
 * cannot be read, which ty_follow reports. */
static bool moved(ty_collection *c) {
  ty_stamp stamp;
  if (atomic_load(&c->state->writing)) return false;
  if (ty_files_whole(&c->store->files, NULL) != TY_OK) return true;
  int result = c->env->os.stamp(&c->env->os, c->store->manifest_path, &stamp);
  if (result == -ENOENT && c->generation == 0) return false;
  return result < 0 || memcmp(&stamp, &c->store->stamp, sizeof stamp) != 0;
}

ty_status ty_enter(ty_collection *c, ty_error *err) {
  pthread_rwlock_rdlock(&c->lock);
  if (!moved(c)) return TY_OK;
  pthread_rwlock_unlock(&c->lock);
  pthread_rwlock_wrlock(&c->lock);
  ty_status status = atomic_load(&c->state->writing) ? TY_OK : ty_follow(c, true, err);
  pthread_rwlock_unlock(&c->lock);
  if (status != TY_OK) return status;
  pthread_rwlock_rdlock(&c->lock);
  return TY_OK;
}

/* What a call reads of a truncated file are zeros, which it takes for the rows': whatever it says is not said. */
static ty_status judged(const ty_collection *c, ty_status status, ty_error *err) {
  ty_status whole = ty_files_whole(&c->store->files, err);
  if (whole == TY_OK) whole = ty_meaning_check_truncated(c, err);
  return whole == TY_OK ? status : whole;
}

ty_status ty_leave(ty_collection *c, ty_status status, ty_error *err) {
  status = judged(c, status, err);
  pthread_rwlock_unlock(&c->lock);
  return status;
}

ty_status ty_change_enter(ty_collection *c, ty_error *err) {
  pthread_mutex_lock(&c->state->change);
  if (atomic_load(&c->state->writing)) return TY_OK;
  pthread_mutex_unlock(&c->state->change);
  return ty_fail(err, TY_STATE, "no change is under way: call begin first");
}

ty_status ty_change_leave(ty_collection *c, ty_status status, ty_error *err) {
  status = judged(c, status, err);
  pthread_mutex_unlock(&c->state->change);
  return status;
}

/* A history that no save has named. After an unknown end the manifest may name it. */
static void drop_adopted(ty_collection *c, bool unknown) {
  struct ty_store *s = c->store;
  ty_file file = s->adopted;
  s->adopts = false;
  s->adopted = (ty_file){0};
  if (file.name[0] == 0) return;
  ty_file_unmap(c, &file);
  if (!unknown) ty_file_remove(c, file.name);
}

ty_status ty_change_end(ty_collection *c, ty_status status, bool unknown) {
  struct ty_state *s = c->state;
  pthread_rwlock_wrlock(&c->lock);
  TY_ASSERT(atomic_load(&s->writing) && c->store->lock_fd >= 0);
  if (status != TY_OK && !TY_PLANTED(NO_UNDO)) ty_undo_locked(c);
  if (c->store->adopts) drop_adopted(c, unknown);
  if (unknown) c->store->stamp = (ty_stamp){0};
  s->changed = false;
  atomic_store(&s->writing, false);
  pthread_rwlock_unlock(&c->lock);
  ty_lock_drop(c);
  pthread_mutex_unlock(&s->change);
  return status;
}

/* Begin, save, roll back, and follow other processes' saves. */
#include <errno.h>
#include "disk/ballast.h"
#include "disk/lock.h"
#include "os/plant.h"
#include "state/commit.h"
#include "state/load.h"
#include "state/rebase.h"
#include "state/state.h"

ty_status ty_begin(ty_collection *c, ty_error *err) {
  struct ty_state *s = c->state;
  pthread_mutex_lock(&s->change);
  ty_status status = TY_OK;
  if (atomic_load(&s->writing)) status = ty_fail(err, TY_STATE, "a change is under way on this handle already");
  if (status == TY_OK) {
    status = ty_lock_take(c, err);
    if (status == TY_OK) {
      pthread_rwlock_wrlock(&c->lock);
      status = TY_PLANTED(NO_FOLLOW) && c->generation > 0 ? TY_OK : ty_follow(c, true, err);
      if (status == TY_OK) {
        if (c->generation > 0 && !c->store->marker_gone) ty_first_end(c);
        ty_mark(c);
        s->changed = false;
        s->put_time = 0;
        TY_ASSERT(c->store->lock_fd >= 0 && c->store->ops == 0 && s->killed_count == 0 &&
                  s->kept_rows == c->delta.count);
        atomic_store(&s->writing, true);
      }
      pthread_rwlock_unlock(&c->lock);
      if (status != TY_OK) ty_lock_drop(c);
    }
  }
  pthread_mutex_unlock(&s->change);
  return status;
}

ty_status ty_follow_begun(ty_collection *c, ty_error *err) {
  ty_status status = ty_change_enter(c, err);
  if (status != TY_OK) return status;
  pthread_rwlock_wrlock(&c->lock);
  ty_undo_locked(c);
  c->state->changed = false;
  status = ty_follow(c, true, err);
  if (status == TY_OK) ty_mark(c);
  pthread_rwlock_unlock(&c->lock);
  return ty_change_leave(c, status, err);
}

void ty_says(ty_collection *c, const char *what) {
  if (ty_change_enter(c, NULL) != TY_OK) return;
  ty_lock_says(c, what);
  (void)ty_change_leave(c, TY_OK, NULL);
}

void ty_holder(ty_collection *c, ty_holder_args *args) { ty_lock_holder(c, args); }

static bool is_full(ty_status status, const ty_error *err) {
  return status == TY_IO && (err->sys_errno == ENOSPC || err->sys_errno == EDQUOT);
}

/* Deletions take blocks of the ballast where the disk is full. */
static ty_status save_changes(ty_collection *c, bool *unknown, ty_error *err) {
  ty_status status = ty_save_changes(c, unknown, err);
  bool puts_none = c->delta.count == c->state->kept_rows && c->store->staged.bytes == 0;
  if (is_full(status, err) && !*unknown && puts_none && ty_ballast_free(c)) {
    status = ty_save_changes(c, unknown, err);
    ty_ballast_take_back(c);
  } else if (status == TY_OK) {
    ty_ballast_keep(c);
  }
  return status;
}

static ty_status save(ty_collection *c, bool keeps, ty_error *err) {
  ty_status status = ty_change_enter(c, err);
  if (status != TY_OK) return status;
  bool unknown = false;
  /* The change may have been open for minutes. */
  status = ty_lock_still(c, err);
  if (status != TY_OK) {
    unknown = true;
  } else if (c->generation == 0) {
    ty_rebase_wish keep = ty_rebase_keep(c);
    status = ty_rebase_run(c, &keep, NULL, &unknown, err);
    if (status == TY_OK) ty_ballast_keep(c);
  } else if (c->state->changed) {
    status = save_changes(c, &unknown, err);
  }
  if (keeps && !unknown && (is_full(status, err) || status == TY_REFUSED)) {
    if (status != TY_REFUSED) err->status = status = TY_FULL;
    pthread_mutex_unlock(&c->state->change);
    return status;
  }
  return ty_change_end(c, status, unknown);
}

ty_status ty_save(ty_collection *c, ty_error *err) { return save(c, false, err); }

ty_status ty_save_staged(ty_collection *c, ty_error *err) { return save(c, true, err); }

void ty_rollback(ty_collection *c) {
  pthread_mutex_lock(&c->state->change);
  if (!atomic_load(&c->state->writing)) {
    pthread_mutex_unlock(&c->state->change);
    return;
  }
  ty_change_end(c, TY_CANCELLED, false);
}

ty_status ty_refresh(ty_collection *c, ty_error *err) {
  if (atomic_load(&c->state->writing)) return ty_fail(err, TY_STATE, "a change is under way: save or roll back first");
  ty_status status = ty_enter(c, err);
  return status == TY_OK ? ty_leave(c, status, err) : status;
}

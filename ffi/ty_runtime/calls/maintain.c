/* Compaction and the building of indexes: each is one rewrite of the base. */
#include "ivf/ivf.h"
#include "lexical/lexical.h"
#include "disk/ballast.h"
#include "calls/arguments.h"
#include "disk/lock.h"
#include "state/beside.h"
#include "state/decision.h"
#include "state/meanings.h"
#include "state/state.h"

static const char *const compacting[2] = {"compacting", "compaction"};
static const char *const ivf[2] = {"indexing", "building the IVF index"};
static const char *const lexical[2] = {"indexing", "building the lexical index"};

/* `what` is the call as a word for other processes, and as the beginning of a sentence. */
static ty_status rewrite(ty_collection *c, const ty_rebase_wish *wish, const char *const what[2], ty_progress *progress,
                         bool *unknown, ty_error *err) {
  if (c->store->adopts) return ty_fail(err, TY_STATE, "a history was taken: save it first");
  ty_lock_says(c, what[0]);
  ty_status status = ty_room_check(c, wish, what[1], err);
  if (status == TY_OK) status = ty_rebase_run(c, wish, progress, unknown, err);
  if (status == TY_OK) ty_ballast_keep(c);
  return status;
}

ty_status ty_compact(ty_collection *c, ty_compact_args *args, ty_progress *progress, ty_error *err) {
  ty_status status = ty_change_enter(c, err);
  if (status != TY_OK) return status;
  bool unknown = false;
  uint64_t total = ty_total_rows(c), live = c->base.live + c->delta.live;
  ty_rebase_wish wish = ty_rebase_keep(c);
  wish.history = (ty_history_wish){
      .drop = args->keep != 1, .ids = args->ids, .id_ends = args->id_ends, .n = args->keep == 1 ? args->n : 0};
  if (wish.history.n > 0) status = ty_check_ids(args->ids, args->id_ends, args->n, err);
  if (status == TY_OK) status = rewrite(c, &wish, compacting, progress, &unknown, err);
  args->reclaimed_rows = status == TY_OK ? total - ty_total_rows(c) : 0;
  args->live_rows = status == TY_OK ? live : 0;
  return ty_change_end(c, status, unknown);
}

/* How often, and with which pauses, the lock is tried: if a collection is saved all the time, its lock is free only for
 * moments. */
#define BEGIN_TRIES    2000
#define BEGIN_PAUSE_NS ((uint64_t)1000000)

/* Reads what a rewrite needs, and then what was saved during that. Seconds of a large collection, which would pass with
 * the lock if ty_begin read it. */
static ty_status read_before(ty_collection *c, ty_error *err) {
  ty_status status = TY_OK;
  for (int i = 0; i < 2 && status == TY_OK; i++) {
    status = ty_enter(c, err);
    if (status != TY_OK) return status;
    if (c->store->files.meaning.name[0] != 0) (void)ty_meaning_load(c);
    status = ty_leave(c, status, err);
  }
  return status;
}

/* Takes the lock, with that many tries. */
static ty_status begin_patiently(ty_collection *c, const ty_progress *progress, ty_error *err) {
  ty_os *os = &c->env->os;
  ty_status status = read_before(c, err);
  if (status == TY_OK) status = ty_begin(c, err);
  for (int i = 0; i < BEGIN_TRIES && status == TY_BUSY; i++) {
    if (ty_cancelled(progress)) return ty_fail(err, TY_CANCELLED, "cancelled; nothing was compacted");
    os->pause(os, BEGIN_PAUSE_NS);
    status = ty_begin(c, err);
  }
  return status;
}

ty_status ty_compact_beside(ty_collection *c, ty_compact_args *args, ty_progress *progress, ty_error *err) {
  args->reclaimed_rows = args->live_rows = 0;
  if (args->n > 0) return ty_fail(err, TY_INVALID, "ty_compact_beside takes no ids: purge them with ty_compact");
  ty_status status = begin_patiently(c, progress, err);
  if (status != TY_OK) return status;
  if (c->decision != NULL) {
    status = ty_decision_ask(c, TY_STAGE_BEGUN, err);
    if (status == TY_OK) status = ty_follow_begun(c, err);
    if (status != TY_OK) ty_rollback(c);
    if (status != TY_OK) return status;
  }
  /* An older version is rewritten as the newest one, which saves of others do not write yet: under the lock. */
  if (c->generation > 0 && c->store->version < TY_SLAB_VERSION) return ty_compact(c, args, progress, err);
  status = ty_change_enter(c, err);
  if (status != TY_OK) return status;
  ty_beside done = {0};
  if (c->generation == 0) {
    status = ty_fail(err, TY_NOT_FOUND, "there is no saved collection");
  } else {
    ty_rebase_wish wish = ty_rebase_keep(c);
    wish.history = (ty_history_wish){.drop = args->keep != 1};
    ty_lock_says(c, compacting[0]);
    status = ty_room_check(c, &wish, compacting[1], err);
    if (status == TY_OK) status = ty_rebase_beside(c, &wish, progress, &done, err);
    if (status == TY_OK) ty_ballast_keep(c);
  }
  if (status == TY_OK) {
    args->reclaimed_rows = done.reclaimed;
    args->live_rows = done.live;
  }
  return ty_change_end(c, status, done.unknown);
}

ty_status ty_build_ivf(ty_collection *c, ty_ivf_args *args, ty_progress *progress, ty_error *err) {
  args->built = 0;
  ty_status status = ty_change_enter(c, err);
  if (status != TY_OK) return status;
  bool unknown = false;
  if (!(args->target_recall > 0 && args->target_recall <= 1)) {
    status = ty_fail(err, TY_INVALID, "target_recall is not in (0, 1]");
  } else {
    ty_rebase_wish wish = ty_rebase_keep(c);
    wish.ivf = wish.retrain = true;
    wish.ivf_min_rows = args->min_rows;
    wish.ivf_target_recall = args->target_recall;
    status = rewrite(c, &wish, ivf, progress, &unknown, err);
    if (status == TY_OK) args->built = c->ivf == NULL ? 0 : c->ivf->count;
  }
  return ty_change_end(c, status, unknown);
}

ty_status ty_build_lexical(ty_collection *c, ty_lexical_args *args, ty_progress *progress, ty_error *err) {
  ty_status status = ty_change_enter(c, err);
  if (status != TY_OK) return status;
  bool unknown = false;
  if (!c->lexical) {
    status = ty_fail(err, TY_NO_LEXICAL, "this collection was created without a lexical index");
  } else if ((status = ty_lexical_check(args->k1, args->b, err)) == TY_OK) {
    ty_rebase_wish wish = ty_rebase_keep(c);
    wish.lexical = wish.lexical_built = true;
    wish.k1 = args->k1;
    wish.b = args->b;
    status = rewrite(c, &wish, lexical, progress, &unknown, err);
  }
  return ty_change_end(c, status, unknown);
}

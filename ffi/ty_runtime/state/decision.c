#include "state/decision.h"

#include <stdlib.h>
#include <string.h>

/* Guarded by `lock`, but for the coordinator, which is set before the first save. */
struct ty_decision {
  ty_done_fn prepared;
  uint32_t token;
  pthread_mutex_t lock;
  pthread_cond_t decided;
  ty_slice manifest; /* of the save that waits, or the stage of a compaction; data NULL: none waits */
  bool is_made;
  ty_error made;
};

ty_status ty_decision_open(ty_collection *c, ty_done_fn prepared, uint32_t token, ty_error *err) {
  if (c->decision != NULL || prepared == NULL)
    return ty_fail(err, TY_STATE, "the collection has a coordinator already");
  struct ty_decision *d = calloc(1, sizeof *d);
  if (d == NULL) return ty_fail(err, TY_NO_MEMORY, "out of memory for a coordinator");
  *d = (struct ty_decision){.prepared = prepared, .token = token};
  pthread_mutex_init(&d->lock, NULL);
  pthread_cond_init(&d->decided, NULL);
  c->decision = d;
  return TY_OK;
}

void ty_decision_free(struct ty_decision *d) {
  if (d == NULL) return;
  TY_ASSERT(d->manifest.data == NULL);
  pthread_mutex_destroy(&d->lock);
  pthread_cond_destroy(&d->decided);
  free(d);
}

ty_status ty_decision_wait(const ty_collection *c, ty_slice manifest, ty_error *err) {
  struct ty_decision *d = c->decision;
  if (d == NULL) return TY_OK;
  pthread_mutex_lock(&d->lock);
  TY_ASSERT(d->manifest.data == NULL);
  d->manifest = manifest;
  d->is_made = false;
  pthread_mutex_unlock(&d->lock);
  d->prepared(d->token, TY_OK);
  pthread_mutex_lock(&d->lock);
  while (!d->is_made) pthread_cond_wait(&d->decided, &d->lock);
  d->manifest = (ty_slice){NULL, 0};
  const ty_error made = d->made;
  pthread_mutex_unlock(&d->lock);
  return made.status == TY_OK ? TY_OK : ty_fail(err, (ty_status)made.status, "%s", made.message);
}

ty_status ty_decision_ask(const ty_collection *c, const char *stage, ty_error *err) {
  return ty_decision_wait(c, (ty_slice){(const uint8_t *)stage, strlen(stage)}, err);
}

/* With the lock, where a save waits. */
static struct ty_decision *waiting(ty_collection *c, ty_error *err) {
  struct ty_decision *d = c->decision;
  if (d != NULL) {
    pthread_mutex_lock(&d->lock);
    if (d->manifest.data != NULL && !d->is_made) return d;
    pthread_mutex_unlock(&d->lock);
  }
  (void)ty_fail(err, TY_STATE, "no save waits for a decision");
  return NULL;
}

ty_status ty_decision_manifest(ty_collection *c, ty_manifest_args *args, ty_error *err) {
  args->out_bytes = 0;
  struct ty_decision *d = waiting(c, err);
  if (d == NULL) return TY_STATE;
  ty_status status = TY_OK;
  args->out_bytes = d->manifest.bytes;
  if (d->manifest.bytes <= args->out_capacity) memcpy(args->out, d->manifest.data, (size_t)d->manifest.bytes);
  else status = ty_fail(err, TY_BUFFER, "the manifest needs %llu bytes", (unsigned long long)d->manifest.bytes);
  pthread_mutex_unlock(&d->lock);
  return status;
}

ty_status ty_decision_make(ty_collection *c, uint32_t decision, const char *message, ty_error *err) {
  if (decision != TY_OK && decision != TY_REFUSED && decision != TY_UNSURE)
    return ty_fail(err, TY_INVALID, "a decision is TY_OK, TY_REFUSED or TY_UNSURE, not %u", decision);
  struct ty_decision *d = waiting(c, err);
  if (d == NULL) return TY_STATE;
  d->made = (ty_error){.status = (int32_t)decision};
  snprintf(d->made.message, sizeof d->made.message, "%s", message);
  d->is_made = true;
  pthread_cond_signal(&d->decided);
  pthread_mutex_unlock(&d->lock);
  return TY_OK;
}

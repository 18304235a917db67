#include "state/commit.h"

#include <string.h>

#include "disk/disk.h"
#include "disk/lock.h"
#include "os/plant.h"
#include "state/decision.h"

static ty_status sync_parent(const ty_collection *c, ty_error *err) {
  char parent[TY_PATH_MAX];
  snprintf(parent, sizeof parent, "%s", c->dir);
  size_t n = strlen(parent);
  while (n > 1 && parent[n - 1] == '/') parent[--n] = 0;
  char *slash = strrchr(parent, '/');
  if (slash == NULL) snprintf(parent, sizeof parent, ".");
  else slash[slash == parent ? 1 : 0] = 0;
  return ty_file_sync_dir(c, parent, err);
}

typedef struct last_step {
  const ty_collection *c;
  const ty_next *next;
  ty_slice manifest;
  bool is_decided; /* by a coordinator */
} last_step;

/* What was read of a truncated file are zeros: they are not committed. The coordinator decides last, so that nothing
 * that can be known before fails after it has committed. */
static ty_status before_rename(void *ctx, ty_error *err) {
  last_step *s = ctx;
  ty_status status = s->next->before == NULL ? TY_OK : s->next->before(s->next->before_ctx, err);
  if (status == TY_OK) status = ty_files_whole(&s->c->store->files, err);
  if (status == TY_OK) status = ty_files_whole(s->next->files, err);
  if (status != TY_OK || s->c->decision == NULL) return status;
  status = ty_lock_still(s->c, err);
  if (status == TY_OK) status = ty_decision_wait(s->c, s->manifest, err);
  s->is_decided = status == TY_OK;
  return status;
}

ty_status ty_commit(ty_collection *c, ty_next *next, ty_error *err) {
  TY_ASSERT(c->store->lock_fd >= 0 && next->generation > c->generation && next->live <= next->total);
  ty_buffer text = {0};
  ty_status status =
      ty_manifest_text(next->schema_of, next->files, next->generation, next->live, next->total, &text, err);
  if (status == TY_OK && next->first && !TY_PLANTED(NO_PARENT_SYNC)) status = sync_parent(c, err);
  last_step step = {.c = c, .next = next, .manifest = {text.data, text.bytes}};
  if (status == TY_OK) status = ty_file_replace(c, TY_MANIFEST_NAME, text.data, text.bytes, before_rename, &step, err);
  next->bytes = text.bytes;
  ty_buffer_free(&text);
  if (status != TY_OK && step.is_decided) err->status = status = TY_UNSURE; /* it is committed elsewhere */
  next->unknown = status == TY_UNSURE;
  if (status != TY_OK) return status;
  /* Where the directory was replaced since the rename, the stamp may be another manifest's. */
  if (c->env->os.stamp(&c->env->os, c->store->manifest_path, &next->stamp) < 0 || ty_lock_still(c, NULL) != TY_OK)
    next->stamp = (ty_stamp){0};
  return TY_OK;
}

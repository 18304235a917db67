/* A directory without a manifest: empty, left by an interrupted first save, or a collection whose manifest was lost.
 *
 * A first save creates an empty marker and syncs its name before it creates the first slab; it removes the marker after
 * the manifest's rename. So slabs beside a marker, all of the first generation, were never acknowledged; any others are
 * saved rows. The removal is not synced: where a power cut brings the marker back beside a manifest, the next change
 * removes it. */
#include <errno.h>
#include <string.h>
#include "disk/disk.h"
#include "os/plant.h"

static const char first_generation[] = "-0000000000000001.slab";

static bool ends_with(const char *name, const char *end) {
  size_t n = strlen(name), m = strlen(end);
  return n >= m && strcmp(name + n - m, end) == 0;
}

bool ty_is_slab(const char *name) {
  static const char *const roles[] = {"base-", "delta-", "ivf-", "lexical-", "meaning-", "history-"};
  for (size_t i = 0; i < sizeof roles / sizeof *roles; i++) {
    if (strncmp(name, roles[i], strlen(roles[i])) == 0) return ends_with(name, ".slab");
  }
  return false;
}

typedef struct seen {
  bool marker, slabs, later;
} seen;

static void note(void *ctx, const char *name) {
  seen *s = ctx;
  s->marker |= strcmp(name, TY_FIRST_NAME) == 0;
  if (!ty_is_slab(name)) return;
  s->slabs = true;
  s->later |= !ends_with(name, first_generation);
}

ty_status ty_first_check(const ty_collection *c, ty_error *err) {
  seen s = {0};
  int result = c->env->os.list(&c->env->os, c->dir, note, &s);
  if (result == -ENOENT || result == -ENOTDIR) return TY_OK;
  if (result < 0) return ty_fail_io(err, result, "list", "the collection's directory");
  if (!s.slabs || (s.marker && !s.later)) return TY_OK;
  return ty_fail(err, TY_CORRUPT, "its rows are there and %s is missing", TY_MANIFEST_NAME);
}

ty_status ty_first_begin(const ty_collection *c, ty_error *err) {
  int fd;
  if (TY_PLANTED(NO_MARKER)) return TY_OK;
  ty_status status = ty_file_create(c, TY_FIRST_NAME, &fd, err);
  if (status != TY_OK) return status;
  int result = c->env->os.close(&c->env->os, fd);
  if (result < 0) return ty_fail_io(err, result, "close", TY_FIRST_NAME);
  return TY_PLANTED(NO_MARKER_SYNC) ? TY_OK : ty_file_sync_dir(c, c->dir, err);
}

void ty_first_end(ty_collection *c) {
  ty_file_remove(c, TY_FIRST_NAME);
  c->store->marker_gone = true;
}

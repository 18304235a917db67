/* Removing files that no manifest names. */
#include <string.h>
#include "disk/disk.h"

typedef struct leftovers {
  const ty_files *files;
  ty_buffer names; /* each with its NUL */
} leftovers;

static bool starts_with(const char *name, const char *prefix) { return strncmp(name, prefix, strlen(prefix)) == 0; }

static bool named(const ty_files *f, const char *name) {
  if (strcmp(f->base.name, name) == 0 || strcmp(f->ivf.name, name) == 0 || strcmp(f->lexical.name, name) == 0 ||
      strcmp(f->meaning.name, name) == 0 || strcmp(f->history.name, name) == 0)
    return true;
  for (uint32_t i = 0; i < f->delta_count; i++) {
    if (strcmp(f->deltas[i].name, name) == 0) return true;
  }
  return false;
}

/* Whether it is a slab of a rewrite beside writers (state/beside.h) that is not committed. Nothing is lost if it is
 * removed: the rewrite was killed, or will fail because the base that it read was replaced. */
static bool is_temporary_slab(const char *name) {
  char slab[64];
  const char *end = strstr(name, ".slab" TY_TEMPORARY);
  const size_t n = end == NULL ? sizeof slab : (size_t)(end - name) + strlen(".slab");
  if (n >= sizeof slab) return false;
  memcpy(slab, name, n);
  slab[n] = 0;
  return ty_is_slab(slab);
}

static void note(void *ctx, const char *name) {
  leftovers *l = ctx;
  size_t n = strlen(name);
  bool temporary = starts_with(name, TY_MANIFEST_NAME ".tmp-") || starts_with(name, TY_ID_MAP_NAME ".tmp-") ||
                   starts_with(name, TY_SPILL_NAME ".tmp-") || is_temporary_slab(name);
  if (n < 128 && (temporary || (ty_is_slab(name) && !named(l->files, name)))) ty_buffer_append(&l->names, name, n + 1);
}

void ty_clear_away(const ty_collection *c) {
  leftovers l = {.files = &c->store->files};
  if (c->env->os.list(&c->env->os, c->dir, note, &l) == 0) {
    for (uint64_t at = 0; at < l.names.bytes; at += strlen((char *)l.names.data + at) + 1)
      ty_file_remove(c, (char *)l.names.data + at);
  }
  ty_buffer_free(&l.names);
}

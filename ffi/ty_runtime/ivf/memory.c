/* Memory of an index: it owns the arrays of its parts. */
#include "ivf/builder.h"

#include <stdlib.h>

typedef struct ivf_memory {
  struct ivf_memory *next;
  void *data;
} ivf_memory;

typedef struct ivf_owner {
  ty_ivf ivf; /* first, so that the pointer serves as both */
  ivf_memory *memory;
} ivf_owner;

ty_ivf *ty_ivf_new(uint32_t parts) {
  ivf_owner *o = calloc(1, sizeof *o);
  if (o == NULL) return NULL;
  o->ivf.parts = calloc(parts == 0 ? 1 : parts, sizeof *o->ivf.parts);
  if (o->ivf.parts == NULL) {
    free(o);
    return NULL;
  }
  return &o->ivf;
}

void *ty_ivf_memory(ty_ivf *ivf, uint64_t bytes) {
  ivf_owner *o = (ivf_owner *)ivf;
  if (bytes > SIZE_MAX - 64) return NULL;
  ivf_memory *m = malloc(sizeof *m);
  if (m == NULL) return NULL;
  m->data = aligned_alloc(64, ((size_t)bytes + 64) & ~(size_t)63);
  if (m->data == NULL) {
    free(m);
    return NULL;
  }
  m->next = o->memory;
  o->memory = m;
  return m->data;
}

void ty_ivf_free(ty_ivf *ivf) {
  if (ivf == NULL) return;
  ivf_owner *o = (ivf_owner *)ivf;
  while (o->memory != NULL) {
    ivf_memory *next = o->memory->next;
    free(o->memory->data);
    free(o->memory);
    o->memory = next;
  }
  free(o->ivf.parts);
  free(o);
}

/* The sections of the rows by value. */
#include <stdlib.h>
#include "disk/base_writer.h"

typedef struct listing {
  base_writer *w;
  const uint32_t *positions;
  uint64_t count;
} listing;

/* Calls for each block in turn; `packed` has its bytes. */
static void each_block(const listing *l, bool entries) {
  const ame_kernel *k = l->w->r->c->env->kernel;
  uint8_t packed[32 * AME_PACK / 8];
  uint32_t end = 0;
  for (uint64_t at = 0; at < l->count; at += AME_PACK) {
    uint32_t n = l->count - at < AME_PACK ? (uint32_t)(l->count - at) : AME_PACK;
    bool plain;
    uint32_t bits = ty_by_value_pack(k, l->positions + at, n, entries ? NULL : packed, &plain);
    end += bits;
    ty_by_value_entry entry = {l->positions[at], end << 1 | plain};
    if (entries) ty_slab_append(&l->w->slab, &entry, sizeof entry);
    else ty_slab_append(&l->w->slab, packed, 16 * (uint64_t)bits);
  }
}

void base_put_by_value(base_writer *w, uint32_t column, const uint32_t *fresh, uint32_t count) {
  uint64_t rows = w->r->count, listed = 0;
  ty_spill positions = {0};
  uint64_t *next = calloc(count, sizeof *next); /* by code: how many rows, then where its next one is listed */
  if (next == NULL || !ty_spill_grow(ty_dir_of(w->r->c), &positions, 0, (rows + 1) * sizeof(uint32_t))) {
    ty_slab_no_memory(&w->slab);
    goto done;
  }
  for (uint64_t i = 0; i < rows; i++) next[fresh[w->r->rows[i].segment->keys[column][w->r->rows[i].at]]]++;
  next[0] = UINT64_MAX;
  for (uint32_t code = 1; code < count; code++) {
    uint64_t having = next[code];
    bool left_out = ty_by_value_leaves_out(having, rows);
    next[code] = left_out ? UINT64_MAX : listed;
    listed += left_out ? 0 : having;
  }
  uint32_t *out = positions.data;
  for (uint64_t i = 0; i < rows; i++) {
    uint64_t *at = &next[fresh[w->r->rows[i].segment->keys[column][w->r->rows[i].at]]];
    if (*at != UINT64_MAX) out[(*at)++] = (uint32_t)i;
  }
  listing l = {w, out, listed};
  ty_slab_section_start(&w->slab, TY_SECTION_BY_VALUE + column);
  each_block(&l, true);
  each_block(&l, false);
  ty_slab_section_end(&w->slab);
done:
  ty_spill_free(w->r->c->env, &positions);
  free(next);
}

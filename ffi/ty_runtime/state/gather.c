#include "state/gather.h"

#include <stdlib.h>

#include "state/ids.h"

static void add(ty_gathered *g, ty_place place, uint64_t n, uint64_t all) {
  if (n >= all) return; /* damaged: the caller counts */
  g->rank[place] = (ty_place)n;
  g->by_birth[n] = place;
}

ty_status ty_gather(ty_collection *c, ty_rebase *r, ty_gathered *g, ty_error *err) {
  ty_status status = ty_order_need(c, err);
  if (status != TY_OK) return status;
  uint64_t n = 0, all = c->base.live + c->delta.live;
  uint32_t codes = c->dicts[0].count > 0 ? c->dicts[0].count : 1;
  uint64_t *starts = calloc((size_t)codes + 1, sizeof *starts);
  r->spans = malloc(((size_t)codes + 1) * sizeof *r->spans);
  if (starts == NULL || r->spans == NULL ||
      !ty_spill_grow(ty_dir_of(c), &g->rank_memory, 0, ty_total_rows(c) * sizeof *g->rank) ||
      !ty_spill_grow(ty_dir_of(c), &g->by_birth_memory, 0, all * sizeof *g->by_birth) ||
      !ty_spill_grow(ty_dir_of(c), &g->rows_memory, 0, all * sizeof *r->rows)) {
    status = ty_fail(err, TY_NO_MEMORY, "out of memory to order %llu rows", (unsigned long long)all);
    goto done;
  }
  g->rank = g->rank_memory.data;
  g->by_birth = g->by_birth_memory.data;
  r->rows = g->rows_memory.data;
  for (uint64_t slot = 0; slot < c->state->order_size && n <= all; slot++) {
    ty_place place = ty_order(c)[slot];
    if (place != 0) add(g, place - 1, n++, all);
  }
  if (n != all) {
    status = ty_fail(err, TY_CORRUPT, "%s: two rows share a birth", c->store->files.base.name);
    goto done;
  }
  for (uint64_t i = 0; i < all; i++) {
    ty_ref row = ty_ref_of(c, g->by_birth[i]);
    starts[row.segment->keys[0][row.at] + 1]++;
  }
  for (uint32_t code = 0; code < codes; code++) {
    if (starts[code + 1] > 0) r->spans[r->span_count++] = (ty_span){code, 0, starts[code], starts[code + 1]};
    starts[code + 1] += starts[code];
  }
  for (uint64_t i = 0; i < all; i++) {
    ty_ref row = ty_ref_of(c, g->by_birth[i]);
    uint64_t *to = &starts[row.segment->keys[0][row.at]];
    TY_ASSERT(!row.segment->dead[row.at]);
    if (*to >= all) break;
    r->rows[(*to)++] = row;
  }
  for (uint32_t i = 0; i < r->span_count && status == TY_OK; i++) {
    if (starts[r->spans[i].key] == r->spans[i].first + r->spans[i].count) continue;
    /* A code was another when it was read again. */
    status = ty_fail(err, TY_CORRUPT, "%s was truncated while it was read", c->store->files.base.name);
    goto done;
  }
  TY_ASSERT(r->span_count <= codes && (all == 0 || r->span_count > 0));
  r->count = all;
done:
  free(starts);
  return status;
}

void ty_gathered_free(const ty_collection *c, ty_gathered *g) {
  ty_spill_free(c->env, &g->rank_memory);
  ty_spill_free(c->env, &g->by_birth_memory);
  ty_spill_free(c->env, &g->rows_memory);
}

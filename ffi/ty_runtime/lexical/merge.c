/* The lists of an index that is built: those of rows of the base from the index before, their positions renumbered, and
 * those of the other rows from the runs. A rewrite need neither tokenise texts again nor sort the postings of rows that
 * keep their order, and of rows without a text there is no other source. */
#include <stdlib.h>

#include "lexical/builder.h"
#include "lexical/walk.h"

#define GONE UINT32_MAX

typedef struct merging {
  ty_lexical_builder *b;
  ty_walk walk;
  ty_spill moved;                /* u32 by position in the base: the new one, or GONE */
  bool ascending;                /* rows of the base keep their order */
  ty_growing fresh, old, merged; /* postings of the current term: position << 32 | tf, from the runs and the base */
} merging;

static ty_status renumber(merging *m) {
  const ty_rebase *r = m->b->r;
  uint64_t rows = r->c->base.count, next = 0;
  if (!ty_spill_grow(ty_dir_of(r->c), &m->moved, 0, (rows + 1) * sizeof(uint32_t)))
    return ty_builder_no_memory(m->b->err);
  uint32_t *moved = m->moved.data;
  memset(moved, 0xff, (size_t)rows * sizeof *moved);
  m->ascending = true;
  for (uint64_t i = 0; i < r->count; i++) {
    if (!r->rows[i].segment->is_base) continue;
    m->ascending &= r->rows[i].at >= next;
    next = r->rows[i].at + 1;
    moved[r->rows[i].at] = (uint32_t)i;
  }
  return TY_OK;
}

static bool add(ty_lexical_builder *b, ty_growing *g, uint64_t row, uint32_t tf) {
  uint64_t *at = ty_builder_room(b, g, sizeof *at);
  if (at != NULL) *at = row << 32 | tf;
  return at != NULL;
}

/* From the runs, ascending; a row may follow itself. */
static void take_posting(void *context, uint64_t row, uint32_t tf) {
  merging *m = context;
  add(m->b, &m->fresh, row, tf);
}

/* The current term's live postings in the base, ascending. */
static ty_status take_old(merging *m) {
  ty_lexical_builder *b = m->b;
  const uint32_t *moved = m->moved.data;
  uint32_t n;
  ty_status status = ty_walk_list(&m->walk, 0, b->err);
  if (status == TY_OK) status = ty_walk_postings(&m->walk, &n, b->err);
  for (; status == TY_OK && n > 0; status = ty_walk_postings(&m->walk, &n, b->err)) {
    uint64_t *to = ty_builder_room(b, &m->old, n * sizeof *to), kept = 0;
    if (to == NULL) return ty_builder_no_memory(b->err);
    for (uint32_t i = 0; i < n; i++) {
      uint32_t row = moved[m->walk.memory.docs[i]];
      to[kept] = (uint64_t)row << 32 | m->walk.memory.tfs[i];
      kept += row != GONE;
    }
    m->old.used -= (n - kept) * sizeof *to;
  }
  uint64_t count = m->old.used / sizeof(uint64_t);
  if (status != TY_OK || m->ascending || count < 2) return status;
  m->merged.used = 0;
  uint64_t *scratch = ty_builder_room(b, &m->merged, count * sizeof *scratch);
  if (scratch == NULL) return ty_builder_no_memory(b->err);
  ty_sort_by_hash(m->old.memory.data, scratch, count);
  return TY_OK;
}

/* Writes the postings that were taken of a term, if there are any. */
static ty_status put_term(merging *m, uint32_t hash) {
  const uint64_t *fresh = m->fresh.memory.data, *old = m->old.memory.data;
  uint64_t f = 0, o = 0, fresh_count = m->fresh.used / sizeof *fresh, old_count = m->old.used / sizeof *old;
  m->fresh.used = m->old.used = 0;
  if (fresh_count + old_count == 0) return TY_OK;
  while (f < fresh_count || o < old_count) {
    uint64_t next = o == old_count || (f < fresh_count && fresh[f] < old[o]) ? fresh[f++] : old[o++];
    ty_builder_posting(m->b, next >> 32, (uint32_t)next);
  }
  return ty_builder_term(m->b, hash);
}

/* The terms of the base before `hash`, then that one. */
static ty_status take_term(void *context, uint32_t hash) {
  merging *m = context;
  ty_growing fresh = m->fresh;
  ty_status status = TY_OK;
  while (status == TY_OK && m->walk.entry != NULL && m->walk.entry->hash < hash) {
    uint32_t before = m->walk.entry->hash;
    m->fresh.used = 0;
    status = take_old(m);
    if (status == TY_OK) status = put_term(m, before);
    if (status == TY_OK) status = ty_walk_term(&m->walk, m->b->err);
  }
  m->fresh = fresh;
  if (status == TY_OK && m->walk.entry != NULL && m->walk.entry->hash == hash) {
    status = take_old(m);
    if (status == TY_OK) status = ty_walk_term(&m->walk, m->b->err);
  }
  return status == TY_OK ? put_term(m, hash) : status;
}

static ty_status merge(merging *m) {
  ty_lexical_builder *b = m->b;
  ty_status status = renumber(m);
  ty_walk_open(&m->walk, b->r->c, b->r->kept);
  if (status == TY_OK) status = ty_walk_term(&m->walk, b->err);
  if (status == TY_OK) status = ty_runs_merge(&b->runs, &(ty_runs_sink){take_posting, take_term, m}, b->err);
  while (status == TY_OK && m->walk.entry != NULL) {
    uint32_t hash = m->walk.entry->hash;
    status = take_old(m);
    if (status == TY_OK) status = put_term(m, hash);
    if (status == TY_OK) status = ty_walk_term(&m->walk, b->err);
  }
  return status;
}

ty_status ty_builder_merge(ty_lexical_builder *b) {
  ty_env *env = b->r->c->env;
  if (b->r->kept == NULL)
    return ty_runs_merge(&b->runs, &(ty_runs_sink){ty_builder_posting, ty_builder_term, b}, b->err);
  merging *m = calloc(1, sizeof *m);
  if (m == NULL) return ty_builder_no_memory(b->err);
  m->b = b;
  ty_status status = merge(m);
  ty_spill_free(env, &m->moved);
  ty_spill_free(env, &m->fresh.memory);
  ty_spill_free(env, &m->old.memory);
  ty_spill_free(env, &m->merged.memory);
  free(m);
  return status;
}

#include "lexical/stored_terms.h"

#include <inttypes.h>
#include <stdlib.h>

#include "lexical/walk.h"

/* Bytes of lists and dictionary that are read twice in the time that tokenising a row's text takes. */
#define BYTES_A_ROW ((uint64_t)4 << 10)

bool ty_stored_terms_pays(const ty_lexical *x, uint64_t rows) {
  if (!ty_lexical_usable(x)) return false;
  return rows > 0 && (x->image.lists_bytes + x->image.entries_bytes) / rows <= BYTES_A_ROW;
}

uint64_t ty_stored_terms_lost(const ty_collection *c) {
  uint64_t lost = 0;
  ty_lexical *x = c->lexical_index;
  if (x == NULL || ty_lexical_usable(x)) return 0;
  for (uint64_t at = 0; at < c->base.count; at++)
    lost += (c->base.presence[at] & TY_HAS_TERMS) != 0 && c->base.dead[at] == 0;
  return lost;
}

ty_status ty_stored_terms_refusal(uint64_t lost, ty_error *err) {
  return ty_fail(err, TY_INDEX,
                 "the lexical index is damaged, and %" PRIu64
                 " rows without a text had their terms only there: put these rows again, or delete them",
                 lost);
}

/* One pass over the index: counts the rows' postings in `ends`, or with `items` puts each after those before. */
static ty_status pass(const ty_stored_terms *k, const ty_collection *c, uint64_t first, uint64_t end, uint64_t *items,
                      ty_error *err) {
  const uint32_t *slots = k->slots.data;
  uint64_t room = k->items.bytes / sizeof *items;
  ty_walk *w = malloc(sizeof *w);
  if (w == NULL) return ty_fail(err, TY_NO_MEMORY, "not enough memory for terms");
  ty_walk_open(w, c, c->lexical_index);
  ty_status status = ty_walk_term(w, err);
  for (; status == TY_OK && w->entry != NULL; status = ty_walk_term(w, err)) {
    uint32_t n;
    status = ty_walk_list(w, first, err);
    if (status == TY_OK) status = ty_walk_postings(w, &n, err);
    for (; status == TY_OK && n > 0; status = ty_walk_postings(w, &n, err)) {
      for (uint32_t i = 0; i < n; i++) {
        uint32_t slot = slots[w->memory.docs[i]];
        if (slot == 0) continue;
        if (items != NULL && k->ends[slot] < room) /* the file may change under the mapping */
          items[k->ends[slot]] = (uint64_t)w->entry->hash << 32 | w->memory.tfs[i];
        k->ends[slot]++;
      }
      if (w->memory.docs[n - 1] >= end) break;
    }
    if (status != TY_OK) break;
  }
  free(w);
  return status;
}

ty_status ty_stored_terms_open(ty_stored_terms *k, const ty_collection *c, const uint32_t *positions, uint64_t rows,
                               ty_error *err) {
  uint64_t first = UINT64_MAX, end = 0, total = 0;
  *k = (ty_stored_terms){.x = c->lexical_index};
  if (!ty_lexical_usable(k->x) || k->x->image.docs != c->base.count)
    return ty_lexical_damaged(err, "it is not that of the base");
  ty_status status = ty_lexical_look(c->lexical_index, err);
  if (status != TY_OK) return status;
  k->ends = calloc((size_t)rows + 2, sizeof *k->ends);
  if (k->ends == NULL || !ty_spill_grow(ty_dir_of(c), &k->slots, 0, (c->base.count + 1) * sizeof(uint32_t)))
    return ty_fail(err, TY_NO_MEMORY, "not enough memory for terms");
  for (uint64_t i = 0; i < rows; i++) {
    uint64_t at = positions[i];
    TY_ASSERT(at < c->base.count);
    uint32_t *slot = &((uint32_t *)k->slots.data)[at];
    if (*slot == 0) *slot = (uint32_t)i + 1;
    first = at < first ? at : first;
    end = at + 1 > end ? at + 1 : end;
  }
  status = pass(k, c, first, end, NULL, err);
  /* Where each row's items begin: ends[row + 1], which the second pass moves to where they end. */
  for (uint64_t i = 1; i <= rows + 1; i++) {
    uint64_t n = i <= rows ? k->ends[i] : 0;
    k->ends[i] = total;
    total += n;
  }
  if (status == TY_OK && !ty_spill_grow(ty_dir_of(c), &k->items, 0, (total + 1) * sizeof(uint64_t)))
    status = ty_fail(err, TY_NO_MEMORY, "not enough memory for terms");
  return status == TY_OK ? pass(k, c, first, end, k->items.data, err) : status;
}

const uint64_t *ty_stored_terms_row(const ty_stored_terms *k, uint64_t at, uint64_t *n, uint64_t *tokens) {
  uint32_t slot = k->x == NULL ? 0 : ((const uint32_t *)k->slots.data)[at];
  if (slot == 0) return NULL;
  *n = k->ends[slot] - k->ends[slot - 1];
  *tokens = k->x->image.lengths[at];
  return (const uint64_t *)k->items.data + k->ends[slot - 1];
}

void ty_stored_terms_free(ty_stored_terms *k, ty_env *env) {
  ty_spill_free(env, &k->slots);
  ty_spill_free(env, &k->items);
  free(k->ends);
  *k = (ty_stored_terms){0};
}

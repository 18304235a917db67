#include "lexical/walk.h"

void ty_walk_open(ty_walk *w, const ty_collection *c, ty_lexical *x) {
  *w = (ty_walk){.c = c, .x = x, .q = {.c = c, .x = x, .drift = 1}};
}

ty_status ty_walk_term(ty_walk *w, ty_error *err) {
  const ty_lexical_image *image = &w->x->image;
  w->entry = NULL;
  if (w->at == w->count) {
    uint64_t blocks = (image->terms + TY_DICT_TERMS - 1) / TY_DICT_TERMS;
    w->at = w->count = 0;
    if (w->block == blocks) return TY_OK;
    if (!ty_dict_unpack(image, w->block, w->entries, &w->count)) return ty_lexical_damaged(err, "dictionary");
    w->block++;
  }
  bool first = w->block == 1 && w->at == 0;
  w->entry = &w->entries[w->at++];
  if (!first && w->entry->hash <= w->before) return ty_lexical_damaged(err, "dictionary");
  w->before = w->entry->hash;
  return TY_OK;
}

ty_status ty_walk_list(ty_walk *w, uint64_t first, ty_error *err) {
  const ty_lexical_image *image = &w->x->image;
  TY_ASSERT(w->entry != NULL && w->entry->df > 0);
  w->term = (query_term){.hash = w->entry->hash, .stored = *w->entry, .added = TY_NO_TERM};
  w->begun = false;
  w->read += w->entry->bytes;
  if (w->read >= TY_RESIDENT_MOST) {
    w->c->env->os.evict(&w->c->env->os, image->lists, (size_t)image->lists_bytes);
    w->read = 0;
  }
  ty_status status = ty_cursor_open(&w->cursor, &w->q, &w->term, false, &w->memory, err);
  return status == TY_OK && first > 0 ? ty_cursor_seek(&w->cursor, first, err) : status;
}

ty_status ty_walk_postings(ty_walk *w, uint32_t *n, ty_error *err) {
  ty_cursor *c = &w->cursor;
  ty_status status = TY_OK;
  *n = 0;
  if (w->begun && !c->ended) status = ty_cursor_next(c, err);
  w->begun = true;
  if (status == TY_OK && !c->ended) status = ty_cursor_tfs(c, err);
  if (status == TY_OK && !c->ended) *n = c->count;
  return status;
}

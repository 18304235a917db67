/* Undoing what happened since a mark: deleted rows are revived, new rows cut off. */
#include <stdlib.h>
#include "disk/manifest.h"
#include "disk/operations.h"
#include "lexical/lexical.h"
#include "rows/weights.h"
#include "state/ids.h"
#include "state/meanings.h"

ty_status ty_kill_reserve(ty_collection *c, uint64_t more, ty_error *err) {
  struct ty_state *s = c->state;
  uint64_t need = s->killed_count + more;
  if (need <= s->killed_capacity) return TY_OK;
  uint64_t capacity = s->killed_capacity * 2 > need ? s->killed_capacity * 2 : need;
  ty_place *killed = realloc(s->killed, (size_t)capacity * sizeof *killed);
  if (killed == NULL) return ty_fail(err, TY_NO_MEMORY, "out of memory for %llu deletions", (unsigned long long)more);
  s->killed = killed;
  s->killed_capacity = capacity;
  return TY_OK;
}

static void uncount(ty_collection *c, ty_segment *s, uint64_t at) {
  TY_ASSERT(s->live > 0);
  s->live--;
  for (uint32_t k = 0; k < c->columns; k++) ty_dict_uncount(&c->dicts[k], s->keys[k][at]);
}

static void revive(ty_collection *c, ty_segment *s, uint64_t at) {
  TY_ASSERT(s->dead[at] && s->live < s->count);
  s->dead[at] = 0;
  s->live++;
  for (uint32_t k = 0; k < c->columns; k++) ty_dict_count(&c->dicts[k], s->keys[k][at], 1);
}

void ty_kill(ty_collection *c, ty_place place) {
  ty_derived_died(c, place);
  ty_meaning_died(c->meaning, place);
  ty_segment *segment = place < c->base.count ? &c->base : &c->delta;
  uint64_t at = place < c->base.count ? place : place - c->base.count;
  TY_ASSERT(at < segment->count && !segment->dead[at]);
  TY_ASSERT(c->state->killed_count < c->state->killed_capacity);
  segment->dead[at] = 1;
  uncount(c, segment, at);
  c->state->killed[c->state->killed_count++] = place;
  if (c->lexical_index != NULL) ty_lexical_died(c->lexical_index);
  ty_weights_note(c->weights, TY_WEIGHTS_DIED);
}

void ty_mark(ty_collection *c) {
  struct ty_state *s = c->state;
  ty_chunks_free(c);
  ty_buffer_free(&c->store->staged);
  c->store->drop_meaning = false;
  c->store->origin.bytes = 0;
  ty_buffer_free(&s->kept_schema);
  s->killed_count = 0;
  s->kept_rows = c->delta.count;
  s->kept_next_row = c->next_row;
}

void ty_undo_locked(ty_collection *c) {
  struct ty_state *s = c->state;
  TY_ASSERT_EXCLUSIVE(c);
  TY_ASSERT(s->kept_rows <= c->delta.count && s->kept_next_row <= c->next_row);
  bool moved = s->killed_count > 0 || c->delta.count != s->kept_rows;
  for (uint64_t i = 0; i < s->killed_count; i++) {
    ty_place place = s->killed[i];
    ty_segment *segment = place < c->base.count ? &c->base : &c->delta;
    revive(c, segment, place < c->base.count ? place : place - c->base.count);
    ty_meaning_revived(c->meaning, place);
  }
  for (uint64_t at = s->kept_rows; at < c->delta.count; at++) {
    if (!c->delta.dead[at]) uncount(c, &c->delta, at);
  }
  c->delta.count = s->kept_rows;
  c->next_row = s->kept_next_row;
  if (moved) {
    ty_derived_drop(c);
    ty_note_lexical(c);
    ty_weights_note(c->weights, TY_WEIGHTS_DELTA);
  }
  if (s->kept_schema.bytes > 0) {
    ty_buffer_free(&c->schema);
    c->schema = s->kept_schema;
    s->kept_schema = (ty_buffer){0};
    ty_schema schema;
    if (ty_schema_read((ty_slice){c->schema.data, c->schema.bytes}, &schema, NULL) == TY_OK) {
      c->default_target_recall = schema.default_target_recall;
      c->history = ty_schema_history(&schema);
    }
  }
  ty_mark(c);
}

/* The next lexical query compares the index's counts with the segments. */
void ty_note_lexical(ty_collection *c) {
  if (c->lexical_index != NULL) ty_lexical_reset(c->lexical_index);
}

/* Vectors of meaning that are copied out of a collection with their rows, and into another one. Each goes with the hash
 * of its row's text. ty_meaning_take skips a vector that another encoder made or that is not valid. It skips a row that
 * is deleted, has a vector, has no readable text, or whose text has another hash. Without a model it takes none. */
#include <string.h>
#include "calls/arguments.h"
#include "rows/checks.h"
#include "state/ids.h"
#include "state/meanings.h"

/* Finds the live row of the i-th id, and the hash of its text. *found is false where there is no row, or no text that
 * can be read. */
static ty_status find(const ty_collection *c, const ty_meaning_copy_args *a, uint64_t i, ty_text_reader *r, ty_ref *row,
                      uint64_t *hash, bool *found, ty_error *err) {
  ty_status status = ty_find(c, ty_nth(a->ids, a->id_ends, i), row, found, err);
  if (status != TY_OK || !*found) return status;
  *found = ty_row_has_text(row->segment, row->at) && ty_text_intact(row->segment, row->at);
  if (!*found) return TY_OK;
  ty_slice bytes = ty_row_text(row->segment, row->at, r, found);
  if (r->text.failed) return ty_fail(err, TY_NO_MEMORY, "out of memory for a text");
  *hash = c->env->kernel->hash64(bytes.data, (size_t)bytes.bytes, 0);
  return TY_OK;
}

ty_status ty_meaning_get(ty_collection *c, ty_meaning_copy_args *args, ty_error *err) {
  args->copied = 0;
  ty_status status = ty_check_ids(args->ids, args->id_ends, args->n, err);
  if (status == TY_OK) status = ty_enter(c, err);
  if (status != TY_OK) return status;
  const ty_meaning_view view = ty_meaning_view_of(c);
  ty_text_reader r = {0};
  for (uint64_t i = 0; i < args->n && status == TY_OK; i++) {
    ty_meaning_vector *out = &args->vectors[i];
    ty_ref row;
    uint64_t hash;
    bool found;
    memset(out, 0, sizeof *out);
    status = find(c, args, i, &r, &row, &hash, &found, err);
    const ame_encoding *vector = status == TY_OK && found ? ty_meaning_of(&view, ty_place_of(c, row)) : NULL;
    if (vector == NULL) continue;
    *out = (ty_meaning_vector){c->meaning->encoder, hash, *vector};
    args->copied++;
  }
  ty_buffer_free(&r.text);
  return ty_leave(c, status, err);
}

ty_status ty_meaning_take(ty_collection *c, ty_meaning_copy_args *args, ty_error *err) {
  args->copied = 0;
  ty_status status = ty_change_enter(c, err);
  if (status != TY_OK) return status;
  const uint64_t mark = c->store->staged.bytes;
  const ty_meaning_view view = ty_meaning_view_of(c);
  ty_text_reader r = {0};
  status = ty_check_ids(args->ids, args->id_ends, args->n, err);
  for (uint64_t i = 0; i < args->n && status == TY_OK && atomic_load(&c->env->model) != NULL; i++) {
    const ty_meaning_vector *v = &args->vectors[i];
    ty_ref row;
    uint64_t hash;
    bool found;
    if (v->encoder != c->env->encoder || !ty_meaning_is_valid(&(ty_meaning_record){v->encoding, 0})) continue;
    status = find(c, args, i, &r, &row, &hash, &found, err);
    if (status != TY_OK || !found || hash != v->text || ty_meaning_of(&view, ty_place_of(c, row)) != NULL) continue;
    status = ty_meaning_stage(c, &v->encoding, row.segment->row[row.at], err);
    args->copied++;
  }
  ty_buffer_free(&r.text);
  if (status != TY_OK) c->store->staged.bytes = mark, args->copied = 0;
  else if (args->copied > 0) c->state->changed = true;
  return ty_change_leave(c, status, err);
}

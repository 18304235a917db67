/* Deleting rows: all that can fail is done first, then they die at once, under the exclusive lock. */
#include <string.h>
#include "handed.h"
#include "store.h"

ty_status ty_delete(ty_collection *c, ty_delete_args *args, ty_error *err) {
  args->removed = 0;
  ty_status status = ty_change_enter(c, err);
  if (status != TY_OK) return status;
  ty_chunk_mark mark = ty_chunk_mark_take(c);
  uint64_t found = 0;
  uint8_t *at = NULL;
  ty_ref row;
  status = ty_check_ids(args->ids, args->id_ends, args->n, err);
  if (status == TY_OK) status = ty_ids_need(c, err);
  for (uint64_t i = 0; i < args->n && status == TY_OK; i++) found += ty_find(c, ty_nth(args->ids, args->id_ends, i), &row);
  if (status != TY_OK || found == 0) goto done;
  /* An id may stand twice, so this is room for at least what will die. */
  uint64_t bytes;
  if (!ty_mul(found, sizeof(ty_operation), &bytes)) status = ty_fail(err, TY_INVALID, "too many ids in one call");
  if (status == TY_OK) status = ty_chunk_take(c, bytes, &at, err);
  if (status == TY_OK) status = ty_kill_reserve(c, found, err);
  if (status != TY_OK) {
    ty_chunk_mark_restore(c, mark);
    goto done;
  }
  pthread_rwlock_wrlock(&c->lock);
  for (uint64_t i = 0; i < args->n; i++) {
    if (!ty_find(c, ty_nth(args->ids, args->id_ends, i), &row)) continue;
    ty_operation op = {
        .kind = TY_OPERATION_DELETE, .row = row.segment->row[row.at], .replaced = TY_NO_ROW, .bytes = sizeof op};
    memcpy(at + args->removed * sizeof op, &op, sizeof op);
    ty_kill(c, ty_place_of(c, row));
    args->removed++;
  }
  c->store->ops += args->removed;
  c->store->chunks[c->store->chunk_count - 1].used -= (found - args->removed) * sizeof(ty_operation);
  c->store->changed = true;
  pthread_rwlock_unlock(&c->lock);
done:
  ty_change_leave(c);
  return status;
}

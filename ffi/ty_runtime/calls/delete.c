/* Deleting rows: all that can fail comes first, then they die together, under the exclusive lock. */
#include <stdlib.h>
#include <string.h>
#include "calls/arguments.h"
#include "disk/operations.h"
#include "state/ids.h"

ty_status ty_delete(ty_collection *c, ty_delete_args *args, ty_error *err) {
  args->removed = 0;
  ty_status status = ty_change_enter(c, err);
  if (status != TY_OK) return status;
  ty_chunk_mark mark = ty_chunk_mark_take(c);
  uint64_t count = 0, bytes;
  uint8_t *at = NULL;
  ty_place *places = NULL; /* of the rows that will die; an id may be repeated */
  status = ty_check_ids(args->ids, args->id_ends, args->n, err);
  if (status == TY_OK && args->n > 0 && (places = malloc((size_t)args->n * sizeof *places)) == NULL)
    status = ty_fail(err, TY_NO_MEMORY, "out of memory for %llu deletions", (unsigned long long)args->n);
  for (uint64_t i = 0; i < args->n && status == TY_OK; i++) {
    ty_ref row;
    bool found;
    status = ty_find(c, ty_nth(args->ids, args->id_ends, i), &row, &found, err);
    if (found) places[count++] = ty_place_of(c, row);
  }
  if (status != TY_OK || count == 0) goto done;
  if (!ty_mul(count, sizeof(ty_operation), &bytes)) status = ty_fail(err, TY_INVALID, "too many ids in one call");
  if (status == TY_OK) status = ty_chunk_take(c, bytes, &at, err);
  if (status == TY_OK) status = ty_kill_reserve(c, count, err);
  if (status != TY_OK) {
    ty_chunk_mark_restore(c, mark);
    goto done;
  }
  pthread_rwlock_wrlock(&c->lock);
  for (uint64_t i = 0; i < count; i++) {
    ty_ref row = ty_ref_of(c, places[i]);
    if (row.segment->dead[row.at]) continue;
    ty_operation op = {
        .kind = TY_OPERATION_DELETE, .row = row.segment->row[row.at], .replaced = TY_NO_ROW, .bytes = sizeof op};
    memcpy(at + args->removed * sizeof op, &op, sizeof op);
    ty_kill(c, places[i]);
    args->removed++;
  }
  TY_ASSERT_EXCLUSIVE(c);
  TY_ASSERT(args->removed <= count && c->store->chunk_count > 0);
  c->store->ops += args->removed;
  c->store->chunks[c->store->chunk_count - 1].used -= (count - args->removed) * sizeof(ty_operation);
  c->state->changed = true;
  pthread_rwlock_unlock(&c->lock);
done:
  free(places);
  return ty_change_leave(c, status, err);
}

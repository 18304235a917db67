#include "state/superseded.h"

#include <stdlib.h>
#include <string.h>

#include "disk/delta.h"
#include "disk/operations.h"
#include "state/replay.h"

void ty_superseded_block(ty_collection *c, uint64_t generation, uint64_t killed, uint64_t rows) {
  struct ty_state *s = c->state;
  for (uint64_t i = killed; i < s->killed_count; i++) {
    if (s->killed[i] >= rows) continue; /* put and replaced by the same save */
    s->last_kill = (ty_last_kill){generation, killed, s->killed_count, rows};
    return;
  }
}

typedef struct aged {
  uint64_t birth;
  ty_place place;
} aged;

static int by_birth(const void *a, const void *b) {
  const aged *x = a, *y = b;
  return x->birth < y->birth ? -1 : x->birth > y->birth;
}

/* The rows killed from `k.from` to `k.to` that were there before, in the order of insertion. No two share a birth: of
 * one birth only one row was live before the save. */
static ty_status take(const ty_collection *c, ty_last_kill k, ty_superseded_rows *out, ty_error *err) {
  const struct ty_state *s = c->state;
  uint64_t n = 0;
  *out = (ty_superseded_rows){0};
  for (uint64_t i = k.from; i < k.to; i++) n += s->killed[i] < k.rows;
  if (n == 0) return TY_OK;
  aged *rows = malloc((size_t)n * sizeof *rows);
  ty_place *places = malloc((size_t)n * sizeof *places);
  if (rows == NULL || places == NULL) {
    free(rows);
    free(places);
    return ty_fail(err, TY_NO_MEMORY, "out of memory for %llu superseded rows", (unsigned long long)n);
  }
  n = 0;
  for (uint64_t i = k.from; i < k.to; i++) {
    if (s->killed[i] >= k.rows) continue;
    ty_ref row = ty_ref_of(c, s->killed[i]);
    rows[n++] = (aged){row.segment->birth[row.at], s->killed[i]};
  }
  qsort(rows, (size_t)n, sizeof *rows, by_birth);
  for (uint64_t i = 0; i < n; i++) places[i] = rows[i].place;
  free(rows);
  *out = (ty_superseded_rows){places, n};
  return TY_OK;
}

ty_status ty_superseded_settle(ty_collection *c, ty_superseded_save before, ty_superseded_save named, ty_error *err) {
  struct ty_state *s = c->state;
  ty_superseded_rows rows = {0};
  bool same = s->last_kill.generation == 0 && named.generation != 0 && named.generation == before.generation;
  if (same) return TY_OK;
  if (named.generation != 0 && s->last_kill.generation == named.generation) {
    ty_status status = take(c, s->last_kill, &rows, err);
    if (status != TY_OK) return status;
  }
  free(s->superseded.places);
  s->superseded = rows;
  return TY_OK;
}

ty_status ty_superseded_since(const ty_collection *c, ty_superseded_rows *out, ty_error *err) {
  const struct ty_state *s = c->state;
  return take(c, (ty_last_kill){0, 0, s->killed_count, c->base.count + s->kept_rows}, out, err);
}

uint64_t ty_superseded_count(const ty_collection *c) {
  uint64_t now = c->env->os.now(&c->env->os), then = c->store->files.superseded.time;
  /* A clock that was set back makes them no older. */
  return now > then && now - then >= TY_SUPERSEDED_MS ? 0 : c->state->superseded.count;
}

ty_status ty_superseded_write(ty_collection *t, const ty_collection *c, const ty_place *rank, ty_superseded_save save,
                              ty_error *err) {
  ty_files *files = &t->store->files;
  const ty_superseded_rows *from = &c->state->superseded;
  uint64_t bytes;
  uint8_t *at;
  TY_ASSERT(files->deltas == NULL && from->count > 0 && from->count <= t->base.count);
  files->deltas = malloc(sizeof *files->deltas);
  if (files->deltas == NULL || !ty_mul(from->count, sizeof(ty_operation), &bytes))
    return ty_fail(err, TY_NO_MEMORY, "out of memory for a delta");
  ty_status status = ty_chunk_take(t, bytes, &at, err);
  if (status != TY_OK) return status;
  for (uint64_t i = 0; i < from->count; i++) {
    ty_operation op = {.kind = TY_OPERATION_DELETE,
                       .row = t->store->first_row + rank[from->places[i]],
                       .replaced = TY_NO_ROW,
                       .bytes = sizeof op};
    memcpy(at + i * sizeof op, &op, sizeof op);
  }
  t->store->ops = from->count;
  ty_delta_write write = {.append = {.c = t, .generation = save.generation}, .first_row = t->next_row, .files = files};
  t->store->lock_fd = c->store->lock_fd;
  status = ty_delta_append(&write, err);
  if (status == TY_OK) status = ty_delta_finish(&write, err);
  t->store->lock_fd = -1;
  ty_chunks_free(t);
  if (status == TY_OK) status = ty_delta_open(t, &files->deltas[0], err);
  ty_block_span span = {save.generation - 1, save.generation};
  if (status == TY_OK) status = ty_delta_replay(t, &files->deltas[0], 0, &span, err);
  if (status == TY_OK) status = ty_superseded_settle(t, (ty_superseded_save){0}, save, err);
  if (status == TY_OK) files->superseded = save;
  return status;
}

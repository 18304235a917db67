/* Putting rows.
 *
 * All that can fail comes first, while queries go on: operations are encoded as they will be saved, codes are made,
 * memory is reserved. Then, under the exclusive lock, all rows are added together, which cannot fail.
 */
#include <string.h>
#include "calls/meaning.h"
#include "calls/arguments.h"
#include "disk/operations.h"
#include "lexical/lexical.h"
#include "os/arena.h"
#include "state/ids.h"
#include "state/history.h"

typedef struct put_call {
  ty_collection *c;
  ty_put_args *args;
  uint64_t rows;        /* distinct ids */
  uint64_t *last;       /* by first occurrence: the index of the last, which wins */
  ty_place *victim;     /* + 1; 0: the id is new */
  ty_place *like;       /* + 1; 0: none */
  ty_past past;         /* with TY_PUT_CHANGES */
  ty_encoding encoding; /* of the above */
  uint32_t *table;      /* distinct ids by hash: position in `last` + 1 */
  uint64_t table_size;
  ty_arena memory;
} put_call;

static ty_slice put_id(const put_call *p, uint64_t i) { return ty_nth(p->args->ids, p->args->id_ends, i); }

static bool equal(ty_slice a, ty_slice b) { return a.bytes == b.bytes && memcmp(a.data, b.data, (size_t)a.bytes) == 0; }

static void quote(ty_slice id, char out[80]) {
  uint64_t n = id.bytes < 64 ? id.bytes : 64;
  while (n < id.bytes && n > 0 && (id.data[n] & 0xc0) == 0x80) n--;
  memcpy(out, id.data, (size_t)n);
  memcpy(out + n, n < id.bytes ? "..." : "", n < id.bytes ? 4 : 1);
}

/* The slot of an id in the table, or the free one where it belongs. */
static uint64_t slot_of(const put_call *p, ty_slice id) {
  uint64_t mask = p->table_size - 1, slot = p->c->env->kernel->hash64(id.data, (size_t)id.bytes, 0x7075) & mask;
  while (p->table[slot] != 0 && !equal(put_id(p, p->last[p->table[slot] - 1]), id)) slot = (slot + 1) & mask;
  return slot;
}

/* Finds the distinct ids and the rows that they replace. */
static ty_status resolve(put_call *p, ty_error *err) {
  ty_collection *c = p->c;
  uint64_t n = p->args->n, mode = p->args->mode, refused = 0;
  char names[3][80];
  for (uint64_t i = 0; i < n; i++) {
    ty_slice id = put_id(p, i);
    uint64_t slot = slot_of(p, id);
    ty_ref old;
    bool again = p->table[slot] != 0, live = false;
    ty_status status = again ? TY_OK : ty_find(c, id, &old, &live, err);
    if (status != TY_OK) return status;
    if ((mode == TY_ADD && (again || live)) || (mode == TY_UPDATE && !again && !live)) {
      if (refused < 3) quote(id, names[refused]);
      refused++;
      continue;
    }
    if (again) {
      p->last[p->table[slot] - 1] = i;
      continue;
    }
    TY_ASSERT(p->rows < n && p->rows * 2 < p->table_size);
    p->table[slot] = (uint32_t)p->rows + 1;
    p->victim[p->rows] = live ? ty_place_of(c, old) + 1 : 0;
    p->last[p->rows++] = i;
  }
  if (refused == 0) return TY_OK;
  char listed[3 * (sizeof names[0] + 4)] = "";
  for (uint64_t i = 0, at = 0; i < refused && i < 3; i++) {
    at += (uint64_t)snprintf(listed + at, sizeof listed - at, "%s'%s'", i > 0 ? ", " : "", names[i]);
  }
  return ty_fail(err, mode == TY_ADD ? TY_KEY_EXISTS : TY_NOT_FOUND, "%s %s: %s%s",
                 refused > 1 ? "these ids" : "this id",
                 mode == TY_ADD ? (refused > 1 ? "exist already or stand twice in the call, nothing was added"
                                               : "exists already or stands twice in the call, nothing was added")
                                : (refused > 1 ? "are not in the collection" : "is not in the collection"),
                 listed, refused > 3 ? ", ..." : "");
}

/* Finds the rows whose vectors the call's rows get. */
static ty_status resolve_likes(put_call *p, ty_error *err) {
  ty_status status = TY_OK;
  for (uint64_t row = 0; row < p->rows && status == TY_OK; row++) {
    ty_slice id = ty_nth(p->args->likes, p->args->like_ends, p->last[row]);
    ty_ref from;
    bool live = false;
    if (id.bytes > 0) status = ty_find(p->c, id, &from, &live, err);
    p->like[row] = live ? ty_place_of(p->c, from) + 1 : 0;
  }
  return status;
}

/* The same with rows of the history. */
static ty_status resolve_changes(put_call *p, ty_error *err) {
  ty_status status = ty_past_open(p->c, false, &p->past, err);
  for (uint64_t row = 0; row < p->rows && status == TY_OK; row++) {
    const uint64_t change = p->args->changes[p->last[row]];
    if (change >= p->past.change_count || ty_past_kind(&p->past, change) == TY_CHANGE_ADDED)
      status = ty_fail(err, TY_INVALID, "there is no row before change %llu", (unsigned long long)change);
  }
  p->encoding.past = &p->past;
  return status;
}

/* Codes of filter values: the only part under the exclusive lock that may fail, before any row is added. */
static ty_status code_keys(put_call *p, uint32_t *key_codes, ty_error *err) {
  ty_collection *c = p->c;
  ty_status status = TY_OK;
  for (uint64_t row = 0; row < p->rows && status == TY_OK; row++) {
    for (uint32_t k = 0; k < c->columns; k++) {
      ty_slice value = ty_nth(p->args->keys, p->args->key_ends, p->last[row] * c->columns + k);
      uint32_t code = ty_dict_intern(&c->dicts[k], c->env->kernel, value);
      if (code == TY_NO_CODE) return ty_fail(err, TY_NO_MEMORY, "out of memory for filter values");
      key_codes[row * c->columns + k] = code;
    }
  }
  return status;
}

static void apply(put_call *p, const uint32_t *key_codes) {
  ty_collection *c = p->c;
  uint64_t first = c->delta.count;
  TY_ASSERT_EXCLUSIVE(c);
  TY_ASSERT(first + p->rows <= c->state->delta.capacity);
  ty_delta_lines(c, &p->encoding.coded, first, p->rows);
  for (uint64_t row = 0; row < p->rows; row++) {
    const ty_operation *op = p->encoding.op[row];
    TY_ASSERT(op->row == c->next_row);
    ty_new_row fresh = {.row = op->row,
                        .birth = op->row,
                        .times = {ty_put_created(c, op, (const uint8_t *)op), op->updated},
                        .codes = key_codes + row * c->columns,
                        .payload = ty_put_payload(c, op, (const uint8_t *)op)};
    if (p->victim[row] != 0) {
      ty_ref old = ty_ref_of(c, p->victim[row] - 1);
      fresh.birth = old.segment->birth[old.at];
      fresh.times.created = ty_row_times(old.segment, old.at).created;
      ty_kill(c, p->victim[row] - 1);
      p->args->replaced++;
    } else {
      p->args->inserted++;
    }
    ty_delta_push(c, &fresh, &p->encoding.coded, row);
    ty_encoding_advance(&p->encoding, op->bytes);
    c->next_row++;
    ty_derived_added(c, (ty_place)(c->base.count + c->delta.count - 1));
  }
  if (c->lexical_index != NULL && p->rows > 0) ty_lexical_added(c->lexical_index, first);
  c->state->changed = true;
}

ty_status ty_put(ty_collection *c, ty_put_args *args, ty_progress *progress, ty_error *err) {
  ty_ahead *ahead = args->ahead;
  args->ahead = NULL;
  args->inserted = args->replaced = 0;
  ty_status status = ty_change_enter(c, err);
  if (status != TY_OK) {
    ty_ahead_close(ahead);
    return status;
  }
  put_call p = {.c = c, .args = args};
  ty_chunk_mark mark = ty_chunk_mark_take(c);
  const uint64_t staged = c->store->staged.bytes;
  uint64_t n = args->n;
  status = ty_check_put(c, args, err);
  if (status != TY_OK || n == 0) goto done;
  for (p.table_size = 16; p.table_size < n * 2;) p.table_size *= 2;
  p.last = ty_arena_take(&p.memory, n, sizeof *p.last);
  p.victim = ty_arena_take(&p.memory, n, sizeof *p.victim);
  p.encoding.op = ty_arena_take(&p.memory, n, sizeof *p.encoding.op);
  p.encoding.c = c;
  p.encoding.args = args;
  p.encoding.last = p.last;
  p.encoding.victim = p.victim;
  p.table = ty_arena_zero(&p.memory, p.table_size, sizeof *p.table);
  uint32_t *key_codes = ty_arena_take(&p.memory, n * c->columns, sizeof *key_codes);
  const bool changes = (args->flags & TY_PUT_CHANGES) != 0, likes = !changes && args->like_ends != NULL;
  if (likes) p.like = ty_arena_take(&p.memory, n, sizeof *p.like);
  p.encoding.like = p.like;
  if (p.memory.failed) {
    status = ty_fail(err, TY_NO_MEMORY, "out of memory for %llu rows", (unsigned long long)n);
    goto done;
  }
  status = resolve(&p, err);
  if (status == TY_OK && changes) status = resolve_changes(&p, err);
  else if (status == TY_OK && likes) status = resolve_likes(&p, err);
  if (status == TY_OK) {
    uint64_t now = c->env->os.now(&c->env->os);
    if ((args->flags & TY_PUT_FOLLOWS) != 0 && c->state->put_time != 0) now = c->state->put_time;
    c->state->put_time = p.encoding.now = now > TY_TIME_MAX ? TY_TIME_MAX : now;
    p.encoding.rows = p.rows;
    if (ahead != NULL && ty_ahead_fits(ahead, &p.encoding)) p.encoding.ahead = ahead;
    status = ty_encode(&p.encoding, progress, err);
  }
  if (status == TY_OK) status = ty_meaning_stage_put(&p.encoding, progress, err);
  if (status == TY_OK) {
    uint64_t room;
    if (!ty_add(p.rows, args->following, &room) || room > TY_ROWS_MAX) room = p.rows;
    status = ty_delta_reserve(c, room, false, err);
  }
  if (status == TY_OK) status = ty_kill_reserve(c, p.rows, err);
  if (status == TY_OK) {
    pthread_rwlock_wrlock(&c->lock);
    status = code_keys(&p, key_codes, err);
    if (status == TY_OK) apply(&p, key_codes);
    pthread_rwlock_unlock(&c->lock);
  }
  if (status == TY_OK) {
    ty_progress_set(progress, p.rows, p.rows);
  } else {
    ty_chunk_mark_restore(c, mark);
    c->store->staged.bytes = staged;
  }
done:
  ty_past_close(&p.past);
  ty_arena_free(&p.memory);
  ty_coded_free(&p.encoding.coded);
  ty_ahead_close(ahead);
  return ty_change_leave(c, status, err);
}

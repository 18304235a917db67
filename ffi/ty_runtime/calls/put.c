/* Putting rows.
 *
 * All that can fail comes first, while queries go on: operations are encoded as they will be saved, codes are made,
 * memory is reserved. Then, under the exclusive lock, all rows are added together, which cannot fail.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "calls/handed.h"
#include "disk/operations.h"
#include "lexical/lexical.h"
#include "lexical/tally.h"
#include "rows/vector.h"
#include "state/ids.h"
#include "state/state.h"
#include "state/undo.h"

typedef struct put_call {
  ty_collection *c;
  ty_put_args *args;
  uint64_t rows;     /* distinct ids */
  uint64_t *last;    /* by first occurrence: the index of the last, which wins */
  ty_place *victim;  /* + 1; 0: the id is new */
  ty_operation **op; /* as encoded */
  ty_coded coded;    /* each row's codes */
  uint64_t resident; /* bytes of `coded`, about */
  uint32_t *table;   /* distinct ids by hash: position in `last` + 1 */
  uint64_t table_size;
} put_call;

static ty_slice put_id(const put_call *p, uint64_t i) { return ty_nth(p->args->ids, p->args->id_ends, i); }

static bool equal(ty_slice a, ty_slice b) { return a.bytes == b.bytes && memcmp(a.data, b.data, (size_t)a.bytes) == 0; }

static void quote(ty_slice id, char out[80]) {
  uint64_t n = id.bytes < 64 ? id.bytes : 64;
  while (n < id.bytes && n > 0 && (id.data[n] & 0xc0) == 0x80) n--;
  memcpy(out, id.data, (size_t)n);
  memcpy(out + n, n < id.bytes ? "..." : "", n < id.bytes ? 4 : 1);
}

/* Finds the distinct ids and the rows that they replace. */
static ty_status resolve(put_call *p, ty_error *err) {
  ty_collection *c = p->c;
  uint64_t n = p->args->n, mode = p->args->mode, refused = 0;
  char names[3][80];
  for (uint64_t i = 0; i < n; i++) {
    ty_slice id = put_id(p, i);
    uint64_t mask = p->table_size - 1, slot = c->env->kernel->hash64(id.data, (size_t)id.bytes, 0x7075) & mask;
    while (p->table[slot] != 0 && !equal(put_id(p, p->last[p->table[slot] - 1]), id)) slot = (slot + 1) & mask;
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

/* Called for each row written or read: pages of large calls and changes, which lie in files, are released. */
static void passed(put_call *p, uint64_t bytes) {
  ty_touched(p->c->resident, TY_OF_OPERATIONS, bytes, TY_RESIDENT_MOST);
  p->resident += AME_CODE_STRIDE(p->c->dim) + AME_I4_BYTES(p->c->dim);
  if (p->resident < TY_RESIDENT_MOST) return;
  p->resident = 0;
  ty_coded_let_go(&p->coded);
}

/* Writes a row's vector: as `stored`, or as its codes. */
static void put_vector(const put_call *p, uint64_t row, const uint8_t *stored, bool coded, uint8_t *to) {
  const ty_coded *x = &p->coded;
  uint32_t dim = p->c->dim;
  if (coded) {
    memcpy(to, &x->info[row].scale, sizeof x->info->scale);
    memcpy(to + sizeof x->info->scale, x->codes + row * AME_CODE_STRIDE(dim), dim);
  } else {
    memcpy(to, stored, (size_t)ty_vector_bytes(p->c));
  }
}

/* Encodes one row as its operation. `stored` is its vector, `tally` and `terms` are scratch. */
static ty_status encode(put_call *p, uint64_t row, const uint8_t *stored, ty_tally *tally, ty_buffer *terms,
                        ty_error *err) {
  ty_collection *c = p->c;
  const ty_put_args *a = p->args;
  uint64_t i = p->last[row];
  ty_slice id = put_id(p, i), meta = ty_nth(a->metas, a->meta_ends, i), text = ty_nth(a->texts, a->text_ends, i);
  bool texts = a->text_ends != NULL, keep = texts && !(a->flags & TY_PUT_DROP_TEXT);
  terms->bytes = 0;
  if (c->lexical && texts) {
    ty_status status = ty_terms_encode(tally, c->env->kernel, text, terms, err);
    if (status != TY_OK) return status;
  }
  if (terms->bytes > UINT32_MAX) return ty_fail(err, TY_INVALID, "a text has too many terms");
  bool coded = c->dtype == TY_F32 && ty_coded_is_row(&p->coded, row, (const float *)(const void *)stored);
  uint64_t first_key = i * c->columns, key_start = first_key == 0 ? 0 : a->key_ends[first_key - 1];
  ty_operation op = {.kind = TY_OPERATION_PUT,
                     .flags = (meta.bytes > 0 ? TY_HAS_META : 0) | (keep ? TY_HAS_TEXT : 0) | (coded ? TY_AS_CODES : 0),
                     .row = c->next_row + row,
                     .replaced = TY_NO_ROW,
                     .birth = c->next_row + row,
                     .id_bytes = (uint32_t)id.bytes,
                     .meta_bytes = (uint32_t)meta.bytes,
                     .text_bytes = keep ? (uint32_t)text.bytes : 0,
                     .terms_bytes = (uint32_t)terms->bytes,
                     .keys_bytes = (uint32_t)(a->key_ends[first_key + c->columns - 1] - key_start)};
  if (p->victim[row] != 0) {
    ty_ref old = ty_ref_of(c, p->victim[row] - 1);
    op.replaced = old.segment->row[old.at];
    op.birth = old.segment->birth[old.at];
  }
  if (!ty_operation_size(c, &op)) return ty_fail(err, TY_INVALID, "a row is too large");
  uint8_t *at;
  ty_status status = ty_chunk_take(c, op.bytes, &at, err);
  if (status != TY_OK) return status;
  ty_put_layout l = ty_put_place(c, &op);
  uint64_t end = l.keys + op.keys_bytes;
  memcpy(at, &op, sizeof op);
  put_vector(p, row, stored, coded, at + l.vector);
  memcpy(at + l.id, id.data, (size_t)id.bytes);
  if (meta.bytes > 0) memcpy(at + l.meta, meta.data, (size_t)meta.bytes);
  if (op.text_bytes > 0) memcpy(at + l.text, text.data, (size_t)text.bytes);
  if (terms->bytes > 0) memcpy(at + l.terms, terms->data, (size_t)terms->bytes);
  for (uint32_t k = 0; k < c->columns; k++) {
    uint32_t length = (uint32_t)ty_nth(a->keys, a->key_ends, first_key + k).bytes;
    memcpy(at + l.key_lengths + k * sizeof length, &length, sizeof length);
  }
  if (op.keys_bytes > 0) memcpy(at + l.keys, a->keys + key_start, op.keys_bytes);
  TY_ASSERT(end <= op.bytes && op.bytes % TY_ALIGN == 0);
  memset(at + end, 0, (size_t)(op.bytes - end));
  p->op[row] = (ty_operation *)(void *)at;
  c->store->ops++;
  passed(p, op.bytes);
  return TY_OK;
}

/* Encodes all rows, as many at a time as the coder takes. */
static ty_status encode_all(put_call *p, ty_progress *progress, ty_error *err) {
  ty_collection *c = p->c;
  ty_coder coder;
  ty_tally tally = {0};
  ty_buffer terms = {0};
  uint64_t row_bytes = (uint64_t)c->dim * sizeof(float), bad;
  ty_status status = ty_coder_open(&coder, c, err);
  for (uint64_t first = 0, n; first < p->rows && status == TY_OK; first += n) {
    n = p->rows - first < coder.room ? p->rows - first : coder.room;
    ty_progress_set(progress, first, p->rows);
    if (ty_cancelled(progress)) {
      status = ty_fail(err, TY_CANCELLED, "cancelled; no row of the call is in");
      break;
    }
    for (uint64_t i = 0; i < n; i++)
      memcpy(coder.rows + i * c->dim, p->args->vectors + p->last[first + i] * c->dim, (size_t)row_bytes);
    if (!ty_coder_store(&coder, n, &bad)) {
      uint64_t row = p->last[first + bad / c->dim], element = bad % c->dim;
      status = ty_fail(err, TY_INVALID, "vectors[%llu][%llu] is %.9g, which %s: scale the vectors or use dtype f32",
                       (unsigned long long)row, (unsigned long long)element,
                       (double)p->args->vectors[row * c->dim + element], ty_dtype_limit(c->dtype));
      break;
    }
    ty_vector_screen(c, c->dtype, coder.stored, coder.rows, n, &p->coded, first);
    for (uint64_t i = 0; i < n && status == TY_OK; i++)
      status = encode(p, first + i, coder.stored + i * ty_vector_bytes(c), &tally, &terms, err);
  }
  ty_coder_free(&coder);
  ty_buffer_free(&terms);
  ty_tally_free(&tally);
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
  for (uint64_t row = 0; row < p->rows; row++) {
    const ty_operation *op = p->op[row];
    TY_ASSERT(op->row == c->next_row);
    ty_new_row fresh = {.row = op->row,
                        .birth = op->birth,
                        .codes = key_codes + row * c->columns,
                        .payload = ty_put_payload(c, op, (const uint8_t *)op)};
    if (p->victim[row] != 0) {
      ty_kill(c, p->victim[row] - 1);
      p->args->replaced++;
    } else {
      p->args->inserted++;
    }
    ty_delta_push(c, &fresh, &p->coded, row);
    passed(p, op->bytes);
    c->next_row++;
    ty_derived_added(c, (ty_place)(c->base.count + c->delta.count - 1));
  }
  if (c->lexical_index != NULL && p->rows > 0) ty_lexical_added(c->lexical_index, first);
  c->state->changed = true;
}

ty_status ty_put(ty_collection *c, ty_put_args *args, ty_progress *progress, ty_error *err) {
  args->inserted = args->replaced = 0;
  ty_status status = ty_change_enter(c, err);
  if (status != TY_OK) return status;
  put_call p = {.c = c, .args = args};
  uint32_t *key_codes = NULL;
  ty_chunk_mark mark = ty_chunk_mark_take(c);
  uint64_t n = args->n;
  status = ty_check_put(c, args, err);
  if (status != TY_OK || n == 0) goto done;
  for (p.table_size = 16; p.table_size < n * 2;) p.table_size *= 2;
  p.last = malloc((size_t)n * sizeof *p.last);
  p.victim = malloc((size_t)n * sizeof *p.victim);
  p.op = malloc((size_t)n * sizeof *p.op);
  p.table = calloc((size_t)p.table_size, sizeof *p.table);
  key_codes = malloc((size_t)(n * c->columns) * sizeof *key_codes);
  if (p.last == NULL || p.victim == NULL || p.op == NULL || p.table == NULL || key_codes == NULL) {
    status = ty_fail(err, TY_NO_MEMORY, "out of memory for %llu rows", (unsigned long long)n);
    goto done;
  }
  status = resolve(&p, err);
  if (status == TY_OK) status = ty_coded_open(&p.coded, c, p.rows, err);
  if (status == TY_OK) status = encode_all(&p, progress, err);
  if (status == TY_OK) status = ty_delta_reserve(c, p.rows, false, err);
  if (status == TY_OK) status = ty_kill_reserve(c, p.rows, err);
  if (status == TY_OK) {
    pthread_rwlock_wrlock(&c->lock);
    status = code_keys(&p, key_codes, err);
    if (status == TY_OK) apply(&p, key_codes);
    pthread_rwlock_unlock(&c->lock);
  }
  if (status == TY_OK) ty_progress_set(progress, p.rows, p.rows);
  else ty_chunk_mark_restore(c, mark);
done:
  free(p.last);
  free(p.victim);
  free(p.op);
  ty_coded_free(&p.coded);
  free(p.table);
  free(key_codes);
  ty_change_leave(c);
  return status;
}

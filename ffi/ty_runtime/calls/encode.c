/* A task is some neighbouring rows: their vectors, made of the texts where the call has none, codes and terms. The
 * operations themselves are copies, written by one thread at a time in the order of the tasks, so that no copy of a
 * large text is made before; other threads go on with their next task meanwhile. A failure waits for its turn as well:
 * of several the first in the order of the rows is reported. */
#include "calls/encode.h"

#include <stdlib.h>
#include <string.h>

#include "calls/arguments.h"
#include "disk/operations.h"
#include "lexical/stored_terms.h"
#include "lexical/lexical.h"
#include "lexical/tally.h"
#include "rows/checks.h"
#include "rows/sparse.h"
#include "rows/vector.h"
#include "work/crew.h"

/* Texts that are embedded in one go share a cache of terms; cancelling waits for them: 4 ms. */
#define EMBED_BYTES ((uint64_t)256 << 10)
/* About how many bytes of text a call has to have for each thread. Elements of vectors count as a quarter: a third of a
 * millisecond. */
#define THREAD_WORK ((uint64_t)32 << 10)
/* Tasks for each thread at least, so that all end at the same time. */
#define TASKS_EACH 4u

/* The terms of a task's texts as the embedder met them, hash << 32 | how often: a text is read once for its vector and
 * its terms. */
typedef struct met {
  ty_buffer terms;
  uint64_t first; /* row of the texts that are being embedded */
  uint64_t from[TY_CODER_ROWS], to[TY_CODER_ROWS];
  bool whole[TY_CODER_ROWS]; /* all of the text was embedded */
} met;

typedef struct hand {
  ty_coder coder;
  ty_tally tally;
  met met;
  ty_buffer terms;
  uint64_t term_ends[TY_CODER_ROWS];
  bool coded[TY_CODER_ROWS];
  uint32_t sparse_bytes[TY_CODER_ROWS]; /* of the vector without its zeros; 0: it is written with them */
  ty_coded to;                          /* the call's, with scratch of its own */
} hand;

typedef struct encoder {
  ty_encoding *e;
  ty_progress *progress;
  uint64_t step;        /* rows of a task */
  ty_stored_terms kept; /* terms of rows of the base that others are like */
  hand hands[TY_CREW_MAX];
  pthread_mutex_t lock; /* of what follows, and of the unsaved operations */
  pthread_cond_t moved;
  uint64_t turn; /* the task whose operations are next */
  ty_status status;
  ty_error error;
} encoder;

static ty_slice text_of(const ty_encoding *e, uint64_t row) {
  return ty_nth(e->args->texts, e->args->text_ends, e->last[row]);
}

static bool is_like(const ty_encoding *e, uint64_t row) { return e->like != NULL && e->like[row] != 0; }
/* Whether its vector is not made of its text or the caller's numbers. */
static bool has_stored(const ty_encoding *e, uint64_t row) { return e->past != NULL || is_like(e, row); }

static ty_slice labels_of(const ty_encoding *e, uint64_t row) {
  return ty_nth(e->args->labels, e->args->label_ends, e->last[row]);
}

static void take_met(void *context, uint64_t text, uint32_t hash, uint32_t count) {
  met *m = context;
  uint64_t row = m->first + text, item = (uint64_t)hash << 32 | count;
  if (m->to[row] == 0) m->from[row] = m->terms.bytes;
  ty_buffer_append(&m->terms, &item, sizeof item);
  m->to[row] = m->terms.bytes;
}

/* Embeds n rows' texts into `out`: those that follow each other in the call at once, up to one that is cut. */
static ty_status embed(const encoder *x, met *met, uint64_t first, uint64_t n, float *out, ty_error *err) {
  const ty_encoding *e = x->e;
  const ty_collection *c = e->c;
  uint64_t ends[TY_CODER_ROWS];
  met->terms.bytes = 0;
  memset(met->from, 0, sizeof met->from);
  memset(met->to, 0, sizeof met->to);
  for (uint64_t done = 0, run; done < n; done += run) {
    const uint8_t *from = text_of(e, first + done).data;
    bool whole = true;
    uint64_t bytes = 0;
    if (ty_cancelled(x->progress)) return ty_fail(err, TY_CANCELLED, "cancelled; no row of the call is in");
    if (has_stored(e, first + done)) {
      memset(out + done * c->dim, 0, (size_t)c->dim * sizeof *out); /* until take_likes */
      run = 1;
      continue;
    }
    for (run = 0; whole && done + run < n && bytes < EMBED_BYTES; run++) {
      uint64_t row = first + done + run;
      if (run > 0 && (e->last[row] != e->last[row - 1] + 1 || has_stored(e, row))) break;
      ty_slice text = text_of(e, row);
      uint64_t end = ty_cut(text, e->args->embed_most);
      whole = end == text.bytes;
      met->whole[done + run] = whole;
      ends[run] = bytes += end;
    }
    met->first = done;
    if (c->env->kernel->embed_terms((uint32_t)e->args->model, AME_ROLE_DOCUMENT, from, ends, run, out + done * c->dim,
                                    c->lexical ? take_met : NULL, met) != 0)
      return ty_fail(err, TY_INVALID, "there is no embedding model %llu", (unsigned long long)e->args->model);
  }
  return TY_OK;
}

static ty_status fill(const encoder *x, met *met, uint64_t first, uint64_t n, float *out, ty_error *err) {
  const ty_encoding *e = x->e;
  uint64_t dim = e->c->dim;
  if (e->args->vectors == NULL) return embed(x, met, first, n, out, err);
  for (uint64_t i = 0; i < n; i++)
    memcpy(out + i * dim, e->args->vectors + e->last[first + i] * dim, (size_t)dim * sizeof *out);
  return TY_OK;
}

static ty_status take_like(const ty_encoding *e, hand *h, uint64_t row, uint8_t *stored, ty_error *err) {
  ty_ref from = ty_ref_of(e->c, e->like[row] - 1);
  if (!ty_vector_intact(e->c, from.segment, from.at))
    return ty_row_damaged(e->c, from.segment, from.at, TY_PART_VECTORS, err);
  ty_row_stored(e->c, from.segment, from.at, h->coder.codes, stored);
  return TY_OK;
}

static ty_status take_change(const ty_encoding *e, hand *h, uint64_t row, uint8_t *stored, ty_error *err) {
  return ty_past_vector(e->past, e->args->changes[e->last[row]], (uint8_t *)h->coder.codes, stored, err);
}

/* The vectors of rows that are like others, over those that the coder made. What a forged base has must not become a
 * row of the delta, which would then not be opened. */
static ty_status take_likes(const ty_encoding *e, hand *h, uint64_t first, uint64_t n, ty_error *err) {
  const ty_collection *c = e->c;
  for (uint64_t i = 0; i < n; i++) {
    if (!has_stored(e, first + i)) continue;
    uint8_t *stored = h->coder.stored + i * ty_vector_bytes(c);
    ty_status status =
        e->past != NULL ? take_change(e, h, first + i, stored, err) : take_like(e, h, first + i, stored, err);
    if (status != TY_OK) return status;
    const float *decoded = ty_vector_decode(c, c->dtype, stored, h->coder.rows + i * c->dim);
    if (!ty_vector_good(c, c->dtype, stored, decoded))
      return ty_fail(err, TY_CORRUPT, "the stored vector of a row, which another gets, is damaged");
  }
  return TY_OK;
}

/* Reads the terms of the rows of the base that others are like from the index. Where that does not pay, or the index is
 * damaged, the rows' texts are tokenised. */
static ty_status keep_terms(encoder *x, ty_error *err) {
  const ty_encoding *e = x->e;
  ty_collection *c = e->c;
  uint64_t n = 0;
  if (e->like == NULL || !c->lexical || (e->args->flags & TY_PUT_DROP_TEXT) == 0) return TY_OK;
  uint32_t *positions = malloc((size_t)e->rows * sizeof *positions);
  if (positions == NULL) return ty_fail(err, TY_NO_MEMORY, "out of memory for terms");
  for (uint64_t row = 0; row < e->rows; row++) {
    if (!is_like(e, row)) continue;
    ty_ref from = ty_ref_of(c, e->like[row] - 1);
    if (from.segment->is_base && ty_row_has_terms(from.segment, from.at)) positions[n++] = (uint32_t)from.at;
  }
  ty_status status = TY_OK;
  if (ty_stored_terms_pays(c->lexical_index, n)) status = ty_stored_terms_open(&x->kept, c, positions, n, err);
  free(positions);
  if (status != TY_INDEX) return status;
  ty_lexical_found_damage(c->lexical_index);
  ty_stored_terms_free(&x->kept, c->env);
  return TY_OK;
}

/* The terms of a row of the base that another is like. False: they were not read. */
static bool terms_kept(const encoder *x, hand *h, uint64_t at) {
  uint64_t n, tokens;
  const uint64_t *items = ty_stored_terms_row(&x->kept, at, &n, &tokens);
  if (items == NULL) return false;
  ty_terms_put(items, n, tokens, x->e->c->env->kernel->token_version(), &h->terms);
  return true;
}

/* The terms of a row: those that the row which it is like has kept, where it keeps no text either, or its text's. */
static ty_status terms_of(const encoder *x, hand *h, uint64_t first, uint64_t i, ty_error *err) {
  const ty_encoding *e = x->e;
  const uint64_t row = first + i;
  const ame_kernel *k = e->c->env->kernel;
  if (is_like(e, row) && (e->args->flags & TY_PUT_DROP_TEXT)) {
    ty_ref from = ty_ref_of(e->c, e->like[row] - 1);
    ty_slice kept = ty_row_terms(from.segment, from.at);
    bool good = from.segment->is_base ? terms_kept(x, h, from.at) : ty_terms_good(kept, k->token_version());
    if (good && !from.segment->is_base) ty_buffer_append(&h->terms, kept.data, kept.bytes);
    if (h->terms.failed) return ty_fail(err, TY_NO_MEMORY, "out of memory for terms");
    if (good) return TY_OK;
  }
  const met *m = &h->met;
  if (m->terms.failed) return ty_fail(err, TY_NO_MEMORY, "out of memory for terms");
  bool known = e->args->vectors == NULL && m->whole[i] && !has_stored(e, row);
  ty_slice terms = {NULL, 0};
  if (m->to[i] > m->from[i]) terms = (ty_slice){m->terms.data + m->from[i], m->to[i] - m->from[i]};
  return ty_terms_encode(&h->tally, k, text_of(e, row), known ? &terms : NULL, labels_of(e, row), &h->terms, err);
}

/* An element that the dtype cannot hold; `bad` is its index among those of the task. */
static ty_status too_large(const ty_encoding *e, uint64_t first, uint64_t bad, ty_error *err) {
  const ty_collection *c = e->c;
  uint64_t row = e->last[first + bad / c->dim], element = bad % c->dim;
  if (e->args->vectors == NULL)
    return ty_fail(err, TY_INVALID, "the embedding of texts[%llu] cannot be stored as %s", (unsigned long long)row,
                   ty_dtype_limit(c->dtype));
  return ty_fail(err, TY_INVALID, "vectors[%llu][%llu] is %.9g, which %s: scale the vectors or use dtype f32",
                 (unsigned long long)row, (unsigned long long)element, (double)e->args->vectors[row * c->dim + element],
                 ty_dtype_limit(c->dtype));
}

/* A row's codes, where its vector is stored in the form of TY_INT8; else NULL. */
static const int8_t *codes_of(const hand *h, uint64_t row, uint64_t i, float *scale) {
  const ty_collection *c = h->to.c;
  const uint8_t *stored = h->coder.stored + i * ty_vector_bytes(c);
  if (h->coded[i]) {
    *scale = h->to.info[row].scale;
    return h->to.codes + row * AME_CODE_STRIDE(c->dim);
  }
  if (c->dtype != TY_INT8) return NULL;
  memcpy(scale, stored, sizeof *scale);
  return (const int8_t *)stored + sizeof *scale;
}

static uint32_t sparse_bytes_of(const hand *h, uint64_t row, uint64_t i) {
  const ty_collection *c = h->to.c;
  float scale;
  const int8_t *codes = codes_of(h, row, i, &scale);
  uint64_t bytes = codes == NULL ? UINT64_MAX : ty_sparse_bytes(codes, c->dim);
  return bytes < ty_form_bytes(TY_INT8, c->dim) ? (uint32_t)bytes : 0;
}

/* Everything of n rows but their operations. */
static ty_status prepare(const encoder *x, hand *h, uint64_t first, uint64_t n, ty_error *err) {
  const ty_encoding *e = x->e;
  const ty_collection *c = e->c;
  uint64_t bad;
  if (ty_cancelled(x->progress)) return ty_fail(err, TY_CANCELLED, "cancelled; no row of the call is in");
  ty_status status = fill(x, &h->met, first, n, h->coder.rows, err);
  if (status != TY_OK) return status;
  if (!ty_coder_store(&h->coder, n, &bad)) return too_large(e, first, bad, err);
  if (e->like != NULL || e->past != NULL) status = take_likes(e, h, first, n, err);
  if (status != TY_OK) return status;
  ty_vector_screen(c, c->dtype, h->coder.stored, h->coder.rows, n, &h->to, first);
  h->terms.bytes = 0;
  for (uint64_t i = 0; i < n && status == TY_OK; i++) {
    h->coded[i] = c->dtype == TY_F32 && ty_coded_is_row(&h->to, first + i, h->coder.rows + i * c->dim);
    h->sparse_bytes[i] = sparse_bytes_of(h, first + i, i);
    if (c->lexical && (e->args->text_ends != NULL || e->args->label_ends != NULL))
      status = terms_of(x, h, first, i, err);
    h->term_ends[i] = h->terms.bytes;
  }
  return status;
}

static void put_vector(const hand *h, uint64_t row, uint64_t i, uint8_t *to) {
  const ty_collection *c = h->to.c;
  float scale;
  const int8_t *codes = codes_of(h, row, i, &scale);
  if (codes == NULL) {
    memcpy(to, h->coder.stored + i * ty_vector_bytes(c), (size_t)ty_vector_bytes(c));
  } else if (h->sparse_bytes[i] > 0) {
    ty_sparse_put(c->env->kernel, scale, codes, c->dim, h->sparse_bytes[i], to);
  } else {
    memcpy(to, &scale, sizeof scale);
    memcpy(to + sizeof scale, codes, c->dim);
  }
}

/* Writes one row's operation, the i-th of its task. */
static ty_status write(ty_encoding *e, const hand *h, uint64_t row, uint64_t i, ty_error *err) {
  ty_collection *c = e->c;
  const ty_put_args *a = e->args;
  uint64_t at_row = e->last[row];
  ty_slice id = ty_nth(a->ids, a->id_ends, at_row), meta = ty_nth(a->metas, a->meta_ends, at_row);
  ty_slice text = text_of(e, row), terms = ty_nth(h->terms.data, h->term_ends, i);
  bool keep = a->text_ends != NULL && !(a->flags & TY_PUT_DROP_TEXT);
  if (terms.bytes > UINT32_MAX) return ty_fail(err, TY_INVALID, "a text has too many terms");
  uint64_t first_key = at_row * c->columns, key_start = first_key == 0 ? 0 : a->key_ends[first_key - 1];
  const bool dated = a->created != NULL && e->victim[row] == 0 && a->created[at_row] < a->updated[at_row];
  ty_operation op = {.kind = TY_OPERATION_PUT,
                     .flags = (meta.bytes > 0 ? TY_HAS_META : 0) | (keep ? TY_HAS_TEXT : 0) |
                              (h->coded[i] ? TY_AS_CODES : 0) | (dated ? TY_HAS_CREATED : 0) |
                              (h->sparse_bytes[i] > 0 ? TY_PUT_SPARSE : 0),
                     .row = c->next_row + row,
                     .replaced = TY_NO_ROW,
                     .updated = a->updated == NULL ? e->now : a->updated[at_row],
                     .id_bytes = (uint32_t)id.bytes,
                     .meta_bytes = (uint32_t)meta.bytes,
                     .text_bytes = keep ? (uint32_t)text.bytes : 0,
                     .terms_bytes = (uint32_t)terms.bytes,
                     .keys_bytes = (uint32_t)(a->key_ends[first_key + c->columns - 1] - key_start),
                     .sparse_bytes = h->sparse_bytes[i]};
  if (e->victim[row] != 0) {
    ty_ref old = ty_ref_of(c, e->victim[row] - 1);
    op.replaced = old.segment->row[old.at];
    uint64_t created = ty_row_times(old.segment, old.at).created;
    if (op.updated < created) op.updated = created; /* the clock was set back */
  }
  if (!ty_operation_size(c, &op)) return ty_fail(err, TY_INVALID, "a row is too large");
  uint8_t *at;
  ty_status status = ty_chunk_take(c, op.bytes, &at, err);
  if (status != TY_OK) return status;
  ty_put_layout l = ty_put_place(c, &op);
  uint64_t end = l.keys + op.keys_bytes;
  memcpy(at, &op, sizeof op);
  put_vector(h, row, i, at + l.vector);
  memcpy(at + l.id, id.data, (size_t)id.bytes);
  if (meta.bytes > 0) memcpy(at + l.meta, meta.data, (size_t)meta.bytes);
  if (op.text_bytes > 0) memcpy(at + l.text, text.data, (size_t)text.bytes);
  if (terms.bytes > 0) memcpy(at + l.terms, terms.data, (size_t)terms.bytes);
  for (uint32_t k = 0; k < c->columns; k++) {
    uint32_t length = (uint32_t)ty_nth(a->keys, a->key_ends, first_key + k).bytes;
    memcpy(at + l.key_lengths + k * sizeof length, &length, sizeof length);
  }
  if (op.keys_bytes > 0) memcpy(at + l.keys, a->keys + key_start, op.keys_bytes);
  if (dated) memcpy(at + l.created, &a->created[at_row], sizeof *a->created), end += sizeof *a->created;
  TY_ASSERT(end <= op.bytes && op.bytes % TY_ALIGN == 0);
  memset(at + end, 0, (size_t)(op.bytes - end));
  e->op[row] = (ty_operation *)(void *)at;
  c->store->ops++;
  ty_encoding_advance(e, op.bytes);
  return TY_OK;
}

void ty_encoding_advance(ty_encoding *e, uint64_t bytes) {
  ty_touched(e->c->resident, TY_OF_OPERATIONS, bytes, TY_RESIDENT_MOST);
  e->resident += AME_CODE_STRIDE(e->c->dim) + AME_I4_BYTES(e->c->dim);
  if (e->resident < TY_RESIDENT_MOST) return;
  e->resident = 0;
  ty_coded_evict(&e->coded);
}

/* The rows of a task that was encoded ahead, as `prepare` leaves them. */
static ty_status take_part(const encoder *x, ty_ahead_part *part, hand *h, ty_error *err) {
  if (ty_cancelled(x->progress)) return ty_fail(err, TY_CANCELLED, "cancelled; no row of the call is in");
  ty_buffer_free(&h->terms);
  h->terms = part->terms;
  part->terms = (ty_buffer){0};
  memcpy(h->term_ends, part->term_ends, sizeof h->term_ends);
  memcpy(h->sparse_bytes, part->sparse_bytes, sizeof h->sparse_bytes);
  for (uint64_t i = 0; i < TY_CODER_ROWS; i++) h->coded[i] = true;
  return TY_OK;
}

/* The reverse: what `prepare` made is kept for a put. */
static ty_status keep_part(ty_ahead_part *part, hand *h, uint64_t n, ty_error *err) {
  for (uint64_t i = 0; i < n; i++) {
    if (!h->coded[i]) return ty_fail(err, TY_STATE, "a vector is not its codes: only a put can store it");
  }
  part->terms = h->terms;
  h->terms = (ty_buffer){0};
  memcpy(part->term_ends, h->term_ends, sizeof h->term_ends);
  memcpy(part->sparse_bytes, h->sparse_bytes, sizeof h->sparse_bytes);
  return TY_OK;
}

/* Cancelling is looked at here and not by the crew: a task that it left out would be waited for. */
static ty_status task(void *context, uint64_t number, uint32_t worker, ty_error *err) {
  encoder *x = context;
  hand *h = &x->hands[worker];
  uint64_t first = number * x->step, left = x->e->rows - first, n = left < x->step ? left : x->step;
  ty_ahead *ahead = x->e->ahead;
  ty_ahead_part *part = ahead == NULL ? NULL : &ahead->parts[number];
  ty_status status = part != NULL && ahead->done ? take_part(x, part, h, err) : prepare(x, h, first, n, err);
  if (part != NULL && !ahead->done) return status == TY_OK ? keep_part(part, h, n, err) : status;
  pthread_mutex_lock(&x->lock);
  while (x->turn != number && x->status == TY_OK) pthread_cond_wait(&x->moved, &x->lock);
  if (x->status != TY_OK) {
    status = x->status;
    *err = x->error;
  } else {
    for (uint64_t i = 0; i < n && status == TY_OK; i++) status = write(x->e, h, first + i, i, err);
    x->status = status;
    if (status == TY_OK) ty_progress_set(x->progress, first + n, x->e->rows);
    else x->error = *err;
    x->turn++;
    pthread_cond_broadcast(&x->moved);
  }
  pthread_mutex_unlock(&x->lock);
  return status;
}

static ty_status open_hand(hand *h, const ty_encoding *e, ty_error *err) {
  h->to = e->coded;
  h->to.scratch = malloc((size_t)e->c->dim * sizeof *h->to.scratch);
  if (h->to.scratch == NULL) return ty_fail(err, TY_NO_MEMORY, "out of memory for vectors");
  return ty_coder_open(&h->coder, e->c, e->rows, err);
}

static void free_hand(hand *h) {
  free(h->to.scratch);
  ty_coder_free(&h->coder);
  ty_buffer_free(&h->terms);
  ty_buffer_free(&h->met.terms);
  ty_tally_free(&h->tally);
}

/* How many threads the work is worth. A call with one short text starts none. */
static uint32_t threads_for(const ty_encoding *e) {
  const ty_put_args *a = e->args;
  uint64_t work = e->rows * e->c->dim / 4;
  if (a->text_ends != NULL && (a->vectors == NULL || e->c->lexical)) work += a->text_ends[a->n - 1];
  return work / THREAD_WORK < 2 ? 1 : work / THREAD_WORK > TY_CREW_MAX ? 0 : (uint32_t)(work / THREAD_WORK);
}

ty_status ty_encode(ty_encoding *e, ty_progress *progress, ty_error *err) {
  ty_ahead *ahead = e->ahead;
  const bool ready = ahead != NULL && ahead->done; /* only the operations are left to write, by one thread at a time */
  ty_status status = TY_OK;
  if (ready) ty_ahead_codes(ahead, e);
  else status = ty_coded_open(&e->coded, e->c, e->rows, err);
  if (status != TY_OK) return status;
  encoder *x = calloc(1, sizeof *x);
  if (x == NULL) return ty_fail(err, TY_NO_MEMORY, "out of memory for %llu rows", (unsigned long long)e->rows);
  ty_crew crew;
  ty_crew_init(&crew, ready ? 1 : threads_for(e), NULL);
  x->e = e;
  x->progress = progress;
  pthread_mutex_init(&x->lock, NULL);
  pthread_cond_init(&x->moved, NULL);
  status = keep_terms(x, err);
  for (uint32_t i = 0; i < crew.threads && status == TY_OK; i++) status = open_hand(&x->hands[i], e, err);
  if (status == TY_OK) {
    uint64_t room = x->hands[0].coder.room, each = e->rows / (crew.threads * TASKS_EACH) + 1;
    x->step = ready ? ahead->step : each < room && crew.threads > 1 ? each : room;
    ty_progress_set(progress, 0, e->rows);
    if (ahead != NULL && !ready) status = ty_ahead_parts(ahead, x->step, err);
  }
  if (status == TY_OK) status = ty_crew_run(&crew, (e->rows + x->step - 1) / x->step, task, x, err);
  for (uint32_t i = 0; i < TY_CREW_MAX; i++) free_hand(&x->hands[i]);
  ty_stored_terms_free(&x->kept, e->c->env);
  pthread_mutex_destroy(&x->lock);
  pthread_cond_destroy(&x->moved);
  free(x);
  return status;
}

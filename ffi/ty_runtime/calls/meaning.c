#include "calls/meaning.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "calls/arguments.h"
#include "os/arena.h"
#include "rows/checks.h"
#include "state/ids.h"
#include "state/meanings.h"
#include "work/crew.h"
#include "work/pool.h"

static ty_status no_memory(ty_error *err) { return ty_fail(err, TY_NO_MEMORY, "out of memory for vectors of meaning"); }

/* What an encoding polls. Little-endian: the lower half of `cancel` comes first. */
static const uint32_t *stop_of(const ty_progress *progress) {
  return progress == NULL ? NULL : (const uint32_t *)(const void *)&progress->cancel;
}

/* ---- Rows that are put ---- */

typedef struct put_work {
  const ty_encoding *e;
  const uint8_t *model;
  const uint32_t *stop;
  uint8_t *scratch; /* for each worker */
  size_t scratch_bytes;
  uint64_t rows[TY_MEANING_ROWS_MAX];
  ame_encoding out[TY_MEANING_ROWS_MAX];
} put_work;

static ty_slice text_of(const ty_encoding *e, uint64_t row) {
  return ty_nth(e->args->texts, e->args->text_ends, e->last[row]);
}

static ty_status encode_row(void *context, uint64_t task, uint32_t worker, ty_error *err) {
  put_work *w = context;
  ty_slice text = text_of(w->e, w->rows[task]);
  if (w->e->c->env->kernel->encode(w->model, AME_ENCODE_ROW, text.data, (size_t)text.bytes,
                                   w->scratch + worker * w->scratch_bytes, w->stop, &w->out[task]) == 0)
    return TY_OK;
  return ty_fail(err, TY_CANCELLED, "cancelled; no row of the call is in");
}

/* Encodes the n rows of `w` and stages them. */
static ty_status encode_rows(put_work *w, uint64_t n, ty_progress *progress, ty_error *err) {
  ty_collection *c = w->e->c;
  ty_arena memory = {0};
  ty_crew crew;
  ty_crew_init(&crew, n == 1 ? 1 : 0, progress);
  if (crew.threads > n) crew.threads = (uint32_t)n;
  w->scratch_bytes = c->env->kernel->encoder_scratch();
  w->scratch = ty_arena_align(&memory, crew.threads, w->scratch_bytes);
  ty_status status = memory.failed ? no_memory(err) : ty_crew_run(&crew, n, encode_row, w, err);
  for (uint64_t i = 0; i < n && status == TY_OK; i++)
    status = ty_meaning_stage(c, &w->out[i], w->e->op[w->rows[i]]->row, err);
  ty_arena_free(&memory);
  return status;
}

ty_status ty_meaning_stage_put(const ty_encoding *e, ty_progress *progress, ty_error *err) {
  ty_collection *c = e->c;
  const uint8_t *model = atomic_load(&c->env->model);
  const bool keeps = e->args->text_ends != NULL && (e->args->flags & TY_PUT_DROP_TEXT) == 0;
  const bool encodes = (e->args->flags & TY_PUT_MEANING) != 0 && model != NULL && e->rows <= TY_MEANING_ROWS_MAX;
  put_work w = {.e = e, .model = model, .stop = stop_of(progress)};
  uint64_t n = 0;
  ty_status status = TY_OK;
  if (!keeps || (!encodes && e->like == NULL)) return TY_OK;
  const ty_meaning_view view = e->like == NULL ? (ty_meaning_view){0} : ty_meaning_view_of(c);
  for (uint64_t row = 0; row < e->rows && status == TY_OK; row++) {
    const ame_encoding *same = e->like == NULL || e->like[row] == 0 ? NULL : ty_meaning_of(&view, e->like[row] - 1);
    if (same != NULL) status = ty_meaning_stage(c, same, e->op[row]->row, err);
    else if (encodes && text_of(e, row).bytes <= TY_MEANING_TEXT_MAX) w.rows[n++] = row;
  }
  return status == TY_OK && n > 0 ? encode_rows(&w, n, progress, err) : status;
}

/* ---- Rows that have none ---- */

/* Bytes of texts that are copied for one call: it ends early where they are more. */
#define TEXT_BYTES_MOST ((uint64_t)1 << 20)

typedef struct filling {
  ty_collection *c;
  ty_meaning_encode_args *args;
  ty_progress *progress;
  const uint8_t *model;
  const uint32_t *stop;
  void *scratch;
  uint64_t *rows;  /* numbers of those to encode */
  ty_slice *texts; /* of each: its beginning, in `memory` */
  uint64_t count;
  ty_arena memory;
  ty_text_reader reader;
  bool stopped;
} filling;

/* Whether a place is of a saved live row with a text and without a vector. */
static bool lacks_vector(const ty_collection *c, const ty_meaning_view *view, ty_place place) {
  if (place >= c->base.count + c->state->kept_rows || ty_meaning_of(view, place) != NULL) return false;
  ty_ref row = ty_ref_of(c, place);
  return !row.segment->dead[row.at] && ty_row_has_text(row.segment, row.at);
}

/* Lists the rows, between ty_enter and ty_leave. */
static ty_status list(filling *f, ty_error *err) {
  const ty_collection *c = f->c;
  ty_status status = ty_order_need(c, err);
  if (status != TY_OK) return status;
  const ty_meaning_view view = ty_meaning_view_of(c);
  const ty_place *order = ty_order(c);
  const uint64_t live = c->base.live + c->delta.live, most = f->args->most < live ? f->args->most : live;
  f->args->base = ty_meaning_base_generation(c);
  if (f->args->base == 0 || most == 0) return TY_OK;
  if ((f->rows = malloc((size_t)most * sizeof *f->rows)) == NULL) return no_memory(err);
  for (uint64_t slot = c->state->order_size; slot > 0; slot--) {
    ty_place place = order[slot - 1];
    if (place == 0 || !lacks_vector(c, &view, place - 1)) continue;
    f->args->left++;
    ty_ref row = ty_ref_of(c, place - 1);
    if (f->count < most && ty_text_intact(row.segment, row.at)) f->rows[f->count++] = row.segment->row[row.at];
  }
  return TY_OK;
}

/* Copies the beginning of a row's text, between ty_enter and ty_leave. A row that needs no vector any more is left out.
 */
static ty_status copy_text(filling *f, uint64_t at, uint64_t *copied, ty_error *err) {
  ty_collection *c = f->c;
  const ty_meaning_view view = ty_meaning_view_of(c);
  ty_place place;
  bool present;
  if (!ty_place_of_row(c, f->rows[at], &place) || !lacks_vector(c, &view, place)) {
    f->args->left--;
    return TY_OK;
  }
  ty_ref row = ty_ref_of(c, place);
  ty_slice text = ty_row_text(row.segment, row.at, &f->reader, &present);
  if (f->reader.text.failed) return no_memory(err);
  text.bytes = ty_cut(text, TY_MEANING_READ);
  uint8_t *copy = ty_arena_take(&f->memory, text.bytes + 1, 1);
  if (copy == NULL) return no_memory(err);
  if (text.bytes > 0) memcpy(copy, text.data, (size_t)text.bytes);
  f->rows[*copied] = f->rows[at];
  f->texts[(*copied)++] = (ty_slice){copy, text.bytes};
  return TY_OK;
}

/* Copies the texts, one at a time under the lock, so that no change waits for all of them. */
static ty_status copy_texts(filling *f, ty_error *err) {
  uint64_t copied = 0, bytes = 0;
  ty_status status = TY_OK;
  for (uint64_t i = 0; i < f->count && bytes < TEXT_BYTES_MOST && status == TY_OK; i++) {
    const uint64_t before = copied;
    if ((status = ty_enter(f->c, err)) != TY_OK) break;
    const bool changed = ty_meaning_base_generation(f->c) != f->args->base;
    if (!changed) status = copy_text(f, i, &copied, err);
    status = ty_leave(f->c, status, err);
    if (changed) break;
    if (copied > before) bytes += f->texts[before].bytes;
  }
  f->count = copied;
  return status;
}

static void encode_texts(filling *f) {
  for (uint64_t i = 0; i < f->count; i++) {
    ty_meaning_record *r = &f->args->out[f->args->out_count];
    f->stopped = ty_cancelled(f->progress) ||
                 f->c->env->kernel->encode(f->model, AME_ENCODE_ROW, f->texts[i].data, (size_t)f->texts[i].bytes,
                                           f->scratch, f->stop, &r->encoding) != 0;
    if (f->stopped) return;
    r->row = f->rows[i];
    f->args->out_count++, f->args->left--;
    ty_progress_set(f->progress, i + 1, f->count);
  }
}

static void *encode_in_background(void *arg) {
  ty_lower_priority(true);
  encode_texts(arg);
  return NULL;
}

/* A background call encodes on a new thread at a low priority, because a lowered priority cannot be raised again. The
 * thread holds no lock, because it may have to wait for long. */
static void encode_all(filling *f) {
  pthread_t thread;
  if (!f->args->background || f->count == 0 || ty_start_thread(&thread, encode_in_background, f) != 0) encode_texts(f);
  else pthread_join(thread, NULL);
}

ty_status ty_meaning_encode(ty_collection *c, ty_meaning_encode_args *args, ty_progress *progress, ty_error *err) {
  args->out_count = args->base = args->left = 0;
  filling f = {.c = c,
               .args = args,
               .progress = progress,
               .model = atomic_load(&c->env->model),
               .reader = {.most = TY_MEANING_READ + 1}};
  if (f.model == NULL) return ty_fail(err, TY_STATE, "this environment has no model of the sentence encoder");
  f.stop = args->stop != NULL ? args->stop : stop_of(progress);
  f.scratch = ty_arena_align(&f.memory, 1, c->env->kernel->encoder_scratch());
  ty_status status = f.memory.failed ? no_memory(err) : ty_enter(c, err);
  if (status == TY_OK) status = ty_leave(c, list(&f, err), err);
  if (status == TY_OK && f.count > 0) {
    f.texts = ty_arena_take(&f.memory, f.count, sizeof *f.texts);
    status = f.texts == NULL ? no_memory(err) : copy_texts(&f, err);
  }
  if (status == TY_OK) encode_all(&f);
  if (status == TY_OK && f.stopped) status = ty_fail(err, TY_CANCELLED, "cancelled");
  ty_arena_free(&f.memory);
  ty_buffer_free(&f.reader.text);
  free(f.rows);
  return status;
}

ty_status ty_meaning_put(ty_collection *c, ty_meaning_put_args *args, ty_error *err) {
  args->put = args->base_changed = 0;
  ty_status status = ty_change_enter(c, err);
  if (status != TY_OK) return status;
  const uint64_t mark = c->store->staged.bytes;
  if (atomic_load(&c->env->model) == NULL)
    status = ty_fail(err, TY_STATE, "this environment has no model of the sentence encoder");
  for (uint64_t i = 0; i < args->n && status == TY_OK; i++) {
    if (!ty_meaning_is_valid(&args->records[i]))
      status = ty_fail(err, TY_INVALID, "record %llu is not a vector of meaning", (unsigned long long)i);
  }
  args->base_changed = status == TY_OK && args->base != ty_meaning_base_generation(c);
  if (status == TY_OK && !args->base_changed) {
    const ty_meaning_view view = ty_meaning_view_of(c);
    for (uint64_t i = 0; i < args->n && status == TY_OK; i++) {
      const ty_meaning_record *r = &args->records[i];
      ty_place place;
      if (!ty_place_of_row(c, r->row, &place) || !lacks_vector(c, &view, place)) continue;
      status = ty_meaning_stage(c, &r->encoding, r->row, err);
      args->put++;
    }
  }
  if (status != TY_OK) c->store->staged.bytes = mark, args->put = 0;
  else if (args->put > 0) c->state->changed = true;
  return ty_change_leave(c, status, err);
}

ty_status ty_meaning_drop(ty_collection *c, ty_error *err) {
  ty_status status = ty_change_enter(c, err);
  if (status != TY_OK) return status;
  ty_buffer_free(&c->store->staged);
  c->store->drop_meaning = true;
  if (c->store->files.meaning.name[0] != 0) c->state->changed = true;
  return ty_change_leave(c, status, err);
}

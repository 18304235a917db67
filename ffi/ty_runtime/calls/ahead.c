/* Texts that are encoded before their put: while the save of the change before waits for the disk. Only the schema of
 * the collection is read, from a copy, so the call needs neither the collection's lock nor a change. */
#include <stdlib.h>

#include "calls/arguments.h"
#include "calls/encode.h"
#include "rows/vertical.h"

void ty_ahead_close(ty_ahead *a) {
  if (a == NULL) return;
  for (uint64_t i = 0; a->parts != NULL && i * a->step < a->rows; i++) ty_buffer_free(&a->parts[i].terms);
  free(a->parts);
  ty_coded_free(&a->coded);
  free(a);
}

void ty_ahead_codes(ty_ahead *a, ty_encoding *e) {
  e->coded = a->coded;
  e->coded.c = e->c;
  a->coded = (ty_coded){0};
}

ty_status ty_ahead_parts(ty_ahead *a, uint64_t step, ty_error *err) {
  a->step = step;
  a->parts = calloc((size_t)((a->rows + step - 1) / step), sizeof *a->parts);
  return a->parts == NULL ? ty_fail(err, TY_NO_MEMORY, "out of memory for texts") : TY_OK;
}

/* The codes are those of a collection whose unsaved rows are stored by dimension. */
static bool takes(const ty_collection *c) { return c->dtype == TY_F32 && c->hashed && ty_delta_vertical(c); }

bool ty_ahead_fits(const ty_ahead *a, const ty_encoding *e) {
  return a->of == e->c && a->rows == e->rows && a->rows == e->args->n && e->like == NULL && e->past == NULL &&
         e->args->vectors == NULL && takes(e->c);
}

ty_status ty_encode_ahead(ty_collection *c, ty_put_args *args, ty_progress *progress, ty_error *err) {
  args->ahead = NULL;
  if (args->n == 0 || args->n > TY_AHEAD_ROWS_MAX || args->vectors != NULL || args->likes != NULL ||
      args->flags & TY_PUT_CHANGES)
    return ty_fail(err, TY_STATE, "these rows are encoded by their put only");
  ty_ahead *a = calloc(1, sizeof *a);
  uint64_t *last = malloc((size_t)args->n * sizeof *last);
  ty_status status = a == NULL || last == NULL ? ty_fail(err, TY_NO_MEMORY, "out of memory for texts") : TY_OK;
  if (status == TY_OK) {
    *a = (ty_ahead){.of = c, .rows = args->n};
    pthread_rwlock_rdlock(&c->lock);
    a->schema = (ty_collection){.env = c->env,
                                .dir = c->dir,
                                .dim = c->dim,
                                .dtype = c->dtype,
                                .metric = c->metric,
                                .columns = c->columns,
                                .lexical = c->lexical,
                                .words = c->words,
                                .hashed = c->hashed};
    if (!takes(c) || !takes(&a->schema))
      status = ty_fail(err, TY_STATE, "rows of this collection are encoded by their put only");
    pthread_rwlock_unlock(&c->lock);
  }
  if (status == TY_OK) status = ty_check_put(&a->schema, args, err);
  if (status == TY_OK) {
    for (uint64_t i = 0; i < args->n; i++) last[i] = i;
    ty_encoding e = {.c = &a->schema, .args = args, .rows = args->n, .last = last, .ahead = a};
    status = ty_encode(&e, progress, err);
    a->coded = e.coded;
    a->done = true;
  }
  free(last);
  if (status == TY_OK) args->ahead = a;
  else ty_ahead_close(a);
  return status;
}

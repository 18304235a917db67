#include "calls/many.h"

#include <inttypes.h>
#include <stdlib.h>

#include "state/state.h"
#include "work/work.h"

/* A collection with its index in the call. */
typedef struct place {
  uintptr_t address;
  uint64_t index;
} place;

static int by_address(const void *a, const void *b) {
  const place *x = a, *y = b;
  return (x->address > y->address) - (x->address < y->address);
}

static ty_status sort(const ty_many_args *many, uint64_t *order, ty_error *err) {
  const uint64_t n = many->n;
  place *places = n < SIZE_MAX / sizeof *places ? malloc((size_t)n * sizeof *places) : NULL;
  if (places == NULL) return ty_fail(err, TY_NO_MEMORY, "not enough memory for %" PRIu64 " collections", n);
  for (uint64_t i = 0; i < n; i++) places[i] = (place){(uintptr_t)many->collections[i], i};
  qsort(places, (size_t)n, sizeof *places, by_address);
  ty_status status = TY_OK;
  for (uint64_t i = 0; i < n && status == TY_OK; i++) {
    order[i] = places[i].index;
    if (i > 0 && places[i].address == places[i - 1].address)
      status = ty_fail(err, TY_INVALID, "collection %" PRIu64 " is there twice", places[i].index);
  }
  free(places);
  return status;
}

ty_status ty_enter_many(ty_many_args *many, const ty_progress *progress, ty_entered *out, ty_error *err) {
  *out = (ty_entered){.many = many};
  many->failed = many->n;
  if (many->n == 0 || many->collections == NULL) return ty_fail(err, TY_INVALID, "the collections are missing");
  if (many->n < SIZE_MAX / sizeof *out->order) out->order = malloc((size_t)many->n * sizeof *out->order);
  ty_status status = out->order != NULL ? sort(many, out->order, err)
                                        : ty_fail(err, TY_NO_MEMORY, "not enough memory for the collections");
  while (status == TY_OK && out->count < many->n) {
    const uint64_t i = out->order[out->count];
    if (ty_cancelled(progress)) {
      status = ty_fail(err, TY_CANCELLED, "the search was cancelled");
    } else {
      status = ty_enter(many->collections[i], err);
      if (status == TY_OK) out->count++;
      else many->failed = i;
    }
  }
  return status == TY_OK ? TY_OK : ty_leave_many(out, status, err);
}

ty_status ty_leave_many(ty_entered *e, ty_status status, ty_error *err) {
  while (e->count > 0) {
    const uint64_t i = e->order[--e->count];
    ty_error own;
    ty_status whole = ty_leave(e->many->collections[i], TY_OK, &own);
    if (whole == TY_OK) continue;
    status = whole;
    *err = own;
    e->many->failed = i;
  }
  free(e->order);
  e->order = NULL;
  return status;
}

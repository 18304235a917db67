/* How many rows match, and which, as one number. */
#include <string.h>

#include "calls/calls.h"
#include "os/numbers.h"
#include "state/state.h"

/* Callers keep it, so the kernel's hash64, which may change, does not do. Each step is a bijection of the eight bytes,
 * so ids of one length that differ in one of them never collide there. */
static uint64_t digest_of(ty_slice id) {
  uint64_t h = id.bytes * 0x9e3779b97f4a7c15u, part;
  for (uint64_t at = 0; at < id.bytes; at += sizeof part) {
    uint64_t left = id.bytes - at;
    part = 0;
    memcpy(&part, id.data + at, left < sizeof part ? (size_t)left : sizeof part);
    h = (h ^ part) * 0x9e3779b97f4a7c15u;
    h ^= h >> 32;
  }
  return ty_mix(h);
}

static uint64_t digest_row(const ty_filter *f, const ty_segment *s, uint64_t at, ty_unpack *u) {
  return ty_filter_allows(f, s, at) ? digest_of(ty_row_id(s, at, u)) : 0;
}

/* A sum, so that the order in which rows lie, which a rewrite changes, does not matter. */
static ty_status digest(const ty_collection *c, ty_filter *f, uint64_t *out, ty_error *err) {
  const uint32_t *rows;
  uint64_t n;
  ty_unpack u;
  ty_unpack_init(&u);
  ty_status status = ty_filter_gather(c, f, err);
  if (status != TY_OK || f->none) return status;
  if (ty_filter_rows(f, &c->base, f->first, f->count, &rows, &n)) {
    for (uint64_t i = 0; i < n; i++) *out += digest_row(f, &c->base, rows[i], &u);
  } else {
    for (uint64_t at = f->first; at < f->first + f->count; at++) *out += digest_row(f, &c->base, at, &u);
  }
  if (u.damaged) return ty_fail(err, TY_CORRUPT, "the id of a row is damaged");
  for (uint64_t at = 0; at < c->delta.count; at++) {
    *out += digest_row(f, &c->delta, at, &u);
    /* An id lies beside its row's vector and terms, so that each is in a page of its own. */
    ty_touched(c->resident, TY_OF_DELTA, TY_SCATTERED, TY_RESIDENT_MOST);
  }
  return TY_OK;
}

ty_status ty_count(ty_collection *c, ty_count_args *args, ty_error *err) {
  args->count = args->digest = 0;
  ty_status status = ty_enter(c, err);
  if (status != TY_OK) return status;
  ty_filter filter;
  status = ty_filter_open(c, args->column, (ty_slice){args->key, args->key_bytes}, &filter, err);
  if (status == TY_OK && !filter.none)
    args->count = filter.all ? c->base.live + c->delta.live : c->dicts[filter.column].live[filter.code];
  if (status == TY_OK && args->digests != 0) status = digest(c, &filter, &args->digest, err);
  ty_filter_close(&filter);
  return ty_leave(c, status, err);
}

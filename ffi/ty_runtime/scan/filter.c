#include "scan/filter.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "os/fail.h"

static ty_status check_column(const ty_collection *c, uint64_t column, ty_slice value, ty_error *err) {
  if (column >= c->columns) {
    return ty_fail(err, TY_INVALID, "there is no filter column %" PRIu64 ": the collection has %" PRIu32, column,
                   c->columns);
  }
  if (value.bytes != 0 && value.data == NULL) return ty_fail(err, TY_INVALID, "the filter value is a null pointer");
  return TY_OK;
}

ty_status ty_filter_open(const ty_collection *c, uint64_t column, ty_slice key, ty_filter *out, ty_error *err) {
  memset(out, 0, sizeof *out);
  out->count = c->base.count;
  if (column == TY_NO_FILTER) {
    out->all = true;
    return TY_OK;
  }
  ty_status status = check_column(c, column, key, err);
  if (status != TY_OK) return status;
  out->column = (uint32_t)column;
  out->code = key.bytes == 0 ? TY_NO_CODE : ty_dict_find(&c->dicts[column], c->env->kernel, key);
  if (out->code == TY_NO_CODE || out->code == 0) {
    out->none = true;
    out->count = 0;
    return TY_OK;
  }
  if (column == 0) {
    out->count = 0;
    for (uint32_t i = 0; i < c->span_count; i++) {
      if (c->spans[i].key != out->code) continue;
      out->first = c->spans[i].first;
      out->count = c->spans[i].count;
      break;
    }
  }
  return TY_OK;
}

static bool is_under(ty_slice value, ty_slice under) {
  if (value.bytes < under.bytes || memcmp(value.data, under.data, (size_t)under.bytes) != 0) return false;
  return value.bytes == under.bytes || value.data[under.bytes] == '/';
}

ty_status ty_filter_under(const ty_collection *c, uint64_t column, ty_slice under, ty_filter *f, ty_error *err) {
  if (under.bytes == 0) return TY_OK;
  ty_status status = check_column(c, column, under, err);
  if (status != TY_OK || f->none) return status;
  const ty_dict *d = &c->dicts[column];
  f->under = calloc((size_t)d->count + 1, sizeof *f->under);
  if (f->under == NULL) return ty_fail(err, TY_NO_MEMORY, "not enough memory for a filter");
  f->under_column = (uint32_t)column;
  for (uint32_t code = 1; code < d->count; code++) {
    if (d->live[code] == 0 || !is_under(ty_dict_value(d, code), under)) continue;
    f->under[code] = 1;
    f->under_rows += d->live[code];
  }
  if (f->under_rows > 0) return TY_OK;
  f->none = true;
  f->count = 0;
  return TY_OK;
}

void ty_filter_close(ty_filter *f) {
  free(f->under);
  f->under = NULL;
}

void ty_filter_span(ty_filter *out, uint64_t first, uint64_t count) {
  memset(out, 0, sizeof *out);
  out->all = true;
  out->first = first;
  out->count = count;
}

/* The codes to compare; NULL where none are: in a partition's span of the base every row has the key. */
static const uint32_t *compared(const ty_filter *f, const ty_segment *s) {
  if (f->all || (s->is_base && f->column == 0)) return NULL;
  return s->keys[f->column];
}

static bool allows_under(const ty_filter *f, const ty_segment *s, uint64_t at) {
  return f->under == NULL || f->under[s->keys[f->under_column][at]] != 0;
}

bool ty_filter_live_only(const ty_filter *f, const ty_segment *s) {
  return !f->none && compared(f, s) == NULL && f->under == NULL;
}

bool ty_filter_allows(const ty_filter *f, const ty_segment *s, uint64_t at) {
  TY_ASSERT(at < s->count);
  if (f->none || s->dead[at]) return false;
  if (s->is_base && (at < f->first || at - f->first >= f->count)) return false;
  const uint32_t *codes = compared(f, s);
  return (codes == NULL || codes[at] == f->code) && allows_under(f, s, at);
}

/* Of n selected rows, those that match `under`. */
static uint32_t keep_under(const ty_filter *f, const ty_segment *s, uint64_t first, uint32_t n, uint16_t *offsets) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < n && f->under != NULL; i++) {
    offsets[kept] = offsets[i];
    kept += allows_under(f, s, first + offsets[i]);
  }
  return f->under == NULL ? n : kept;
}

uint32_t ty_filter_select(const ty_filter *f, const ty_segment *s, uint64_t first, uint32_t n, uint16_t *offsets) {
  if (f->none) return 0;
  TY_ASSERT(first + n <= s->count);
  const uint8_t *dead = s->dead + first;
  const uint32_t *codes = compared(f, s);
  uint32_t found = 0;
  /* Without a branch: with a filter that half of the rows match, every second one would be mispredicted. */
  if (codes == NULL) {
    for (uint32_t i = 0; i < n; i++) {
      offsets[found] = (uint16_t)i;
      found += dead[i] == 0;
    }
    return keep_under(f, s, first, found, offsets);
  }
  codes += first;
  for (uint32_t i = 0; i < n; i++) {
    offsets[found] = (uint16_t)i;
    found += (uint32_t)(codes[i] == f->code) & (uint32_t)(dead[i] == 0);
  }
  return keep_under(f, s, first, found, offsets);
}

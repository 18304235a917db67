#include "scan/filter.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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
  const ty_by_value *lists = c->base.by_value;
  if (column > 0 && lists != NULL && lists[column].missing) out->trouble = TY_TROUBLE_FILTER;
  else if (column > 0 && lists != NULL && lists[column].left_out != out->code) out->how = TY_FILTER_VALUE;
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

/* Finding a run of codes takes as long as comparing those of some 600 rows, reading a listed row as long as two. */
#define ROWS_A_RUN 1024u

/* Whether the rows by value are the fewest to read. Of a code that is left out they lack the rows. */
static bool lists_under(const ty_collection *c, ty_filter *f) {
  if (c->base.by_value == NULL || f->under_column == 0) return false;
  if (c->base.by_value[f->under_column].missing) {
    f->trouble = TY_TROUBLE_FILTER;
    return false;
  }
  uint32_t left_out = c->base.by_value[f->under_column].left_out;
  if (left_out != TY_NO_CODE && f->under[left_out]) return false;
  if (f->under_rows > f->count / 2 || f->under_runs > f->count / ROWS_A_RUN) return false;
  return f->how != TY_FILTER_VALUE || f->under_rows < c->dicts[f->column].live[f->code];
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
    f->under_runs += f->under[code - 1] == 0;
  }
  if (lists_under(c, f)) f->how = TY_FILTER_UNDER;
  if (f->under_rows > 0) return TY_OK;
  f->none = true;
  f->count = 0;
  return TY_OK;
}

void ty_filter_close(ty_filter *f) {
  free(f->under);
  free(f->rows);
  f->under = NULL;
  f->rows = NULL;
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

bool ty_filter_rows(const ty_filter *f, const ty_segment *s, uint64_t first, uint64_t count, const uint32_t **rows,
                    uint64_t *n) {
  if (f->rows == NULL || !s->is_base) return false;
  uint64_t bounds[2] = {first, first + count}, at[2];
  for (int i = 0; i < 2; i++) {
    uint64_t low = i == 0 ? 0 : at[0], high = f->row_count;
    while (low < high) {
      uint64_t middle = low + (high - low) / 2;
      if (f->rows[middle] < bounds[i]) low = middle + 1;
      else high = middle;
    }
    at[i] = low;
  }
  *rows = f->rows + at[0];
  *n = at[1] - at[0];
  return true;
}

uint64_t ty_filter_next(const ty_filter *f, const ty_segment *s, uint64_t at, uint64_t end) {
  const uint32_t *rows;
  uint64_t n;
  if (!ty_filter_rows(f, s, at, end - at, &rows, &n)) return at;
  return n == 0 ? end : rows[0];
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
  const uint32_t *rows;
  uint64_t count;
  if (f->none) return 0;
  TY_ASSERT(first + n <= s->count);
  if (ty_filter_rows(f, s, first, n, &rows, &count)) {
    for (uint64_t i = 0; i < count; i++) offsets[i] = (uint16_t)(rows[i] - first);
    return (uint32_t)count;
  }
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

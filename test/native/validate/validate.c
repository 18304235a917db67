/* Segments, row numbers, dictionaries and partitions. */
#include "validate.h"

#include <inttypes.h>
#include <stdlib.h>

#include "ivf/ivf.h"
#include "rows/vertical.h"

/* ---- Rows ---- */
static const char *name_of(const ty_segment *s) { return s->is_base ? "base" : "delta"; }

static ty_status check_segment(const ty_collection *c, const ty_segment *s, ty_error *err) {
  const char *name = name_of(s);
  uint64_t live = 0;
  TY_HOLD(s->live <= s->count, "the %s has %" PRIu64 " live of %" PRIu64 " rows", name, s->live, s->count);
  if (s->count == 0) return TY_OK;
  TY_HOLD(s->keys != NULL && s->dead != NULL && s->row != NULL && s->birth != NULL, "the %s lacks a column", name);
  const ty_vertical *v = &s->vertical;
  bool vertical = v->lines != NULL, coded = !vertical && c->dtype != TY_INT4;
  TY_HOLD((s->codes != NULL) == coded && (s->info != NULL) == coded && (s->blocks != NULL) == !vertical,
          "the %s has codes that its form does not have, or none", name);
  TY_HOLD(!vertical || (c->metric != TY_L2 && c->dtype != TY_F16 && s->vectors == NULL && v->scales != NULL &&
                        v->norms != NULL && (v->offsets != NULL) == (c->dtype == TY_INT4) &&
                        (v->errs != NULL) == (!s->is_base && c->dtype == TY_F32) &&
                        v->run == (!s->is_base         ? ty_line_rows(c)
                                   : v->sparse == NULL ? TY_RUN_ROWS
                                                       : TY_SPARSE_ROWS) &&
                        v->sparse_rows <= s->count && (v->sparse_rows % TY_SPARSE_ROWS == 0 || s->is_base)),
          "the %s lacks a column of vertical codes, or has one that its dtype does not have", name);
  TY_HOLD(s->is_base || vertical == ty_delta_vertical(c), "the delta's rows do not lie as its base says");
  ty_unpack u, ids;
  ty_unpack_init(&u);
  ty_unpack_init(&ids);
  for (uint64_t at = 0; at < s->count; at++) {
    bool has_meta, has_text = ty_row_has_text(s, at);
    uint64_t metas = ty_row_meta(s, at, &u, &has_meta).bytes, texts = ty_row_stored_text(s, at).bytes;
    TY_HOLD(s->dead[at] <= 1, "row %" PRIu64 " of the %s is marked %u", at, name, s->dead[at]);
    ty_times t = ty_row_times(s, at);
    TY_HOLD(t.created <= t.updated && t.updated <= TY_TIME_MAX, "row %" PRIu64 " of the %s was updated before it came",
            at, name);
    TY_HOLD(ty_row_id(s, at, &ids).bytes > 0, "row %" PRIu64 " of the %s has no id", at, name);
    TY_HOLD((has_meta || metas == 0) && (has_text || texts == 0),
            "row %" PRIu64 " of the %s has bytes of a part that it is marked not to have", at, name);
    live += !s->dead[at];
  }
  TY_HOLD(live == s->live, "the %s counts %" PRIu64 " live rows and has %" PRIu64, name, s->live, live);
  return TY_OK;
}

/* A base's rows have the first numbers, a delta's the next ones in order; births are at most the row's own number. */
static ty_status check_numbers(const ty_collection *c, uint8_t *seen, uint8_t *born, ty_error *err) {
  uint64_t first = c->store->first_row, n = c->base.count;
  for (uint64_t at = 0; at < n; at++) {
    uint64_t row = c->base.row[at] - first;
    TY_HOLD(row < n && !seen[row], "row number %" PRIu64 " of the base is out of range or there twice", row + first);
    TY_HOLD(c->base.birth[at] == c->base.row[at], "row %" PRIu64 " of the base is older than its number", row + first);
    seen[row] = 1;
    born[row] = !c->base.dead[at];
  }
  for (uint64_t at = 0; at < c->delta.count; at++) {
    uint64_t birth = c->delta.birth[at] - first;
    TY_HOLD(c->delta.row[at] == first + n + at, "row %" PRIu64 " of the delta has number %" PRIu64, at,
            c->delta.row[at]);
    TY_HOLD(birth <= n + at, "row %" PRIu64 " of the delta was born after it came", at);
    if (c->delta.dead[at]) continue;
    TY_HOLD(!born[birth], "two live rows share birth %" PRIu64, birth + first);
    born[birth] = 1;
  }
  return TY_OK;
}

static ty_status check_rows(const ty_collection *c, ty_error *err) {
  uint64_t total = ty_total_rows(c);
  TY_HOLD(c->base.is_base && !c->delta.is_base, "a segment is taken for the other one");
  ty_status status = check_segment(c, &c->base, err);
  if (status == TY_OK) status = check_segment(c, &c->delta, err);
  if (status != TY_OK) return status;
  TY_HOLD(c->delta.count <= c->state->delta.capacity, "the delta has more rows than its columns hold");
  TY_HOLD(c->next_row == c->store->first_row + total, "the next row is %" PRIu64 " and not %" PRIu64, c->next_row,
          c->store->first_row + total);
  uint8_t *seen = calloc((size_t)c->base.count + 1, 1), *born = calloc((size_t)total + 1, 1);
  status = seen == NULL || born == NULL ? ty_invalid_memory(err) : check_numbers(c, seen, born, err);
  free(seen);
  free(born);
  return status;
}

/* ---- Dictionaries and partitions ---- */
static ty_status count_codes(const ty_collection *c, const ty_segment *s, uint32_t column, uint64_t *live,
                             ty_error *err) {
  for (uint64_t at = 0; at < s->count; at++) {
    uint32_t code = s->keys[column][at];
    TY_HOLD(code < c->dicts[column].count, "row %" PRIu64 " of the %s has a value that no dictionary knows", at,
            name_of(s));
    live[code] += !s->dead[at];
  }
  return TY_OK;
}

static ty_status check_dict(const ty_collection *c, uint32_t column, uint64_t *live, ty_error *err) {
  const ty_dict *d = &c->dicts[column];
  uint32_t held = 0;
  TY_HOLD(d->count <= d->capacity && (d->table_size & (d->table_size - 1)) == 0 &&
              (uint64_t)d->count * 2 <= (d->count == 0 ? 0 : d->table_size),
          "dictionary %u is fuller than it may be", column);
  ty_status status = count_codes(c, &c->base, column, live, err);
  if (status == TY_OK) status = count_codes(c, &c->delta, column, live, err);
  if (status != TY_OK) return status;
  for (uint32_t code = 0; code < d->count; code++) {
    uint64_t start = code == 0 ? 0 : d->ends[code - 1], end = d->ends[code];
    TY_HOLD(code == 0 ? end == 0 : start < end && end <= d->bytes.bytes,
            "value %u of dictionary %u lies outside of its bytes", code, column);
    TY_HOLD(ty_dict_find(d, c->env->kernel, ty_dict_value(d, code)) == code,
            "value %u of dictionary %u is not found by its bytes", code, column);
    TY_HOLD(d->live[code] == live[code], "value %u of dictionary %u is counted for %" PRIu64 " live rows, not %" PRIu64,
            code, column, d->live[code], live[code]);
    held += live[code] > 0;
  }
  TY_HOLD(d->held == held, "dictionary %u counts %u values in use, not %u", column, d->held, held);
  return TY_OK;
}

/* Each row of the base stands in the list, in order, unless its value is one that is left out. */
static ty_status check_by_value(const ty_collection *c, uint32_t column, ty_error *err) {
  const ty_by_value *b = &c->base.by_value[column];
  const uint32_t *codes = c->base.keys[column];
  uint64_t *having = calloc((size_t)c->dicts[column].count + 1, sizeof *having);
  uint32_t *at = malloc((size_t)(b->count + 1) * sizeof *at), left_out = TY_NO_CODE;
  ty_status status = having == NULL || at == NULL ? ty_invalid_memory(err) : TY_OK;
  uint64_t listed = 0;
  for (uint64_t i = 0; i < c->base.count && status == TY_OK; i++) having[codes[i]]++;
  for (uint32_t code = 1; code < c->dicts[column].count && status == TY_OK; code++) {
    if (ty_by_value_leaves_out(having[code], c->base.count)) left_out = code;
    else listed += having[code];
  }
  if (status == TY_OK && (b->left_out != left_out || b->count != listed))
    status = ty_invalid(err, "the rows by value of column %u are %" PRIu64 ", not %" PRIu64, column, b->count, listed);
  if (status == TY_OK) ty_by_value_read(c->env->kernel, b, 0, b->count, at);
  for (uint64_t i = 0; i < b->count && status == TY_OK; i++) {
    if (at[i] >= c->base.count || (i % AME_PACK == 0 && b->entries[i / AME_PACK].first != at[i]) || codes[at[i]] == 0 ||
        codes[at[i]] == left_out ||
        (i > 0 && (codes[at[i - 1]] > codes[at[i]] || (codes[at[i - 1]] == codes[at[i]] && at[i - 1] >= at[i]))))
      status = ty_invalid(err, "the rows by value of column %u are out of order at %" PRIu64, column, i);
  }
  free(having);
  free(at);
  return status;
}

static ty_status check_dicts(const ty_collection *c, ty_error *err) {
  TY_HOLD(c->columns >= 1 && c->columns <= TY_MAX_COLUMNS, "there are %u filter columns", c->columns);
  ty_status status = TY_OK;
  for (uint32_t i = 0; i < c->columns && status == TY_OK; i++) {
    uint64_t *live = calloc((size_t)c->dicts[i].count + 1, sizeof *live);
    status = live == NULL ? ty_invalid_memory(err) : check_dict(c, i, live, err);
    free(live);
    if (status == TY_OK && i > 0 && c->base.by_value != NULL) status = check_by_value(c, i, err);
  }
  return status;
}

/* Rows of a span, or of each list where it has lists, are in the order of insertion. */
static ty_status check_order_in(const ty_collection *c, uint64_t from, uint64_t to, ty_error *err) {
  for (uint64_t at = from + 1; at < to; at++)
    TY_HOLD(c->base.row[at - 1] < c->base.row[at], "row %" PRIu64 " of the base stands before an older one", at - 1);
  return TY_OK;
}

static ty_status check_spans(const ty_collection *c, ty_error *err) {
  uint64_t next = 0;
  uint32_t part = 0;
  for (uint32_t i = 0; i < c->span_count; i++) {
    const ty_span *s = &c->spans[i];
    TY_HOLD(s->first == next && s->count > 0 && s->count <= c->base.count - next,
            "partition %u of the base does not begin where the one before it ends", i);
    TY_HOLD(i == 0 || c->spans[i - 1].key < s->key, "partition %u of the base has a smaller key than the one before",
            i);
    next += s->count;
    for (uint64_t at = s->first; at < next; at++)
      TY_HOLD(c->base.keys[0][at] == s->key, "row %" PRIu64 " of the base is not of its partition", at);
    const ty_ivf_part *p = c->ivf != NULL && part < c->ivf->count ? &c->ivf->parts[part] : NULL;
    uint32_t lists = p != NULL && p->span == i ? p->nlist : 0;
    part += lists > 0;
    for (uint32_t l = 0; l < lists; l++)
      TY_HOLD(p->list_starts[l] <= p->list_starts[l + 1], "list %u of partition %u ends before it begins", l, i);
    TY_HOLD(lists == 0 || (p->list_starts[0] == s->first && p->list_starts[lists] == next && p->nprobe >= 1 &&
                           p->nprobe <= lists && p->reach >= 0 && p->reach_alone >= p->reach),
            "the lists of partition %u do not cover it, or more are read than there are", i);
    ty_status status = TY_OK;
    for (uint32_t l = 0; l < lists && status == TY_OK; l++)
      status = check_order_in(c, p->list_starts[l], p->list_starts[l + 1], err);
    if (lists == 0) status = check_order_in(c, s->first, next, err);
    if (status != TY_OK) return status;
  }
  TY_HOLD(next == c->base.count, "the partitions hold %" PRIu64 " of %" PRIu64 " rows of the base", next,
          c->base.count);
  TY_HOLD(c->ivf == NULL || part == c->ivf->count, "a part of the IVF index belongs to no partition");
  return TY_OK;
}

ty_status ty_validate_entered(const ty_collection *c, ty_error *err) {
  static ty_status (*const checks[])(const ty_collection *, ty_error *) = {
      check_rows,        check_dicts,         check_spans,         ty_validate_tables,
      ty_validate_saved, ty_validate_vectors, ty_validate_lexical, ty_validate_meaning};
  ty_status status = TY_OK;
  for (size_t i = 0; i < sizeof checks / sizeof *checks && status == TY_OK; i++) status = checks[i](c, err);
  return status;
}

ty_status ty_validate(ty_collection *c, ty_error *err) {
  ty_status status = ty_enter(c, err);
  if (status != TY_OK) return status;
  return ty_leave(c, ty_validate_entered(c, err), err);
}

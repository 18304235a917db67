#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "rows/block.h"
#include "rows/vertical.h"
#include "state/state.h"

/* Whole lines and whole blocks. */
#define ROWS_TOGETHER AME_LINE_ROWS(4)

/* The bytes of a column of so many rows; 0 where the collection has none. */
static uint64_t column_bytes(const ty_collection *c, int column, uint64_t rows) {
  bool vertical = ty_delta_vertical(c), narrow = c->dtype == TY_INT4, coded = !narrow && !vertical;
  switch (column) {
  case TY_COLUMN_LINES: return vertical ? ty_lines_bytes(c, ty_line_rows(c), rows) : 0;
  case TY_COLUMN_SCALES: return vertical ? rows * sizeof(float) : 0;
  case TY_COLUMN_OFFSETS: return vertical && narrow ? rows * sizeof(float) : 0;
  case TY_COLUMN_NORMS: return vertical ? rows * sizeof(float) : 0;
  case TY_COLUMN_ERRS: return vertical && c->dtype == TY_F32 ? rows * sizeof(float) : 0;
  case TY_COLUMN_BLOCKS: return vertical ? 0 : ty_block_count(rows) * AME_BLOCK_BYTES(c->dim);
  case TY_COLUMN_CODES: return coded ? rows * AME_CODE_STRIDE(c->dim) : 0;
  case TY_COLUMN_INFO: return coded ? rows * sizeof(ame_code_info) : 0;
  case TY_COLUMN_ROW: return rows * sizeof(uint64_t);
  case TY_COLUMN_BIRTH:
  case TY_COLUMN_CREATED:
  case TY_COLUMN_UPDATED: return rows * sizeof(uint64_t);
  case TY_COLUMN_DEAD: return rows;
  case TY_COLUMN_PAYLOAD: return rows * sizeof(ty_payload);
  default: return column - TY_COLUMN_KEYS < (int)c->columns ? rows * sizeof(uint32_t) : 0;
  }
}

/* Whether a column has more room in `fresh` than in `old`, so that it is copied. */
static bool grows(const ty_delta_memory *fresh, const ty_delta_memory *old, int column) {
  return column == TY_COLUMN_LINES ? fresh->lines_capacity > old->lines_capacity : fresh->capacity > old->capacity;
}

/* Frees the columns of `m` that `other` does not share. */
static void columns_free(const ty_collection *c, ty_delta_memory *m, const ty_delta_memory *other) {
  for (int i = 0; i < TY_DELTA_COLUMNS; i++)
    if (m->columns[i].data != other->columns[i].data) ty_spill_free(c->env, &m->columns[i]);
}

/* The capacity for `need` rows in place of one for `had`: at least twice as large if it grows, whole lines and blocks.
 */
static uint64_t room_for(uint64_t need, uint64_t had) {
  uint64_t rows = had < 32 ? 32 : had * 2;
  if (need <= had) return had;
  if (rows < need) rows = need;
  return (rows + ROWS_TOGETHER - 1) / ROWS_TOGETHER * ROWS_TOGETHER;
}

static void attach(ty_segment *s, const ty_delta_memory *m, uint32_t keys, uint64_t run) {
  s->vertical.lines = m->columns[TY_COLUMN_LINES].data;
  s->vertical.run = run;
  s->vertical.scales = m->columns[TY_COLUMN_SCALES].data;
  s->vertical.offsets = m->columns[TY_COLUMN_OFFSETS].data;
  s->vertical.norms = m->columns[TY_COLUMN_NORMS].data;
  s->vertical.errs = m->columns[TY_COLUMN_ERRS].data;
  s->blocks = m->columns[TY_COLUMN_BLOCKS].data;
  s->codes = m->columns[TY_COLUMN_CODES].data;
  s->info = m->columns[TY_COLUMN_INFO].data;
  s->row = m->columns[TY_COLUMN_ROW].data;
  s->birth = m->columns[TY_COLUMN_BIRTH].data;
  s->created = m->columns[TY_COLUMN_CREATED].data;
  s->updated = m->columns[TY_COLUMN_UPDATED].data;
  s->dead = m->columns[TY_COLUMN_DEAD].data;
  s->payload = m->columns[TY_COLUMN_PAYLOAD].data;
  s->vertical.sparse = m->sparse.blocks;
  for (uint32_t i = 0; i < keys; i++) s->keys[i] = m->columns[TY_COLUMN_KEYS + i].data;
}

ty_status ty_delta_reserve(ty_collection *c, uint64_t more, bool locked, ty_error *err) {
  ty_segment *s = &c->delta;
  ty_delta_memory *m = &c->state->delta, fresh = {0};
  uint64_t need;
  if (!ty_add(s->count, more, &need) || need + c->base.count > TY_ROWS_MAX)
    return ty_fail(err, TY_INVALID,
                   "a collection holds at most %u rows, deleted ones counted until the next compaction", TY_ROWS_MAX);
  if (!locked) ty_delta_make_sparse(c);
  const uint64_t sparse = s->vertical.sparse_rows;
  fresh.capacity = room_for(need, m->capacity);
  /* Of many rows that are loaded all but the last ones become sparse meanwhile (ty_delta_sparse_loaded). */
  const bool loads = locked && more > 1 && c->dtype != TY_INT4 && need - sparse > TY_DENSE_LOADED;
  fresh.lines_capacity = room_for(loads ? TY_DENSE_LOADED : need - sparse, m->lines_capacity);
  if (s->keys != NULL && fresh.capacity == m->capacity && fresh.lines_capacity == m->lines_capacity) return TY_OK;
  const uint32_t **keys = s->keys == NULL ? calloc(c->columns, sizeof *keys) : NULL;
  fresh.sparse = m->sparse;
  bool grown = s->keys != NULL || keys != NULL;
  for (int i = 0; i < TY_DELTA_COLUMNS && grown; i++) {
    const bool lines = i == TY_COLUMN_LINES;
    const uint64_t bytes = column_bytes(c, i, lines ? fresh.lines_capacity : fresh.capacity);
    if (!grows(&fresh, m, i)) fresh.columns[i] = m->columns[i];
    else if (bytes > 0)
      grown = ty_spill_copy(ty_dir_of(c), &m->columns[i], column_bytes(c, i, lines ? s->count - sparse : s->count),
                            bytes, &fresh.columns[i]);
  }
  if (!grown) {
    columns_free(c, &fresh, m);
    free(keys);
    return ty_fail(err, TY_NO_MEMORY, "out of memory for %llu more rows", (unsigned long long)more);
  }
  if (!locked) pthread_rwlock_wrlock(&c->lock);
  ty_delta_memory old = *m;
  *m = fresh;
  if (keys != NULL) s->keys = keys;
  attach(s, m, c->columns, ty_line_rows(c));
  if (!locked) pthread_rwlock_unlock(&c->lock);
  columns_free(c, &old, m); /* only read under the lock */
  return TY_OK;
}

/* Only this file writes the segment's columns. */
#define SET(column, at, value)       (*(uint64_t *)(uintptr_t)&(column)[at] = (value))
#define SET_FLOAT(column, at, value) (*(float *)(uintptr_t)&(column)[at] = (value))

static float larger(float a, float b) { return a > b ? a : b; }

/* What bounds the codes of a row, into vertical columns. `exact`: with f32, the codes are the row. */
static void put_vertical(const ty_collection *c, ty_vertical *v, uint64_t at, bool exact, const ty_coded *coded,
                         uint64_t i) {
  float width, norm;
  if (c->dtype == TY_INT4) {
    const ame_i4_info *info = &coded->i4_info[i];
    SET_FLOAT(v->scales, at, info->scale);
    SET_FLOAT(v->offsets, at, info->offset);
    width = ty_line_width(info->scale, info->offset);
    norm = isinf(info->err) ? FLT_MAX : info->norm; /* of so large or small a row no norm was computed */
  } else {
    const ame_code_info *info = &coded->info[i];
    SET_FLOAT(v->scales, at, info->scale);
    if (v->errs != NULL) {
      float err = exact ? 0 : info->err;
      SET_FLOAT(v->errs, at, err);
      v->err_most = larger(v->err_most, err);
    }
    width = ty_line_width(info->scale, 0);
    norm = info->norm;
  }
  SET_FLOAT(v->norms, at, norm);
  v->width_most = larger(v->width_most, width);
  v->norm_most = larger(v->norm_most, norm);
}

static void put_blocks(const ty_collection *c, const ty_segment *s, uint64_t at, const ty_coded *coded, uint64_t i) {
  uint64_t stride = AME_CODE_STRIDE(c->dim);
  uint8_t *blocks = (uint8_t *)(uintptr_t)s->blocks;
  if (at % AME_BLOCK_ROWS == 0) ty_block_clear(blocks + at / AME_BLOCK_ROWS * AME_BLOCK_BYTES(c->dim), c->dim);
  ty_block_put(blocks, c->dim, at, coded->i4 + i * AME_I4_BYTES(c->dim), &coded->i4_info[i], coded->bias[i]);
  if (s->codes == NULL) return;
  memcpy((void *)(uintptr_t)(s->codes + at * stride), coded->codes + i * stride, (size_t)stride);
  memcpy((void *)(uintptr_t)(s->info + at), &coded->info[i], sizeof *s->info);
}

void ty_delta_lines(ty_collection *c, const ty_coded *coded, uint64_t at, uint64_t n) {
  const ty_segment *s = &c->delta;
  if (s->vertical.lines == NULL || n == 0) return;
  at -= s->vertical.sparse_rows;
  TY_ASSERT(at + n <= c->state->delta.lines_capacity);
  const void *codes = c->dtype == TY_INT4 ? (const void *)coded->i4 : coded->codes;
  ty_lines_put(c, (uint8_t *)(uintptr_t)s->vertical.lines, at, n, codes);
}

void ty_delta_push(ty_collection *c, const ty_new_row *row, const ty_coded *coded, uint64_t i) {
  ty_segment *s = &c->delta;
  uint64_t at = s->count;
  TY_ASSERT(at < c->state->delta.capacity);
  TY_ASSERT(row->row == c->next_row && row->birth <= row->row);
  TY_ASSERT(at == 0 || s->row[at - 1] < row->row);
  TY_ASSERT(row->times.created <= row->times.updated && row->times.updated <= TY_TIME_MAX);
  if (s->vertical.lines != NULL) put_vertical(c, &s->vertical, at, row->payload.coded != 0, coded, i);
  else put_blocks(c, s, at, coded, i);
  SET(s->row, at, row->row);
  SET(s->birth, at, row->birth);
  SET(s->created, at, row->times.created);
  SET(s->updated, at, row->times.updated);
  for (uint32_t k = 0; k < c->columns; k++) {
    *(uint32_t *)(uintptr_t)&s->keys[k][at] = row->codes[k];
    ty_dict_count(&c->dicts[k], row->codes[k], 1);
  }
  s->dead[at] = 0;
  s->payload[at] = row->payload;
  s->count++;
  s->live++;
  ty_touched(c->resident, TY_OF_DELTA,
             AME_CODE_STRIDE(c->dim) + AME_BLOCK_BYTES(c->dim) / AME_BLOCK_ROWS + sizeof row->payload,
             TY_RESIDENT_MOST);
}

void ty_delta_free(ty_collection *c) {
  free(c->delta.keys);
  c->delta = (ty_segment){0};
  if (c->state == NULL) return;
  ty_delta_memory none = {0}, *m = &c->state->delta;
  columns_free(c, m, &none);
  ty_delta_sparse_free(c->env, &m->sparse);
  *m = none;
}

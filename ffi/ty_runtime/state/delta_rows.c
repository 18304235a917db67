#include <stdlib.h>
#include <string.h>
#include "rows/block.h"
#include "state/state.h"

/* The bytes of a column of so many rows; 0 where the collection has none. */
static uint64_t column_bytes(const ty_collection *c, int column, uint64_t rows) {
  bool coded = c->dtype != TY_INT4;
  switch (column) {
  case TY_COLUMN_BLOCKS: return ty_block_count(rows) * AME_BLOCK_BYTES(c->dim);
  case TY_COLUMN_CODES: return coded ? rows * AME_CODE_STRIDE(c->dim) : 0;
  case TY_COLUMN_INFO: return coded ? rows * sizeof(ame_code_info) : 0;
  case TY_COLUMN_ROW: return rows * sizeof(uint64_t);
  case TY_COLUMN_BIRTH: return rows * sizeof(uint64_t);
  case TY_COLUMN_DEAD: return rows;
  case TY_COLUMN_PAYLOAD: return rows * sizeof(ty_payload);
  default: return column - TY_COLUMN_KEYS < (int)c->columns ? rows * sizeof(uint32_t) : 0;
  }
}

static void columns_free(const ty_collection *c, ty_delta_memory *m) {
  for (int i = 0; i < TY_DELTA_COLUMNS; i++) ty_spill_free(c->env, &m->columns[i]);
  m->capacity = 0;
}

static void attach(ty_segment *s, const ty_delta_memory *m, uint32_t keys) {
  s->blocks = m->columns[TY_COLUMN_BLOCKS].data;
  s->codes = m->columns[TY_COLUMN_CODES].data;
  s->info = m->columns[TY_COLUMN_INFO].data;
  s->row = m->columns[TY_COLUMN_ROW].data;
  s->birth = m->columns[TY_COLUMN_BIRTH].data;
  s->dead = m->columns[TY_COLUMN_DEAD].data;
  s->payload = m->columns[TY_COLUMN_PAYLOAD].data;
  for (uint32_t i = 0; i < keys; i++) s->keys[i] = m->columns[TY_COLUMN_KEYS + i].data;
}

ty_status ty_delta_reserve(ty_collection *c, uint64_t more, bool locked, ty_error *err) {
  ty_segment *s = &c->delta;
  ty_delta_memory *m = &c->state->delta, fresh = {0};
  uint64_t need;
  if (!ty_add(s->count, more, &need) || need + c->base.count > TY_ROWS_MAX)
    return ty_fail(err, TY_INVALID,
                   "a collection holds at most %u rows, deleted ones counted until the next compaction", TY_ROWS_MAX);
  if (s->keys != NULL && need <= m->capacity) return TY_OK;
  const uint32_t **keys = s->keys == NULL ? calloc(c->columns, sizeof *keys) : NULL;
  fresh.capacity = m->capacity < 32 ? 32 : m->capacity * 2;
  if (fresh.capacity < need) fresh.capacity = need;
  fresh.capacity = ty_block_count(fresh.capacity) * AME_BLOCK_ROWS;
  TY_ASSERT(fresh.capacity >= need && fresh.capacity > m->capacity);
  bool grown = s->keys != NULL || keys != NULL;
  for (int i = 0; i < TY_DELTA_COLUMNS && grown; i++) {
    uint64_t bytes = column_bytes(c, i, fresh.capacity);
    if (bytes > 0)
      grown = ty_spill_copy(ty_dir_of(c), &m->columns[i], column_bytes(c, i, s->count), bytes, &fresh.columns[i]);
  }
  if (!grown) {
    columns_free(c, &fresh);
    free(keys);
    return ty_fail(err, TY_NO_MEMORY, "out of memory for %llu more rows", (unsigned long long)more);
  }
  if (!locked) pthread_rwlock_wrlock(&c->lock);
  ty_delta_memory old = *m;
  *m = fresh;
  if (keys != NULL) s->keys = keys;
  attach(s, m, c->columns);
  if (!locked) pthread_rwlock_unlock(&c->lock);
  columns_free(c, &old); /* only read under the lock */
  return TY_OK;
}

/* Only this file writes the segment's columns. */
#define SET(column, at, value) (*(uint64_t *)(uintptr_t)&(column)[at] = (value))

void ty_delta_push(ty_collection *c, const ty_new_row *row, const ty_coded *coded, uint64_t i) {
  ty_segment *s = &c->delta;
  uint64_t at = s->count, stride = AME_CODE_STRIDE(c->dim);
  TY_ASSERT(at < c->state->delta.capacity);
  TY_ASSERT(row->row == c->next_row && row->birth <= row->row);
  TY_ASSERT(at == 0 || s->row[at - 1] < row->row);
  uint8_t *blocks = (uint8_t *)(uintptr_t)s->blocks;
  if (at % AME_BLOCK_ROWS == 0) ty_block_clear(blocks + at / AME_BLOCK_ROWS * AME_BLOCK_BYTES(c->dim), c->dim);
  ty_block_put(blocks, c->dim, at, coded->i4 + i * AME_I4_BYTES(c->dim), &coded->i4_info[i], coded->bias[i]);
  if (s->codes != NULL) {
    memcpy((void *)(uintptr_t)(s->codes + at * stride), coded->codes + i * stride, (size_t)stride);
    memcpy((void *)(uintptr_t)(s->info + at), &coded->info[i], sizeof *s->info);
  }
  SET(s->row, at, row->row);
  SET(s->birth, at, row->birth);
  for (uint32_t k = 0; k < c->columns; k++) {
    *(uint32_t *)(uintptr_t)&s->keys[k][at] = row->codes[k];
    ty_dict_count(&c->dicts[k], row->codes[k], 1);
  }
  s->dead[at] = 0;
  s->payload[at] = row->payload;
  s->count++;
  s->live++;
  ty_touched(c->resident, TY_OF_DELTA, stride + AME_BLOCK_BYTES(c->dim) / AME_BLOCK_ROWS + sizeof row->payload,
             TY_RESIDENT_MOST);
}

void ty_delta_free(ty_collection *c) {
  free(c->delta.keys);
  c->delta = (ty_segment){0};
  if (c->state != NULL) columns_free(c, &c->state->delta);
}

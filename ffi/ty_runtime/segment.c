/* Rows of a base or a delta: reading their parts, and letting the delta grow. */
#include <stdlib.h>
#include <string.h>
#include "block.h"
#include "store.h"

static ty_slice cut(const uint8_t *bytes, const uint64_t *ends, uint64_t at) {
  uint64_t start = at == 0 ? 0 : ends[at - 1];
  return (ty_slice){bytes + start, ends[at] - start};
}

ty_slice ty_row_id(const ty_segment *s, uint64_t at) {
  return s->is_base ? cut(s->ids, s->id_ends, at) : s->payload[at].id;
}

ty_slice ty_row_meta(const ty_segment *s, uint64_t at, bool *present) {
  *present = s->is_base ? (s->presence[at] & TY_HAS_META) != 0 : s->payload[at].has_meta != 0;
  return s->is_base ? cut(s->metas, s->meta_ends, at) : s->payload[at].meta;
}

ty_slice ty_row_text(const ty_segment *s, uint64_t at, bool *present) {
  *present = s->is_base ? (s->presence[at] & TY_HAS_TEXT) != 0 : s->payload[at].has_text != 0;
  return s->is_base ? cut(s->texts, s->text_ends, at) : s->payload[at].text;
}

ty_slice ty_row_terms(const ty_segment *s, uint64_t at) {
  return s->is_base ? cut(s->terms, s->terms_ends, at) : s->payload[at].terms;
}

/* ---- The delta's columns -------------------------------------------------------------------------------------------- */
/* The segment's columns are const for everybody but this file. */
#define GROW(column, memory, width)                                                                                    \
  (ty_spill_grow(c, &(memory), s->count * (width), capacity * (width)) && ((column) = (memory).data, true))

ty_status ty_delta_reserve(ty_collection *c, uint64_t more, ty_error *err) {
  ty_segment *s = &c->delta;
  uint64_t need;
  if (!ty_add(s->count, more, &need) || need + c->base.count > TY_ROWS_MAX)
    return ty_fail(err, TY_INVALID,
                   "a collection holds at most %u rows, deleted ones counted until the next compaction", TY_ROWS_MAX);
  if (s->keys == NULL && (s->keys = calloc(c->columns, sizeof *s->keys)) == NULL) goto no_memory;
  ty_delta_memory *m = &c->store->delta;
  if (need <= m->capacity) return TY_OK;
  uint64_t capacity = m->capacity < 32 ? 32 : m->capacity * 2;
  if (capacity < need) capacity = need;
  capacity = ty_block_count(capacity) * AME_BLOCK_ROWS;
  /* Columns that grew before one failed are merely larger than they say. */
  bool grown = ty_spill_grow(c, &m->blocks, ty_block_count(s->count) * AME_BLOCK_BYTES(c->dim),
                             capacity / AME_BLOCK_ROWS * AME_BLOCK_BYTES(c->dim));
  if (grown) s->blocks = m->blocks.data;
  if (c->dtype != TY_INT4)
    grown = grown && GROW(s->codes, m->codes, AME_CODE_STRIDE(c->dim)) && GROW(s->info, m->info, sizeof *s->info);
  grown = grown && GROW(s->row, m->row, sizeof *s->row) && GROW(s->birth, m->birth, sizeof *s->birth) &&
          GROW(s->dead, m->dead, sizeof *s->dead) && GROW(s->payload, m->payload, sizeof *s->payload);
  for (uint32_t i = 0; grown && i < c->columns; i++) grown = GROW(s->keys[i], m->keys[i], sizeof **s->keys);
  if (!grown) goto no_memory;
  m->capacity = capacity;
  return TY_OK;
no_memory:
  return ty_fail(err, TY_NO_MEMORY, "out of memory for %llu more rows", (unsigned long long)more);
}

#define SET(column, at, value) (*(uint64_t *)(uintptr_t) & (column)[at] = (value))

void ty_delta_push(ty_collection *c, const ty_new_row *row, const ty_coded *coded, uint64_t i) {
  ty_segment *s = &c->delta;
  uint64_t at = s->count, stride = AME_CODE_STRIDE(c->dim);
  uint8_t *blocks = (uint8_t *)(uintptr_t)s->blocks;
  if (at % AME_BLOCK_ROWS == 0) ty_block_clear(blocks + at / AME_BLOCK_ROWS * AME_BLOCK_BYTES(c->dim), c->dim);
  ty_block_put(blocks, c->dim, at, coded->i4 + i * AME_I4_BYTES(c->dim), &coded->i4_info[i], coded->bias[i]);
  if (s->codes != NULL) {
    memcpy((void *)(uintptr_t)(s->codes + at * stride), coded->codes + i * stride, (size_t)stride);
    memcpy((void *)(uintptr_t)(s->info + at), &coded->info[i], sizeof *s->info);
  }
  SET(s->row, at, row->row);
  SET(s->birth, at, row->birth);
  for (uint32_t k = 0; k < c->columns; k++) *(uint32_t *)(uintptr_t)&s->keys[k][at] = row->codes[k];
  s->dead[at] = 0;
  s->payload[at] = row->payload;
  s->count++;
  s->live++;
  ty_touched(c, stride + AME_BLOCK_BYTES(c->dim) / AME_BLOCK_ROWS + sizeof row->payload);
}

void ty_delta_free(ty_collection *c) {
  ty_segment *s = &c->delta;
  free(s->keys);
  *s = (ty_segment){0};
  if (c->store == NULL) return;
  ty_delta_memory *m = &c->store->delta;
  ty_spill *all[] = {&m->blocks, &m->codes, &m->info, &m->row, &m->birth, &m->dead, &m->payload};
  for (uint32_t i = 0; i < sizeof all / sizeof *all; i++) ty_spill_free(c, all[i]);
  for (uint32_t i = 0; i < TY_MAX_COLUMNS; i++) ty_spill_free(c, &m->keys[i]);
  m->capacity = 0;
}

/* ---- Answers -------------------------------------------------------------------------------------------------------- */
/* Room for so many bytes and zeros up to a multiple of 8; NULL where they do not fit. They are counted past the end too: the caller learns how
 * much is needed. */
static uint8_t *take(ty_answer *a, uint64_t bytes) {
  uint64_t padded = (bytes + 7) & ~(uint64_t)7;
  uint8_t *at = a->bytes + padded <= a->capacity && padded > 0 ? a->out + a->bytes : NULL;
  if (at != NULL) memset(at + bytes, 0, (size_t)(padded - bytes));
  a->bytes += padded;
  return at;
}

static void put(ty_answer *a, const void *data, uint64_t bytes) {
  uint8_t *at = take(a, bytes);
  if (at != NULL) memcpy(at, data, (size_t)bytes);
}

void ty_answer_row(ty_answer *a, const ty_collection *c, ty_ref ref, double score, uint64_t what, ty_slice extra) {
  const ty_segment *s = ref.segment;
  bool has_meta = false, has_text = false;
  ty_slice id = ty_row_id(s, ref.at), meta = {NULL, 0}, text = {NULL, 0};
  if (what & TY_WITH_META) meta = ty_row_meta(s, ref.at, &has_meta);
  if (what & TY_WITH_TEXT) text = ty_row_text(s, ref.at, &has_text);
  uint64_t vector_bytes = what & TY_WITH_VECTOR ? (uint64_t)c->dim * sizeof(float) : 0;
  ty_record record = {.row = s->row[ref.at],
                      .birth = s->birth[ref.at],
                      .score = score,
                      .id_bytes = (uint32_t)id.bytes,
                      .meta_bytes = has_meta ? (uint32_t)meta.bytes : TY_ABSENT,
                      .text_bytes = has_text ? (uint32_t)text.bytes : TY_ABSENT,
                      .vector_bytes = (uint32_t)vector_bytes,
                      .extra_bytes = (uint32_t)extra.bytes,
                      .found = 1};
  put(a, &record, sizeof record);
  put(a, id.data, id.bytes);
  if (has_meta) put(a, meta.data, meta.bytes);
  if (has_text) put(a, text.data, text.bytes);
  float *vector = (float *)(void *)take(a, vector_bytes); /* records are 8-byte aligned, and so is what the caller passes */
  if (vector != NULL) {
    const float *row = ty_row_vector(c, s, ref.at, vector);
    if (row != vector) memcpy(vector, row, (size_t)vector_bytes);
  }
  put(a, extra.data, extra.bytes);
  a->count++;
}

ty_status ty_answer_end(const ty_answer *a, ty_error *err) {
  if (a->bytes <= a->capacity) return TY_OK;
  return ty_fail(err, TY_BUFFER, "the answer needs %llu bytes", (unsigned long long)a->bytes);
}

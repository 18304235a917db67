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
/* Moves `used` bytes to a fresh block of `bytes`; the old block is freed. 64-byte aligned for the codes' sake. */
static bool regrow(const void **column, size_t used, size_t bytes) {
  void *fresh = NULL;
  if (posix_memalign(&fresh, TY_ALIGN, bytes) != 0) return false;
  if (used > 0) memcpy(fresh, *column, used);
  free((void *)(uintptr_t)*column);
  *column = fresh;
  return true;
}

#define REGROW(column, width)                                                                                          \
  regrow((const void **)&(column), (size_t)(s->count * (width)), (size_t)(capacity * (width)))

ty_status ty_delta_reserve(ty_collection *c, uint64_t more, ty_error *err) {
  ty_segment *s = &c->delta;
  uint64_t need;
  if (!ty_add(s->count, more, &need) || need + c->base.count > TY_ROWS_MAX)
    return ty_fail(err, TY_INVALID,
                   "a collection holds at most %u rows, deleted ones counted until the next compaction", TY_ROWS_MAX);
  if (s->keys == NULL && (s->keys = calloc(c->columns, sizeof *s->keys)) == NULL) goto no_memory;
  if (need <= c->store->delta_capacity) return TY_OK;
  uint64_t capacity = c->store->delta_capacity < 32 ? 32 : c->store->delta_capacity * 2;
  if (capacity < need) capacity = need;
  capacity = ty_block_count(capacity) * AME_BLOCK_ROWS;
  uint64_t block = AME_BLOCK_BYTES(c->dim), blocks = capacity / AME_BLOCK_ROWS;
  /* Columns that grew before one failed are merely larger than they say. */
  bool grown = regrow((const void **)&s->blocks, (size_t)(ty_block_count(s->count) * block), (size_t)(blocks * block));
  if (c->dtype != TY_INT4)
    grown = grown && REGROW(s->codes, AME_CODE_STRIDE(c->dim)) && REGROW(s->info, sizeof *s->info);
  grown = grown && REGROW(s->row, sizeof *s->row) && REGROW(s->birth, sizeof *s->birth) &&
               REGROW(s->dead, sizeof *s->dead) && REGROW(s->payload, sizeof *s->payload);
  for (uint32_t i = 0; grown && i < c->columns; i++) grown = REGROW(s->keys[i], sizeof **s->keys);
  if (!grown) goto no_memory;
  c->store->delta_capacity = capacity;
  return TY_OK;
no_memory:
  return ty_fail(err, TY_NO_MEMORY, "out of memory for %llu more rows", (unsigned long long)more);
}

/* The segment's columns are const for everybody but this file. */
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
}

void ty_delta_free(ty_collection *c) {
  ty_segment *s = &c->delta;
  free((void *)(uintptr_t)s->blocks);
  free((void *)(uintptr_t)s->codes);
  free((void *)(uintptr_t)s->info);
  free((void *)(uintptr_t)s->row);
  free((void *)(uintptr_t)s->birth);
  for (uint32_t i = 0; s->keys != NULL && i < c->columns; i++) free((void *)(uintptr_t)s->keys[i]);
  free(s->keys);
  free(s->dead);
  free(s->payload);
  *s = (ty_segment){0};
  if (c->store != NULL) c->store->delta_capacity = 0;
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

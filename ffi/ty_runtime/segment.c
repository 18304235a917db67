/* Rows of a base or a delta: reading their parts, and letting the delta grow. */
#include <stdlib.h>
#include <string.h>
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
  /* Columns that grew before one failed are merely larger than they say. */
  bool grown = REGROW(s->codes, AME_CODE_STRIDE(c->dim)) && REGROW(s->info, sizeof *s->info) &&
               REGROW(s->row, sizeof *s->row) && REGROW(s->birth, sizeof *s->birth) &&
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

void ty_delta_push(ty_collection *c, const ty_new_row *row, const int8_t *codes, const ame_code_info *info) {
  ty_segment *s = &c->delta;
  uint64_t at = s->count, stride = AME_CODE_STRIDE(c->dim);
  memcpy((void *)(uintptr_t)(s->codes + at * stride), codes, (size_t)stride);
  memcpy((void *)(uintptr_t)(s->info + at), info, sizeof *info);
  SET(s->row, at, row->row);
  SET(s->birth, at, row->birth);
  for (uint32_t i = 0; i < c->columns; i++) *(uint32_t *)(uintptr_t)&s->keys[i][at] = row->codes[i];
  s->dead[at] = 0;
  s->payload[at] = row->payload;
  s->count++;
  s->live++;
}

void ty_delta_free(ty_collection *c) {
  ty_segment *s = &c->delta;
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
static void put(ty_answer *a, const void *data, uint64_t bytes) {
  uint64_t padded = (bytes + 7) & ~(uint64_t)7;
  if (a->bytes + padded <= a->capacity && padded > 0) {
    memcpy(a->out + a->bytes, data, (size_t)bytes);
    memset(a->out + a->bytes + bytes, 0, (size_t)(padded - bytes));
  }
  a->bytes += padded; /* counted past the end too: the caller learns how much is needed */
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
  if (vector_bytes > 0) put(a, ty_row_vector(s, ref.at, c->dim), vector_bytes);
  put(a, extra.data, extra.bytes);
  a->count++;
}

ty_status ty_answer_end(const ty_answer *a, ty_error *err) {
  if (a->bytes <= a->capacity) return TY_OK;
  return ty_fail(err, TY_BUFFER, "the answer needs %llu bytes", (unsigned long long)a->bytes);
}

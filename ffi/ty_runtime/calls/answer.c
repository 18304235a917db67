#include "calls/calls.h"

#include <string.h>

#include "calls/arguments.h"
#include "rows/checks.h"
#include "rows/vector.h"

/* Memory for `bytes`, zero-padded to a multiple of 8; NULL where they do not fit. */
static uint8_t *take(ty_answer *a, uint64_t bytes) {
  uint64_t padded = (bytes + 7) & ~(uint64_t)7;
  TY_ASSERT(a->bytes % 8 == 0 && (a->capacity == 0 || (uintptr_t)a->out % 8 == 0));
  uint8_t *at = a->bytes + padded <= a->capacity && padded > 0 ? a->out + a->bytes : NULL;
  if (at != NULL) memset(at + bytes, 0, (size_t)(padded - bytes));
  a->bytes += padded;
  return at;
}

void ty_answer_put(ty_answer *a, const void *data, uint64_t bytes) {
  uint8_t *at = take(a, bytes);
  if (at != NULL) memcpy(at, data, (size_t)bytes);
}

void ty_answer_both(ty_answer *a, ty_slice one, ty_slice two) {
  uint8_t *at = take(a, one.bytes + two.bytes);
  if (at == NULL) return;
  memcpy(at, one.data, (size_t)one.bytes);
  memcpy(at + one.bytes, two.data, (size_t)two.bytes);
}

/* Whether a part of the row can be read; the first that cannot ends the answer. */
static bool is_good(ty_answer *a, ty_ref ref, ty_part part, bool good) {
  if (!good && !a->damaged) {
    a->damaged = true;
    a->part = part;
    a->row = ref;
  }
  return good;
}

void ty_answer_row(ty_answer *a, const ty_collection *c, ty_ref ref, double score, uint64_t what, ty_slice extra) {
  const ty_segment *s = ref.segment;
  bool has_meta = false, has_text = false;
  ty_slice id = ty_row_id(s, ref.at, &a->ids), meta = {NULL, 0}, text = {NULL, 0};
  if ((what & TY_WITH_META) != 0 && is_good(a, ref, TY_PART_METADATA, ty_meta_intact(s, ref.at)))
    meta = ty_row_meta(s, ref.at, &a->metas, &has_meta);
  a->texts.most = a->text_most + (a->text_most > 0); /* the byte after it tells where a character ends */
  if ((what & TY_WITH_TEXT) != 0 && is_good(a, ref, TY_PART_TEXTS, ty_text_intact(s, ref.at)))
    text = ty_row_text(s, ref.at, &a->texts, &has_text);
  if (a->text_most > 0) text.bytes = ty_cut(text, a->text_most);
  uint64_t vector_bytes = what & TY_WITH_VECTOR ? (uint64_t)c->dim * sizeof(float) : 0;
  ty_times times = {0};
  uint64_t times_bytes = what & TY_WITH_TIMES ? sizeof times : 0;
  ty_record record = {.row = s->row[ref.at],
                      .birth = a->births + s->birth[ref.at],
                      .score = score,
                      .id_bytes = (uint32_t)id.bytes,
                      .meta_bytes = has_meta ? (uint32_t)meta.bytes : TY_ABSENT,
                      .text_bytes = has_text ? (uint32_t)text.bytes : TY_ABSENT,
                      .vector_bytes = (uint32_t)vector_bytes,
                      .extra_bytes = (uint32_t)(times_bytes + extra.bytes),
                      .found = 1};
  ty_answer_put(a, &record, sizeof record);
  ty_answer_put(a, id.data, id.bytes);
  if (has_meta) ty_answer_put(a, meta.data, meta.bytes);
  if (has_text) ty_answer_put(a, text.data, text.bytes);
  float *vector = (float *)(void *)take(a, vector_bytes); /* 8-byte aligned, as every part */
  if (vector != NULL && is_good(a, ref, TY_PART_VECTORS, ty_vector_intact(c, s, ref.at))) {
    const float *row = ty_row_vector(c, s, ref.at, vector);
    if (row != vector) memcpy(vector, row, (size_t)vector_bytes);
  }
  if (times_bytes > 0) times = ty_row_times(s, ref.at);
  ty_answer_put(a, &times, times_bytes);
  ty_answer_put(a, extra.data, extra.bytes);
  a->count++;
}

ty_status ty_answer_end(ty_answer *a, ty_status status, const ty_collection *c, ty_error *err) {
  const bool no_memory = a->texts.text.failed;
  ty_buffer_free(&a->texts.text);
  if (status != TY_OK) return status;
  if (no_memory) return ty_fail(err, TY_NO_MEMORY, "out of memory for a text");
  if (a->damaged) return ty_row_damaged(c, a->row.segment, a->row.at, a->part, err);
  if (a->ids.damaged || a->metas.damaged || a->texts.damaged)
    return ty_fail(err, TY_CORRUPT, "the id, the metadata or the text of a row is damaged");
  if (a->bytes <= a->capacity) return TY_OK;
  return ty_fail(err, TY_BUFFER, "the answer needs %llu bytes", (unsigned long long)a->bytes);
}

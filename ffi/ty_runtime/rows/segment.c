/* Rows of a base or a delta: reading their parts. */
#include "os/assert.h"
#include "rows/segment.h"

/* Without `ends` all parts are empty. Of a truncated file they read as zeros. */
static ty_slice cut(const uint8_t *bytes, const uint64_t *ends, uint64_t at) {
  if (ends == NULL) return (ty_slice){NULL, 0};
  uint64_t start = at == 0 ? 0 : ends[at - 1], end = ends[at];
  return start <= end ? (ty_slice){bytes + start, end - start} : (ty_slice){NULL, 0};
}

ty_slice ty_row_id(const ty_segment *s, uint64_t at, ty_unpack *u) {
  TY_ASSERT(at < s->count);
  return s->is_base ? ty_packed_at(u, &s->ids, at, TY_ID_MAX) : s->payload[at].id;
}

ty_times ty_row_times(const ty_segment *s, uint64_t at) {
  TY_ASSERT(at < s->count);
  return s->is_base ? ty_times_at(&s->times, at) : (ty_times){s->created[at], s->updated[at]};
}

ty_slice ty_row_meta(const ty_segment *s, uint64_t at, ty_unpack *u, bool *present) {
  TY_ASSERT(at < s->count);
  *present = s->is_base ? (s->presence[at] & TY_HAS_META) != 0 : s->payload[at].has_meta != 0;
  return s->is_base ? ty_packed_at(u, &s->metas, at, TY_META_MAX) : s->payload[at].meta;
}

bool ty_row_has_text(const ty_segment *s, uint64_t at) {
  TY_ASSERT(at < s->count);
  return s->is_base ? (s->presence[at] & TY_HAS_TEXT) != 0 : s->payload[at].has_text != 0;
}

ty_slice ty_row_stored_text(const ty_segment *s, uint64_t at) {
  TY_ASSERT(at < s->count);
  return s->is_base ? cut(s->texts, s->text_ends, at) : s->payload[at].text;
}

uint64_t ty_row_text_bytes(const ty_segment *s, uint64_t at) {
  const ty_slice stored = ty_row_stored_text(s, at);
  if (!s->is_base || s->symbols == NULL) return stored.bytes;
  const uint64_t bytes = ty_symbols_length(s->symbols, stored);
  return bytes <= TY_TEXT_MAX ? bytes : 0;
}

ty_slice ty_row_text(const ty_segment *s, uint64_t at, ty_text_reader *r, bool *present) {
  *present = ty_row_has_text(s, at);
  const ty_slice stored = ty_row_stored_text(s, at);
  if (!s->is_base || s->symbols == NULL || stored.bytes == 0) return stored;
  r->text.bytes = 0;
  /* One more than allowed shows that a text is too long. */
  const uint64_t most = r->most > 0 && r->most < TY_TEXT_MAX ? r->most : TY_TEXT_MAX + 1;
  const bool good = ty_symbols_decode(s->symbols, stored, most, &r->text);
  if (good && r->text.bytes <= TY_TEXT_MAX) return (ty_slice){r->text.data, r->text.bytes};
  r->damaged |= !r->text.failed;
  return (ty_slice){NULL, 0};
}

ty_slice ty_row_terms(const ty_segment *s, uint64_t at) {
  TY_ASSERT(at < s->count);
  return s->is_base ? (ty_slice){NULL, 0} : s->payload[at].terms;
}

bool ty_row_has_terms(const ty_segment *s, uint64_t at) {
  TY_ASSERT(at < s->count);
  if (s->is_base) return (s->presence[at] & TY_HAS_TERMS) != 0;
  return !s->payload[at].has_text && s->payload[at].terms.bytes > 0;
}

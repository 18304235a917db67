#include "calls/having.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "calls/arguments.h"
#include "rows/checks.h"

/* The beginning that all texts share: it is sought first. */
static ty_slice shared_by(ty_strings texts) {
  ty_slice shared = ty_nth(texts.bytes, texts.ends, 0);
  for (uint64_t i = 1; i < texts.n; i++) {
    ty_slice other = ty_nth(texts.bytes, texts.ends, i);
    uint64_t same = 0;
    while (same < shared.bytes && same < other.bytes && shared.data[same] == other.data[same]) same++;
    shared.bytes = same;
  }
  return shared;
}

static bool begins(const uint8_t *at, const uint8_t *end, ty_slice text) {
  return text.bytes <= (uint64_t)(end - at) && memcmp(at, text.data, (size_t)text.bytes) == 0;
}

static bool holds(ty_slice meta, ty_slice shared, ty_strings texts) {
  const uint8_t *at = meta.data, *end = at + meta.bytes;
  for (; at < end; at++) {
    at = memmem(at, (size_t)(end - at), shared.data, (size_t)shared.bytes);
    if (at == NULL) return false;
    for (uint64_t i = 0; i < texts.n; i++)
      if (begins(at, end, ty_nth(texts.bytes, texts.ends, i))) return true;
  }
  return false;
}

static void look(ty_having *h, const ty_collection *c, const ty_filter *filter, ty_slice shared, ty_strings texts) {
  ty_unpack metas;
  ty_unpack_init(&metas);
  uint64_t block = UINT64_MAX; /* of the base, whose checksum was compared last */
  bool intact = true;
  for (uint64_t place = 0; place < ty_total_rows(c); place++) {
    ty_ref row = ty_ref_of(c, (ty_place)place);
    const ty_segment *s = row.segment;
    bool present;
    if (s->dead[row.at] || !ty_filter_allows(filter, s, row.at)) continue;
    if (!s->is_base || row.at / TY_PACKED_ROWS != block) {
      block = s->is_base ? row.at / TY_PACKED_ROWS : UINT64_MAX;
      intact = ty_meta_intact(s, row.at);
    }
    if (!intact) continue;
    ty_slice meta = ty_row_meta(s, row.at, &metas, &present);
    if (s->is_base) ty_touched(c->resident, TY_OF_BASE, meta.bytes, TY_RESIDENT_MOST);
    if (present && holds(meta, shared, texts)) h->bits[place / 8] |= (uint8_t)(1u << place % 8);
  }
}

ty_status ty_having_open(ty_having *h, const ty_collection *c, const ty_filter *filter, ty_strings texts,
                         ty_error *err) {
  ty_status status = ty_check_texts(texts.bytes, texts.ends, texts.n, err);
  if (status != TY_OK) return status;
  for (uint64_t i = 0; i < texts.n; i++)
    if (ty_nth(texts.bytes, texts.ends, i).bytes == 0)
      return ty_fail(err, TY_INVALID, "text %" PRIu64 " that metadata are to hold is empty", i);
  h->bits = calloc((size_t)(ty_total_rows(c) / 8 + 1), 1);
  if (h->bits == NULL) return ty_fail(err, TY_NO_MEMORY, "not enough memory for %" PRIu64 " rows", ty_total_rows(c));
  look(h, c, filter, shared_by(texts), texts);
  return TY_OK;
}

void ty_having_close(ty_having *h) { free(h->bits); }

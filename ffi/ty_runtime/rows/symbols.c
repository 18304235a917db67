#include "rows/symbols.h"

#include <string.h>

/* Coded bytes that are decoded before the room for more is taken. */
#define STEP 4096u

/* Whether a symbol comes before another one: by their bytes, a prefix first. */
static bool is_before(uint64_t a, uint32_t a_bytes, uint64_t b, uint32_t b_bytes) {
  const uint64_t x = __builtin_bswap64(a), y = __builtin_bswap64(b);
  return x != y ? x < y : a_bytes < b_bytes;
}

bool ty_symbols_read(ty_slice stored, ty_symbols *out) {
  ty_symbols_head *h = &out->head;
  memset(out, 0, sizeof *out);
  if (stored.bytes < sizeof *h) return false;
  memcpy(h, stored.data, sizeof *h);
  if (h->count < 1 || h->count > TY_SYMBOLS_MOST || h->reserved != 0 || stored.bytes - sizeof *h < h->count)
    return false;
  const uint8_t *lengths = stored.data + sizeof *h, *at = lengths + h->count, *end = stored.data + stored.bytes;
  for (uint32_t i = 0; i < h->count; i++) {
    const uint32_t bytes = lengths[i];
    if (bytes < 1 || bytes > TY_SYMBOL_BYTES || bytes > (uint64_t)(end - at)) return false;
    memcpy(&out->symbols[i], at, bytes);
    out->lengths[i] = (uint8_t)bytes;
    at += bytes;
    if (i > 0 && !is_before(out->symbols[i - 1], out->lengths[i - 1], out->symbols[i], bytes)) return false;
  }
  return at == end;
}

void ty_symbols_put(const ty_symbols *s, ty_buffer *out) {
  ty_buffer_append(out, &s->head, sizeof s->head);
  ty_buffer_append(out, s->lengths, s->head.count);
  for (uint32_t i = 0; i < s->head.count; i++) ty_buffer_append(out, &s->symbols[i], s->lengths[i]);
}

bool ty_symbols_decode(const ty_symbols *s, ty_slice coded, uint64_t most, ty_buffer *out) {
  const uint8_t *at = coded.data, *end = coded.bytes == 0 ? at : at + coded.bytes;
  const uint64_t from = out->bytes;
  while (at < end && out->bytes - from < most) {
    const uint64_t step = (uint64_t)(end - at) < STEP ? (uint64_t)(end - at) : STEP;
    const uint8_t *stop = at + step;
    uint8_t *to = ty_buffer_room(out, step * TY_SYMBOL_BYTES), *begin = to;
    if (to == NULL) return false;
    while (at < stop) {
      const uint8_t code = *at++, bytes = s->lengths[code];
      if (bytes > 0) {
        memcpy(to, &s->symbols[code], TY_SYMBOL_BYTES);
        to += bytes;
        continue;
      }
      if (code != TY_SYMBOL_ESCAPE || at == end) return false;
      *to++ = *at++;
    }
    out->bytes += (uint64_t)(to - begin);
  }
  return true;
}

uint64_t ty_symbols_length(const ty_symbols *s, ty_slice coded) {
  uint64_t bytes = 0;
  for (uint64_t i = 0; i < coded.bytes; i++) {
    const uint8_t code = coded.data[i];
    bytes += s->lengths[code];
    if (s->lengths[code] > 0) continue;
    if (code != TY_SYMBOL_ESCAPE || ++i == coded.bytes) return UINT64_MAX;
    bytes++;
  }
  return bytes;
}

/* Symbols of three bytes or more are found by a hash of their first three bytes, shorter ones in tables. */
#include <stdlib.h>
#include <string.h>

#include "rows/symbols.h"

#define SLOT_BITS 11u
#define SLOTS     (1u << SLOT_BITS)
#define LONG      3u /* bytes of a symbol that is found by hash */
/* Bytes of a text that are coded before the room for more is taken. */
#define STEP 4096u

typedef struct entry {
  uint64_t symbol, mask;
  uint32_t bytes, code;
} entry;

struct ty_symbol_coder {
  entry entries[TY_SYMBOLS_MOST]; /* by slot, longer ones first */
  uint8_t ends[SLOTS + 1];        /* of the entries of the slot before */
  uint8_t ones[256];              /* the code of a byte; TY_SYMBOL_ESCAPE: it has none */
  uint8_t twos[65536];            /* the code of two bytes */
};

static uint32_t slot_of(uint64_t word) { return (uint32_t)(word & 0xffffff) * 2654435761u >> (32 - SLOT_BITS); }

static void add_long(ty_symbol_coder *c, const ty_symbols *s) {
  uint32_t counts[SLOTS] = {0}, next[SLOTS], end = 0;
  for (uint32_t i = 0; i < s->head.count; i++)
    if (s->lengths[i] >= LONG) counts[slot_of(s->symbols[i])]++;
  for (uint32_t slot = 0; slot < SLOTS; slot++) {
    next[slot] = end;
    end += counts[slot];
    c->ends[slot + 1] = (uint8_t)end;
  }
  for (uint32_t bytes = TY_SYMBOL_BYTES; bytes >= LONG; bytes--) {
    for (uint32_t i = 0; i < s->head.count; i++) {
      if (s->lengths[i] != bytes) continue;
      c->entries[next[slot_of(s->symbols[i])]++] = (entry){s->symbols[i], UINT64_MAX >> (64 - 8 * bytes), bytes, i};
    }
  }
}

ty_symbol_coder *ty_symbol_coder_new(const ty_symbols *s) {
  ty_symbol_coder *c = malloc(sizeof *c);
  if (c == NULL) return NULL;
  memset(c->ones, TY_SYMBOL_ESCAPE, sizeof c->ones);
  memset(c->twos, TY_SYMBOL_ESCAPE, sizeof c->twos);
  c->ends[0] = 0;
  for (uint32_t i = 0; i < s->head.count; i++) {
    if (s->lengths[i] == 1) c->ones[s->symbols[i]] = (uint8_t)i;
    if (s->lengths[i] == 2) c->twos[s->symbols[i]] = (uint8_t)i;
  }
  add_long(c, s);
  return c;
}

static inline uint32_t next(const ty_symbol_coder *c, const uint8_t *at, uint64_t left, uint32_t *bytes) {
  uint64_t word = 0;
  if (left >= sizeof word) memcpy(&word, at, sizeof word);
  else memcpy(&word, at, (size_t)left);
  const uint32_t slot = slot_of(word);
  for (uint32_t i = c->ends[slot]; i < c->ends[slot + 1]; i++) {
    const entry *e = &c->entries[i];
    if (((word ^ e->symbol) & e->mask) != 0 || e->bytes > left) continue;
    *bytes = e->bytes;
    return 256 + e->code;
  }
  const uint8_t two = c->twos[word & 0xffff], one = c->ones[word & 0xff];
  if (two != TY_SYMBOL_ESCAPE && left >= 2) {
    *bytes = 2;
    return 256u + two;
  }
  *bytes = 1;
  return one != TY_SYMBOL_ESCAPE ? 256u + one : (uint32_t)(word & 0xff);
}

uint32_t ty_symbol_next(const ty_symbol_coder *c, const uint8_t *at, uint64_t left, uint32_t *bytes) {
  return next(c, at, left, bytes);
}

void ty_symbols_encode(const ty_symbol_coder *c, ty_slice text, ty_buffer *out) {
  uint64_t at = 0;
  while (at < text.bytes) {
    uint8_t *begin = ty_buffer_room(out, 2 * STEP), *to = begin;
    if (to == NULL) return;
    for (uint32_t n = 0; n < STEP && at < text.bytes; n++) {
      uint32_t bytes;
      const uint32_t symbol = next(c, text.data + at, text.bytes - at, &bytes);
      at += bytes;
      if (symbol < 256) *to++ = TY_SYMBOL_ESCAPE;
      *to++ = (uint8_t)symbol;
    }
    out->bytes += (uint64_t)(to - begin);
  }
}

/* Streams of bits, the lowest of a byte first, with the codes of the lexical index: Elias gamma and Rice (Witten,
 * Moffat and Bell, "Managing Gigabytes", 1999, ch. 3). Reads past the end yield zeros: readers check ty_bits_good once,
 * after a number of reads that does not depend on the stream. */
#pragma once

#include <string.h>
#include "os/numbers.h"

/* ---- Reading ---- */
typedef struct ty_bits {
  const uint8_t *data;
  uint64_t bytes;
  uint64_t at; /* in bits; beyond the end after a read there */
} ty_bits;

/* At this many zeros the number follows in binary, so that reading takes bounded time. */
#define TY_RICE_ESCAPE 24u
#define TY_GAMMA_MOST  40u

static inline bool ty_bits_good(const ty_bits *b) { return b->at <= b->bytes * 8; }

/* At least 57 bits. */
static inline uint64_t ty_bits_peek(const ty_bits *b) {
  uint64_t byte = b->at >> 3, v = 0;
  if (byte + sizeof v <= b->bytes) memcpy(&v, b->data + byte, sizeof v);
  else if (byte < b->bytes) memcpy(&v, b->data + byte, (size_t)(b->bytes - byte));
  return v >> (b->at & 7);
}

static inline uint64_t ty_bits_get(ty_bits *b, unsigned n) { /* n up to 48 */
  uint64_t v = ty_bits_peek(b) & (((uint64_t)1 << n) - 1);
  b->at += n;
  return v;
}

/* At least 1; 0: malformed. */
static inline uint64_t ty_bits_gamma(ty_bits *b) {
  uint64_t v = ty_bits_peek(b);
  unsigned zeros = v == 0 ? 64 : (unsigned)__builtin_ctzll(v);
  if (zeros > TY_GAMMA_MOST) {
    b->at = UINT64_MAX / 2;
    return 0;
  }
  b->at += zeros + 1;
  return (uint64_t)1 << zeros | ty_bits_get(b, zeros);
}

static inline uint64_t ty_bits_rice(ty_bits *b, unsigned k) { /* k up to 32 */
  uint64_t v = ty_bits_peek(b);
  unsigned zeros = v == 0 ? 64 : (unsigned)__builtin_ctzll(v);
  if (zeros >= TY_RICE_ESCAPE) {
    b->at += TY_RICE_ESCAPE;
    return ty_bits_get(b, 32);
  }
  b->at += zeros + 1;
  return (uint64_t)zeros << k | ty_bits_get(b, k);
}

/* ---- Writing; the caller's memory is large enough ---- */
typedef struct ty_bits_out {
  uint8_t *data;
  uint64_t bytes; /* whole ones so far */
  uint64_t held;
  unsigned count; /* bits held, below 8 between calls */
} ty_bits_out;

static inline void ty_bits_put(ty_bits_out *b, uint64_t value, unsigned n) { /* n up to 48 */
  b->held |= value << b->count;
  for (b->count += n; b->count >= 8; b->count -= 8) {
    b->data[b->bytes++] = (uint8_t)b->held;
    b->held >>= 8;
  }
}

static inline void ty_bits_put_gamma(ty_bits_out *b, uint64_t value) { /* 1 .. 2^40 */
  unsigned top = 63 - (unsigned)__builtin_clzll(value);
  ty_bits_put(b, (uint64_t)1 << top, top + 1);
  ty_bits_put(b, value & (((uint64_t)1 << top) - 1), top);
}

static inline void ty_bits_put_rice(ty_bits_out *b, uint32_t value, unsigned k) {
  uint64_t high = (uint64_t)value >> k;
  if (high >= TY_RICE_ESCAPE) {
    ty_bits_put(b, 0, TY_RICE_ESCAPE);
    ty_bits_put(b, value, 32);
    return;
  }
  ty_bits_put(b, (uint64_t)1 << high, (unsigned)high + 1);
  ty_bits_put(b, value & (((uint64_t)1 << k) - 1), k);
}

/* Fills the last byte up; returns the bytes in all. */
static inline uint64_t ty_bits_end(ty_bits_out *b) {
  if (b->count > 0) ty_bits_put(b, 0, 8 - b->count);
  return b->bytes;
}

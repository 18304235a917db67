/* The hot part of the scanner, compiled into each of its users: nine words in ten are plain ASCII, and a call through a
 * pointer would lose what is known of them here (their first bytes as numbers, that they are ASCII). */
#pragma once

#include <string.h>

#include "text/text.h"

static inline uint64_t scan_load64(const uint8_t *p) {
  uint64_t v;
  memcpy(&v, p, sizeof v);
  return v;
}

static inline uint64_t scan_load32(const uint8_t *p) {
  uint32_t v;
  memcpy(&v, p, sizeof v);
  return v;
}

static inline void scan_store64(uint8_t *p, uint64_t v) { memcpy(p, &v, sizeof v); }

/* The first sixteen bytes of a term, zeros after its end: no term contains a NUL, so that terms of at most sixteen
 * bytes with equal keys are equal. */
typedef struct term_key {
  uint64_t low, high;
} term_key;

static inline term_key term_key_of(const uint8_t *term, size_t n) {
  term_key key = {0, 0};
  if (n > 8) {
    key.low = scan_load64(term);
    key.high = n >= 16 ? scan_load64(term + 8) : scan_load64(term + n - 8) >> (8 * (16 - n));
  } else if (n == 8) {
    key.low = scan_load64(term);
  } else if (n >= 4) {
    key.low = scan_load32(term) | scan_load32(term + n - 4) >> (8 * (8 - n)) << 32;
  } else if (n) {
    key.low = term[0] | (uint64_t)term[n / 2] << (8 * (n / 2)) | (uint64_t)term[n - 1] << (8 * (n - 1));
  }
  return key;
}

typedef enum byte_kind {
  BYTE_SEPARATOR,
  BYTE_LETTER,
  BYTE_DIGIT,
  BYTE_UNDERSCORE, /* a separator before a word, part of it after its start */
  BYTE_BEYOND      /* not ASCII */
} byte_kind;

extern const uint8_t scan_byte_kind[256];

/* Scans the term at `at` that is not a plain word, or skips a separator; returns the offset after it. */
size_t scan_other(const uint8_t *text, size_t bytes, size_t at, term_fn fn, void *ctx);
/* The possessive 's after a word: its length in bytes, or 0. */
size_t scan_possessive(const uint8_t *text, size_t bytes, size_t at);

#define SCAN_EACH(byte) (0x0101010101010101ull * (byte))

/* Eight bytes of the text at `at`, zeros beyond its end. */
static inline uint64_t scan_eight(const uint8_t *text, size_t bytes, size_t at) {
  if (at + 8 <= bytes) return scan_load64(text + at);
  uint64_t v = 0;
  for (size_t i = bytes; i > at; i--) v = v << 8 | text[i - 1];
  return v;
}

/* A plain word: ASCII letters, in lower case but for the first or all in capitals, followed by a separator. It has no
 * pieces and needs no decoding. Writes its letters to `word` in lower case, zeros after them up to sixteen bytes;
 * returns their number, or 0 for a term that scan_other must scan. Eight letters at a time: the end of a loop over
 * single letters is mispredicted for most words (tokens of prose: 305 MB/s, 172 with that loop and a call through a
 * pointer). */
static inline size_t scan_plain(const uint8_t *text, size_t bytes, size_t at, uint8_t word[TERM_MAX]) {
  size_t n = 0;
  uint64_t capitals = 0, smalls = 0; /* bit 5 of each letter but the first */
  scan_store64(word + 8, 0);
  for (;;) {
    uint64_t eight = scan_eight(text, bytes, at + n), lower = eight | SCAN_EACH(0x20), low = lower & SCAN_EACH(0x7f);
    /* The top bit of each byte; no sum carries into the next one. */
    uint64_t letters = (low + SCAN_EACH(0x80 - 'a')) & ~(low + SCAN_EACH(0x80 - 'z' - 1)) & ~eight;
    uint64_t stop = ~letters & SCAN_EACH(0x80);
    uint64_t kept = ((stop & (0 - stop)) >> 7) - 1; /* all bytes before the first that is not a letter */
    uint64_t cased = kept & (n ? SCAN_EACH(0x20) : SCAN_EACH(0x20) - 0x20);
    capitals |= ~eight & cased;
    smalls |= eight & cased;
    scan_store64(word + n, lower & kept);
    if (stop) {
      n += (size_t)__builtin_ctzll(stop) / 8;
      break;
    }
    n += 8;
    if (n == TERM_KEEP) break;
  }
  if (capitals && (smalls || (text[at] & 0x20))) return 0;
  if (at + n < bytes && scan_byte_kind[text[at + n]] != BYTE_SEPARATOR) return 0;
  return n;
}

typedef void (*plain_fn)(void *ctx, const uint8_t *word, size_t bytes);

/* text_scan that calls `plain` for plain words, with sixteen bytes to read whatever their length. */
TEXT_INLINE void scan_text(const uint8_t *text, size_t bytes, plain_fn plain, term_fn fn, void *ctx) {
  for (size_t at = 0; at < bytes;) {
    uint8_t kind = scan_byte_kind[text[at]];
    if (kind == BYTE_LETTER) {
      uint8_t word[TERM_MAX];
      size_t n = scan_plain(text, bytes, at, word);
      if (n) {
        plain(ctx, word, n);
        at += n;
        if (at < bytes && text[at] == '\'') at += scan_possessive(text, bytes, at);
        continue;
      }
    } else if (kind == BYTE_SEPARATOR || kind == BYTE_UNDERSCORE) {
      at++;
      continue;
    }
    at = scan_other(text, bytes, at, fn, ctx);
  }
}

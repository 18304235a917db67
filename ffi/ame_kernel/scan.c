/* Terms of a text, in one pass. Nothing is looked at twice but one character ahead, and no term is longer than TERM_MAX:
 * a megabyte without a space costs what a megabyte of prose costs. */
#include "text.h"

#include <string.h>

/* A term as it grows. `hash` runs over every byte, kept or not. */
typedef struct term {
  uint8_t bytes[TERM_MAX];
  uint32_t length;
  int cut;
  uint64_t hash;
} term;

static void term_start(term *t) {
  t->length = 0;
  t->cut = 0;
  t->hash = 0xcbf29ce484222325ull; /* FNV-1a */
}

static void term_add(term *t, const uint8_t *bytes, int count) {
  for (int i = 0; i < count; i++) t->hash = (t->hash ^ bytes[i]) * 0x100000001b3ull;
  if (t->cut || t->length + (uint32_t)count > TERM_KEEP) {
    t->cut = 1;
    return;
  }
  for (int i = 0; i < count; i++) t->bytes[t->length++] = bytes[i];
}

static void term_emit(term *t, term_kind kind, term_fn fn, void *ctx) {
  if (t->cut) {
    uint32_t h = (uint32_t)(t->hash ^ (t->hash >> 32));
    for (int shift = 28; shift >= 0; shift -= 4)
      t->bytes[t->length++] = (uint8_t) "0123456789abcdef"[(h >> shift) & 15];
  }
  if (t->length) fn(ctx, kind, t->bytes, t->length);
}

/* A one-letter piece (the s of URLs, the x of x86) says nothing beside the whole; a digit does. */
static void piece_emit(term *t, term_fn fn, void *ctx) {
  if (t->length != 1 || t->bytes[0] <= '9') term_emit(t, TERM_PIECE, fn, ctx);
}

/* The possessive 's after a word: its length in bytes, or 0. */
static size_t possessive(const uint8_t *text, size_t bytes, size_t at) {
  size_t p = at;
  if (p >= bytes) return 0;
  uint32_t c = text_next(text, bytes, &p);
  if (c != '\'' && c != 0x2019) return 0;
  if (p >= bytes || (text[p] | 0x20) != 's') return 0;
  p++;
  size_t end = p;
  if (p < bytes) {
    char_kind k = text_kind(text_next(text, bytes, &p));
    if (k == CHAR_LETTER || k == CHAR_DIGIT) return 0;
  }
  return end - at;
}

/* A word starts at `at`; returns where it ends. A boundary between pieces is: an underscore, a step between letters and
 * digits, lower then upper case (fooBar), and the last of several capitals before a small letter (HTTPServer). */
static size_t scan_word(const uint8_t *text, size_t bytes, size_t at, term_fn fn, void *ctx) {
  term whole, piece;
  term_start(&whole);
  term_start(&piece);
  int pieces = 0, broken = 0;
  char_kind before = CHAR_SEPARATOR;
  int before_upper = 0;
  while (at < bytes) {
    size_t next = at;
    uint32_t c = text_next(text, bytes, &next);
    char_kind kind = text_kind(c);
    if (kind == CHAR_IGNORED) {
      at = next;
      continue;
    }
    if (c == '_') {
      broken = 1;
      at = next;
      continue;
    }
    if (kind != CHAR_LETTER && kind != CHAR_DIGIT) break;
    int upper = text_is_upper(c);
    if (before != CHAR_SEPARATOR) {
      int boundary = broken || kind != before || (upper && !before_upper && kind == CHAR_LETTER);
      if (!boundary && upper && before_upper && next < bytes) {
        size_t after = next;
        uint32_t n = text_next(text, bytes, &after);
        boundary = text_kind(n) == CHAR_LETTER && !text_is_upper(n);
      }
      if (boundary) {
        piece_emit(&piece, fn, ctx);
        term_start(&piece);
        pieces++;
      }
    }
    broken = 0;
    before = kind;
    before_upper = upper;
    uint32_t folded[2];
    int count = text_fold(c, folded);
    for (int i = 0; i < count; i++) {
      uint8_t encoded[4];
      int size = text_encode(folded[i], encoded);
      term_add(&whole, encoded, size);
      term_add(&piece, encoded, size);
    }
    at = next;
  }
  if (pieces) {
    piece_emit(&piece, fn, ctx);
    term_emit(&whole, TERM_WHOLE, fn, ctx);
  } else {
    term_emit(&whole, TERM_WORD, fn, ctx);
  }
  return at + possessive(text, bytes, at);
}

/* Nine words in ten are ASCII letters with at most a capital first, or all capitals, and nothing that could continue them
 * after: those need no pieces and no decoding. Returns where the word ends, or `at` for what scan_word has to see. */
static size_t scan_plain(const uint8_t *text, size_t bytes, size_t at, term_fn fn, void *ctx) {
  uint8_t word[TERM_KEEP];
  size_t n = 0, capitals = 0;
  while (at + n < bytes) {
    uint8_t b = text[at + n], lower = b | 0x20;
    if ((uint8_t)(lower - 'a') >= 26) {
      if (b >= 0x80 || b == '_' || (uint8_t)(b - '0') < 10) return at;
      break;
    }
    if (n == TERM_KEEP) return at;
    capitals += b != lower;
    word[n++] = lower;
  }
  if (!n || (capitals && capitals != n && (capitals > 1 || text[at] == word[0]))) return at;
  fn(ctx, TERM_WORD, word, n);
  return at + n + (text[at + n < bytes ? at + n : at] == '\'' ? possessive(text, bytes, at + n) : 0);
}

/* A run of a script without spaces: every character and every two neighbours. */
static size_t scan_unspaced(const uint8_t *text, size_t bytes, size_t at, term_fn fn, void *ctx) {
  uint8_t pair[8]; /* the last character, then the new one */
  int last = 0;
  size_t run = 0;
  while (at < bytes) {
    size_t next = at;
    uint32_t c = text_next(text, bytes, &next);
    char_kind kind = text_kind(c);
    if (kind != CHAR_IGNORED && kind != CHAR_UNSPACED) break;
    at = next;
    if (kind == CHAR_IGNORED) continue;
    uint32_t folded[2];
    text_fold(c, folded);
    int size = text_encode(folded[0], pair + last);
    if (run) {
      if (run == 1) fn(ctx, TERM_CHAR, pair, (size_t)last);
      fn(ctx, TERM_PAIR, pair, (size_t)(last + size));
      fn(ctx, TERM_CHAR, pair + last, (size_t)size);
      memmove(pair, pair + last, (size_t)size);
    }
    last = size;
    run++;
  }
  if (run == 1) fn(ctx, TERM_LONE, pair, (size_t)last);
  return at;
}

void text_scan(const uint8_t *text, size_t bytes, term_fn fn, void *ctx) {
  for (size_t at = 0; at < bytes;) {
    size_t next = at;
    uint32_t c = text_next(text, bytes, &next);
    char_kind kind = text_kind(c);
    if (kind == CHAR_LETTER || kind == CHAR_DIGIT) {
      size_t end = c < 0x80 ? scan_plain(text, bytes, at, fn, ctx) : at;
      at = end > at ? end : scan_word(text, bytes, at, fn, ctx);
    } else if (kind == CHAR_UNSPACED) {
      at = scan_unspaced(text, bytes, at, fn, ctx);
    } else {
      if (kind == CHAR_SYMBOL) {
        uint8_t encoded[4];
        fn(ctx, TERM_SYMBOL, encoded, (size_t)text_encode(c, encoded));
      }
      at = next;
    }
  }
}

/* Terms of a text, in one pass: those that scan.h does not handle inline. Only the letters of a word that turns out not
 * to be plain, and at most two characters ahead, are read twice, and no term is longer than TERM_MAX: a megabyte
 * without a space costs as much as a megabyte of prose. */
#include "text/scan.h"

#include "text/compose.h"
#include "text/tones.h"

#define S   BYTE_SEPARATOR
#define L   BYTE_LETTER
#define D   BYTE_DIGIT
#define U   BYTE_UNDERSCORE
#define B   BYTE_BEYOND
#define B16 B, B, B, B, B, B, B, B, B, B, B, B, B, B, B, B

/* clang-format off */
const uint8_t scan_byte_kind[256] = {
    S, S, S, S, S, S, S, S, S, S, S, S, S, S, S, S, S, S, S, S, S, S, S, S, S, S, S, S, S, S, S, S, /* controls */
    S, S, S, S, S, S, S, S, S, S, S, S, S, S, S, S, D, D, D, D, D, D, D, D, D, D, S, S, S, S, S, S, /* space to ? */
    S, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, S, S, S, S, U, /* @ to _ */
    S, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, S, S, S, S, S, /* ` to DEL */
    B16, B16, B16, B16, B16, B16, B16, B16,
};
/* clang-format on */

/* text_next with the common lengths inline. */
static inline uint32_t next_of(const uint8_t *text, size_t bytes, size_t *at) {
  const uint8_t *p = text + *at;
  uint32_t b = p[0];
  if (b < 0x80) {
    *at += 1;
    return b;
  }
  if (b >= 0xc2 && b <= 0xdf && *at + 1 < bytes && (p[1] & 0xc0) == 0x80) {
    *at += 2;
    return (b & 0x1f) << 6 | (p[1] & 0x3fu);
  }
  if (b > 0xe0 && b <= 0xef && b != 0xed && *at + 2 < bytes && (p[1] & 0xc0) == 0x80 && (p[2] & 0xc0) == 0x80) {
    *at += 3;
    return (b & 0x0f) << 12 | (p[1] & 0x3fu) << 6 | (p[2] & 0x3fu);
  }
  return text_next(text, bytes, at);
}

/* A term as it grows. `hash` covers all bytes, kept or not; it is started with the first byte that is not kept. */
typedef struct term {
  uint8_t bytes[TERM_MAX];
  uint32_t length;
  int cut;
  uint64_t hash;
} term;

static inline void term_start(term *t) {
  t->length = 0;
  t->cut = 0;
}

static void term_hash(term *t, const uint8_t *bytes, uint32_t count) { /* FNV-1a */
  for (uint32_t i = 0; i < count; i++) t->hash = (t->hash ^ bytes[i]) * 0x100000001b3ull;
}

static void term_add_cut(term *t, const uint8_t *bytes, uint32_t count) {
  if (!t->cut) {
    t->cut = 1;
    t->hash = 0xcbf29ce484222325ull;
    term_hash(t, t->bytes, t->length);
  }
  term_hash(t, bytes, count);
}

static inline void term_add(term *t, const uint8_t *bytes, uint32_t count) {
  if (t->cut || t->length + count > TERM_KEEP) {
    term_add_cut(t, bytes, count);
    return;
  }
  for (uint32_t i = 0; i < count; i++) t->bytes[t->length + i] = bytes[i];
  t->length += count;
}

static void term_emit(term *t, term_kind kind, term_fn fn, void *ctx) {
  if (t->cut) {
    uint32_t h = (uint32_t)(t->hash ^ (t->hash >> 32));
    for (int shift = 28; shift >= 0; shift -= 4) t->bytes[t->length++] = (uint8_t)"0123456789abcdef"[(h >> shift) & 15];
  }
  if (t->length) fn(ctx, kind, t->bytes, t->length);
}

/* A one-letter piece (the s of URLs, the x of x86) does not help a search beside the whole; a digit does. */
static void piece_emit(term *t, term_fn fn, void *ctx) {
  if (t->length != 1 || t->bytes[0] <= '9') term_emit(t, TERM_PIECE, fn, ctx);
}

size_t scan_possessive(const uint8_t *text, size_t bytes, size_t at) {
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

static inline int starts_small(const uint8_t *text, size_t bytes, size_t at) {
  if (at >= bytes) return 0;
  if (text[at] < 0x80) return (uint8_t)(text[at] - 'a') < 26;
  uint32_t c = next_of(text, bytes, &at);
  return text_kind(c) == CHAR_LETTER && !text_is_upper(c);
}

/* Small letters of Cyrillic and Greek that fold to themselves: nine letters in ten of such texts (Russian: 178 MB/s of
 * tokens, 96 without). */
static inline int is_own_fold(uint32_t c) { return (c - 0x430 < 32u && c != 0x439) || (c - 0x3b1 < 25u && c != 0x3c2); }

static inline void term_add_folded(term *t, uint32_t c) {
  uint8_t encoded[4];
  term_add(t, encoded, (uint32_t)text_encode(c, encoded));
}

/* Emits the word from `at` to `end` with its tones, then `bare`, where it is Vietnamese; returns whether it is. */
static int emit_toned(const uint8_t *text, size_t at, size_t end, term *bare, term_fn fn, void *ctx) {
  term toned;
  term_start(&toned);
  int own = 0;
  while (at < end) {
    int is_letter;
    uint32_t c = tone_next(text, end, &at, &is_letter), folded[TEXT_FOLD_MOST] = {c};
    own |= tone_is_own(c);
    int count = is_letter ? 1 : text_kind(c) == CHAR_IGNORED ? 0 : text_fold(c, folded);
    for (int i = 0; i < count; i++) term_add_folded(&toned, folded[i]);
  }
  if (!own) return 0;
  term_emit(&toned, TERM_TONED, fn, ctx);
  term_emit(bare, TERM_BARE, fn, ctx);
  return 1;
}

static void piece_of(const uint8_t *piece, size_t length, term_fn fn, void *ctx) {
  if (length != 1 || piece[0] <= '9') fn(ctx, TERM_PIECE, piece, length);
}

/* scan_word for ASCII and at most TERM_KEEP bytes, which nine identifiers in ten are. Returns 0 for other words. */
static size_t scan_ascii(const uint8_t *text, size_t bytes, size_t at, term_fn fn, void *ctx) {
  uint8_t whole[TERM_MAX];
  size_t most = bytes - at < TERM_KEEP ? bytes - at : TERM_KEEP, end = 0, length = 0, piece = 0;
  int pieces = 0, broken = 0, before_upper = 0;
  byte_kind before = BYTE_SEPARATOR;
  while (end < most && scan_byte_kind[text[at + end]] - BYTE_LETTER < 3u) end++;
  if (at + end < bytes && scan_byte_kind[text[at + end]] != BYTE_SEPARATOR) return 0;
  for (size_t i = at; i < at + end; i++) {
    const byte_kind kind = (byte_kind)scan_byte_kind[text[i]];
    if (kind == BYTE_UNDERSCORE) {
      broken = 1;
      continue;
    }
    const int upper = text[i] - 'A' < 26u;
    int boundary = broken || kind != before || (upper && !before_upper);
    if (!boundary && upper) boundary = i + 1 < at + end && text[i + 1] - 'a' < 26u;
    if (boundary && length > 0) {
      piece_of(whole + piece, length - piece, fn, ctx);
      piece = length;
      pieces++;
    }
    broken = 0;
    before = kind;
    before_upper = upper;
    whole[length++] = (uint8_t)(upper ? text[i] | 0x20 : text[i]);
  }
  if (pieces) piece_of(whole + piece, length - piece, fn, ctx);
  fn(ctx, pieces ? TERM_WHOLE : TERM_WORD, whole, length);
  return at + end + scan_possessive(text, bytes, at + end);
}

/* Scans the word at `at`; returns the offset of its end. Boundaries between pieces: an underscore, a change between
 * letters and digits, lower then upper case (fooBar), and the last of several capitals before a small letter
 * (HTTPServer). */
static size_t scan_word(const uint8_t *text, size_t bytes, size_t at, term_fn fn, void *ctx) {
  const size_t after = scan_ascii(text, bytes, at, fn, ctx);
  if (after) return after;
  term whole, piece;
  term_start(&whole);
  term_start(&piece);
  int pieces = 0, broken = 0, toned = 0;
  size_t start = at;
  char_kind before = CHAR_SEPARATOR;
  int before_upper = 0;
  while (at < bytes) {
    size_t next = at;
    uint32_t c = next_of(text, bytes, &next);
    int own = is_own_fold(c);
    char_kind kind = c < 0x80 ? (char_kind)scan_byte_kind[c] : own ? CHAR_LETTER : text_kind(c);
    if (kind != CHAR_LETTER && kind != CHAR_DIGIT) {
      if (c == '_') {
        broken = 1;
      } else if (c < 0x80 || kind != CHAR_IGNORED) {
        break;
      }
      toned |= tone_is_mark(c);
      at = next;
      continue;
    }
    int upper = c < 0x80 ? c - 'A' < 26u : !own && text_is_upper(c);
    if (before != CHAR_SEPARATOR) {
      int boundary = broken || kind != before || (upper && !before_upper && kind == CHAR_LETTER);
      if (!boundary && upper && before_upper) boundary = starts_small(text, bytes, next);
      if (boundary) {
        piece_emit(&piece, fn, ctx);
        term_start(&piece);
        pieces++;
      }
    }
    broken = 0;
    before = kind;
    before_upper = upper;
    if (c < 0x80) {
      uint8_t folded = (uint8_t)(upper ? c | 0x20 : c);
      term_add(&whole, &folded, 1);
      term_add(&piece, &folded, 1);
    } else if (own) {
      term_add(&whole, text + at, 2);
      term_add(&piece, text + at, 2);
    } else {
      uint32_t folded[TEXT_FOLD_MOST];
      int count = text_fold(c, folded);
      toned |= tone_is_own(c);
      for (int i = 0; i < count; i++) {
        term_add_folded(&whole, folded[i]);
        term_add_folded(&piece, folded[i]);
      }
    }
    at = next;
  }
  if (pieces) {
    piece_emit(&piece, fn, ctx);
    term_emit(&whole, TERM_WHOLE, fn, ctx);
  } else if (!toned || !emit_toned(text, start, at, &whole, fn, ctx)) {
    term_emit(&whole, TERM_WORD, fn, ctx);
  }
  return at + scan_possessive(text, bytes, at);
}

/* A run of a script without spaces: every character and every two neighbours. */
static size_t scan_unspaced(const uint8_t *text, size_t bytes, size_t at, term_fn fn, void *ctx) {
  uint8_t pair[8]; /* the last character, then the new one */
  int last = 0;
  size_t run = 0;
  while (at < bytes) {
    size_t next = at;
    uint32_t c = next_of(text, bytes, &next);
    char_kind kind = text_kind(c);
    if (kind != CHAR_IGNORED && kind != CHAR_UNSPACED) break;
    at = next;
    if (kind == CHAR_IGNORED) continue;
    uint32_t folded[TEXT_FOLD_MOST] = {c};
    int count = 1;
    if (c < 0x4e00 || c > 0x9fff) { /* Han folds to itself */
      count = text_fold(c, folded);
      if (next < bytes && text[next] >= 0xe1 && count == 1) folded[0] = compose(folded[0], text, bytes, &at);
    }
    for (int i = 0; i < count; i++) {
      int size = text_encode(folded[i], pair + last);
      if (run) {
        if (run == 1) fn(ctx, TERM_CHAR, pair, (size_t)last);
        fn(ctx, TERM_PAIR, pair, (size_t)(last + size));
        fn(ctx, TERM_CHAR, pair + last, (size_t)size);
        memmove(pair, pair + last, (size_t)size);
      }
      last = size;
      run++;
    }
  }
  if (run == 1) fn(ctx, TERM_LONE, pair, (size_t)last);
  return at;
}

size_t scan_other(const uint8_t *text, size_t bytes, size_t at, term_fn fn, void *ctx) {
  size_t next = at;
  uint32_t c = next_of(text, bytes, &next);
  char_kind kind = text_kind(c);
  if (kind == CHAR_LETTER || kind == CHAR_DIGIT) return scan_word(text, bytes, at, fn, ctx);
  if (kind == CHAR_UNSPACED) return scan_unspaced(text, bytes, at, fn, ctx);
  if (kind == CHAR_SYMBOL) {
    uint8_t encoded[4];
    fn(ctx, TERM_SYMBOL, encoded, (size_t)text_encode(c, encoded));
  }
  return next;
}

typedef struct sink {
  term_fn fn;
  void *ctx;
} sink;

static void take_plain(void *ctx, const uint8_t *word, size_t bytes) {
  const sink *s = ctx;
  s->fn(s->ctx, TERM_WORD, word, bytes);
}

static void take_other(void *ctx, term_kind kind, const uint8_t *term, size_t bytes) {
  const sink *s = ctx;
  s->fn(s->ctx, kind, term, bytes);
}

void text_scan(const uint8_t *text, size_t bytes, term_fn fn, void *ctx) {
  sink s = {fn, ctx};
  scan_text(text, bytes, take_plain, take_other, &s);
}

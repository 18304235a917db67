/* Tokens with the words that they are made of, and where these are written. */
#include "text/scan.h"

typedef struct sink {
  ame_word_fn fn;
  void *ctx;
  size_t from, to;
  uint32_t stopped;
} sink;

static void take(void *ctx, term_kind kind, const uint8_t *term, size_t bytes) {
  sink *s = ctx;
  uint8_t stem[TERM_MAX];
  size_t stemmed = bytes;
  if (s->stopped) return;
  memcpy(stem, term, bytes);
  if (text_is_stemmed(kind)) stemmed = text_stem(stem, bytes);
  uint32_t part = kind == TERM_PIECE || kind == TERM_CHAR || kind == TERM_PAIR || kind == TERM_BARE;
  ame_word w = {stem,
                stemmed,
                term,
                bytes,
                s->from,
                s->to,
                text_term_hash(stem, stemmed),
                part,
                kind == TERM_BARE ? AME_FORM_BARE : AME_FORM_OWN};
  s->stopped = s->fn(s->ctx, &w);
}

/* Tokens are passed on while their word is scanned, before its end is known: the scan is run twice for the rare word
 * that is not plain, first for its end. */
static void ignore(void *ctx, term_kind kind, const uint8_t *term, size_t bytes) {
  (void)ctx, (void)kind, (void)term, (void)bytes;
}

/* The end of a word without the possessive that scan_other passes over. */
static size_t written_end(const uint8_t *text, size_t from, size_t to) {
  size_t at = from;
  while (at < to) {
    size_t next = at;
    uint32_t c = text_next(text, to, &next);
    if (c == '\'' || c == 0x2019) return at;
    at = next;
  }
  return to;
}

void kernel_token_words(const uint8_t *text, size_t bytes, ame_word_fn fn, void *ctx) {
  sink s = {fn, ctx, 0, 0, 0};
  for (size_t at = 0; at < bytes && !s.stopped;) {
    uint8_t kind = scan_byte_kind[text[at]];
    if (kind == BYTE_SEPARATOR || kind == BYTE_UNDERSCORE) {
      at++;
      continue;
    }
    uint8_t word[TERM_MAX];
    size_t n = kind == BYTE_LETTER ? scan_plain(text, bytes, at, word) : 0;
    s.from = at;
    if (n) {
      s.to = at += n;
      take(&s, TERM_WORD, word, n);
      at += scan_possessive(text, bytes, at);
      continue;
    }
    at = scan_other(text, bytes, s.from, ignore, NULL);
    s.to = written_end(text, s.from, at);
    scan_other(text, bytes, s.from, take, &s);
  }
}

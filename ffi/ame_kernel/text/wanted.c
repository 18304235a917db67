/* Tokens of some terms only. The first two bytes of a word are those of its term, unless the term is shorter than three
 * bytes or the word is of another script. So most words are left out before they are stemmed and hashed, which takes
 * two thirds of a token's time. */
#include "text/scan.h"

/* A stem of this many bytes has the first two of its word. In a shorter one the stemmer may have changed or removed the
 * second: ays is ai, oing is o. */
#define STEM_LEAST 3u

static uint32_t low(uint8_t byte) { return byte & 31u; }

void kernel_want_term(ame_wanted *wanted, const uint8_t *term, size_t bytes) {
  if (bytes == 0) return;
  wanted->seconds[low(term[0])] |= bytes < STEM_LEAST ? UINT32_MAX : 1u << low(term[1]);
}

typedef struct wanted_sink {
  const ame_wanted *wanted;
  ame_token_hash_fn fn;
  void *ctx;
  size_t tokens;
} wanted_sink;

/* The stemmer may remove the beginning of a word in another script, so no word that begins with a byte from 0x80 on is
 * left out. */
static int may_be_wanted(const wanted_sink *s, uint8_t first, uint8_t second) {
  return first >= 0x80 || (s->wanted->seconds[low(first)] >> low(second) & 1);
}

static void take_stemmed(const wanted_sink *s, const uint8_t *term, size_t bytes) {
  uint8_t stem[TERM_MAX];
  memcpy(stem, term, bytes);
  s->fn(s->ctx, text_term_hash(stem, text_stem(stem, bytes)));
}

static void take_plain(void *ctx, const uint8_t *word, size_t bytes) {
  wanted_sink *s = ctx;
  s->tokens++;
  if (may_be_wanted(s, word[0], word[1])) take_stemmed(s, word, bytes);
}

static void take_other(void *ctx, term_kind kind, const uint8_t *term, size_t bytes) {
  wanted_sink *s = ctx;
  s->tokens++;
  if (!may_be_wanted(s, term[0], bytes > 1 ? term[1] : 0)) return;
  if (text_is_stemmed(kind)) take_stemmed(s, term, bytes);
  else s->fn(s->ctx, text_term_hash(term, bytes));
}

size_t kernel_wanted_hashes(const ame_wanted *wanted, const uint8_t *text, size_t bytes, ame_token_hash_fn fn,
                            void *ctx) {
  wanted_sink s = {.wanted = wanted, .fn = fn, .ctx = ctx};
  scan_text(text, bytes, take_plain, take_other, &s);
  return s.tokens;
}

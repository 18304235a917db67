/* Tokens of some terms only. A word's first two bytes are those of its term, so that most words are left out before
 * they are stemmed and hashed, which takes two thirds of a token's time. */
#include "text/scan.h"

/* A stem of this many bytes has the first two of its word. In a shorter one the stemmer may have changed or removed the
 * second: ays is ai, oing is o. */
#define STEM_LEAST 3u

static uint32_t low(uint8_t byte) { return byte & 31u; }

void kernel_token_starts(ame_starts *starts, const uint8_t *term, size_t bytes) {
  if (bytes == 0) return;
  starts->rows[low(term[0])] |= bytes < STEM_LEAST ? UINT32_MAX : 1u << low(term[1]);
}

typedef struct some_sink {
  const ame_starts *starts;
  ame_token_hash_fn fn;
  void *ctx;
  size_t tokens;
} some_sink;

/* Stems of words in other scripts may begin within the word: all of those are looked at. */
static int may_be(const some_sink *s, uint8_t first, uint8_t second) {
  return first >= 0x80 || (s->starts->rows[low(first)] >> low(second) & 1);
}

static void take_stemmed(const some_sink *s, const uint8_t *term, size_t bytes) {
  uint8_t stem[TERM_MAX];
  memcpy(stem, term, bytes);
  s->fn(s->ctx, text_term_hash(stem, text_stem(stem, bytes)));
}

static void take_plain(void *ctx, const uint8_t *word, size_t bytes) {
  some_sink *s = ctx;
  s->tokens++;
  if (may_be(s, word[0], word[1])) take_stemmed(s, word, bytes);
}

static void take_other(void *ctx, term_kind kind, const uint8_t *term, size_t bytes) {
  some_sink *s = ctx;
  s->tokens++;
  if (!may_be(s, term[0], bytes > 1 ? term[1] : 0)) return;
  if (text_is_stemmed(kind)) take_stemmed(s, term, bytes);
  else s->fn(s->ctx, text_term_hash(term, bytes));
}

size_t kernel_token_hashes_of(const ame_starts *starts, const uint8_t *text, size_t bytes, ame_token_hash_fn fn,
                              void *ctx) {
  some_sink s = {.starts = starts, .fn = fn, .ctx = ctx};
  scan_text(text, bytes, take_plain, take_other, &s);
  return s.tokens;
}

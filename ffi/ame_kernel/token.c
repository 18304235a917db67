/* Tokens for the lexical index. The terms and their hash are stored on disk: a change of either is a change of format. Stop
 * words are tokens like others; what they are worth is for the idf to say. */
#include "text.h"

#include <string.h>

/* FNV-1a of the bytes, then the finaliser of MurmurHash3, which FNV needs because its high bits mix late. */
static uint32_t term_hash(const uint8_t *term, size_t bytes) {
  uint32_t h = 2166136261u;
  for (size_t i = 0; i < bytes; i++) h = (h ^ term[i]) * 16777619u;
  h ^= h >> 16;
  h *= 0x85ebca6bu;
  h ^= h >> 13;
  h *= 0xc2b2ae35u;
  return h ^ (h >> 16);
}

typedef struct sink {
  ame_token_fn fn;
  void *ctx;
} sink;

static void take(void *ctx, term_kind kind, const uint8_t *term, size_t bytes) {
  const sink *s = ctx;
  if (kind == TERM_CHAR) return; /* pairs say it better */
  uint8_t stem[TERM_MAX];
  memcpy(stem, term, bytes);
  if (kind == TERM_WORD || kind == TERM_PIECE || kind == TERM_WHOLE) bytes = text_stem(stem, bytes);
  s->fn(s->ctx, term_hash(stem, bytes), stem, bytes);
}

void ame_tokenize(const uint8_t *text, size_t bytes, ame_token_fn fn, void *ctx) {
  sink s = {fn, ctx};
  text_scan(text, bytes, take, &s);
}

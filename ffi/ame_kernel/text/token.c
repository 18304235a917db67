/* Tokens for the lexical index. The terms and their hash are stored on disk: a change of either is a change of format,
 * and of TOKEN_VERSION. Stop words are tokens like others; the idf weighs them. Characters of an unspaced run are
 * tokens beside its pairs, so that a query of one character finds them. */
#include "text/scan.h"

#define TOKEN_VERSION 3u

uint32_t kernel_token_version(void) { return TOKEN_VERSION; }

/* FNV-1a of the bytes, then the finaliser of MurmurHash3, which FNV needs because its high bits mix late. */
uint32_t text_term_hash(const uint8_t *term, size_t bytes) {
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
  uint8_t stem[TERM_MAX];
  memcpy(stem, term, bytes);
  if (text_is_stemmed(kind)) bytes = text_stem(stem, bytes);
  s->fn(s->ctx, text_term_hash(stem, bytes), kind == TERM_BARE ? AME_FORM_BARE : AME_FORM_OWN, stem, bytes);
}

void ame_tokenize(const uint8_t *text, size_t bytes, ame_token_fn fn, void *ctx) {
  sink s = {fn, ctx};
  text_scan(text, bytes, take, &s);
}

/* Hashes only, with a cache of words: stemming and hashing are two thirds of a token's cost, and nine words in ten are
 * in the cache. */
typedef struct hash_sink {
  ame_token_cache *cache;
  ame_token_hash_fn fn;
  void *ctx;
} hash_sink;

TEXT_INLINE void take_stemmed(const hash_sink *s, const uint8_t *term, size_t bytes, term_key key) {
  ame_token_slot *slot = NULL;
  if (s->cache != NULL && bytes <= 16) {
    uint64_t mixed = (key.low ^ (key.high * 0x9e3779b97f4a7c15ull) ^ bytes) * 0xd6e8feb86659fd93ull;
    slot = &s->cache->slots[mixed >> (64 - AME_TOKEN_CACHE_BITS)];
    if (slot->low == key.low && slot->high == key.high && slot->bytes == bytes) {
      s->fn(s->ctx, slot->hash);
      return;
    }
    slot->low = key.low;
    slot->high = key.high;
    slot->bytes = (uint32_t)bytes;
  }
  uint8_t stem[TERM_MAX];
  memcpy(stem, term, bytes);
  uint32_t hash = text_term_hash(stem, text_stem(stem, bytes));
  if (slot != NULL) slot->hash = hash;
  s->fn(s->ctx, hash);
}

static void take_plain(void *ctx, const uint8_t *word, size_t bytes) {
  take_stemmed(ctx, word, bytes, (term_key){scan_load64(word), scan_load64(word + 8)});
}

static void take_hash(void *ctx, term_kind kind, const uint8_t *term, size_t bytes) {
  const hash_sink *s = ctx;
  if (text_is_stemmed(kind)) {
    take_stemmed(s, term, bytes, term_key_of(term, bytes));
  } else {
    s->fn(s->ctx, text_term_hash(term, bytes));
  }
}

void kernel_token_hashes(ame_token_cache *cache, const uint8_t *text, size_t bytes, ame_token_hash_fn fn, void *ctx) {
  hash_sink s = {cache, fn, ctx};
  scan_text(text, bytes, take_plain, take_hash, &s);
}

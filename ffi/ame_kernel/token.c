/* Tokens for the lexical index. The terms and their hash are stored on disk: a change of either is a change of format, and of
 * TOKEN_VERSION. Stop words are tokens like others; what they are worth is for the idf to say. */
#include "text.h"

#include <string.h>

#include "kernel.h"

#define TOKEN_VERSION 2u

uint32_t kernel_token_version(void) { return TOKEN_VERSION; }

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

static int is_stemmed(term_kind kind) { return kind == TERM_WORD || kind == TERM_PIECE || kind == TERM_WHOLE; }

typedef struct sink {
  ame_token_fn fn;
  void *ctx;
} sink;

static void take(void *ctx, term_kind kind, const uint8_t *term, size_t bytes) {
  const sink *s = ctx;
  if (kind == TERM_CHAR) return; /* pairs say it better */
  uint8_t stem[TERM_MAX];
  memcpy(stem, term, bytes);
  if (is_stemmed(kind)) bytes = text_stem(stem, bytes);
  s->fn(s->ctx, term_hash(stem, bytes), stem, bytes);
}

void ame_tokenize(const uint8_t *text, size_t bytes, ame_token_fn fn, void *ctx) {
  sink s = {fn, ctx};
  text_scan(text, bytes, take, &s);
}

/* ---- Hashes only, with a memory for words ---------------------------------------------------------------------------
 * Stemming and hashing are two thirds of a token's cost, and nine words in ten were seen a moment ago. */
typedef struct hash_sink {
  ame_token_cache *cache;
  ame_token_hash_fn fn;
  void *ctx;
} hash_sink;

static inline uint64_t load64(const uint8_t *p) {
  uint64_t v;
  memcpy(&v, p, sizeof v);
  return v;
}

static inline uint32_t load32(const uint8_t *p) {
  uint32_t v;
  memcpy(&v, p, sizeof v);
  return v;
}

static void take_hash(void *ctx, term_kind kind, const uint8_t *term, size_t bytes) {
  const hash_sink *s = ctx;
  if (kind == TERM_CHAR) return;
  if (!is_stemmed(kind)) {
    s->fn(s->ctx, term_hash(term, bytes));
    return;
  }
  ame_token_slot *slot = NULL;
  if (s->cache != NULL && bytes <= 16) {
    /* With the length, two loads that may overlap are the word. */
    uint64_t low, high = 0;
    if (bytes >= 8) {
      low = load64(term);
      high = load64(term + bytes - 8);
    } else if (bytes >= 4) {
      low = load32(term) | (uint64_t)load32(term + bytes - 4) << 32;
    } else {
      low = term[0] | (uint64_t)term[bytes / 2] << 8 | (uint64_t)term[bytes - 1] << 16;
    }
    uint64_t mixed = (low ^ (high * 0x9e3779b97f4a7c15ull) ^ bytes) * 0xd6e8feb86659fd93ull;
    slot = &s->cache->slots[mixed >> (64 - AME_TOKEN_CACHE_BITS)];
    if (slot->low == low && slot->high == high && slot->bytes == bytes) {
      s->fn(s->ctx, slot->hash);
      return;
    }
    slot->low = low;
    slot->high = high;
    slot->bytes = (uint32_t)bytes;
  }
  uint8_t stem[TERM_MAX];
  memcpy(stem, term, bytes);
  uint32_t hash = term_hash(stem, text_stem(stem, bytes));
  if (slot != NULL) slot->hash = hash;
  s->fn(s->ctx, hash);
}

void kernel_token_hashes(ame_token_cache *cache, const uint8_t *text, size_t bytes, ame_token_hash_fn fn, void *ctx) {
  hash_sink s = {cache, fn, ctx};
  text_scan(text, bytes, take_hash, &s);
}

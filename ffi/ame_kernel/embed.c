/* Text to vector without a model file: features are hashed with a sign into a few hundred or thousand dimensions
 * (Weinberger et al., "Feature Hashing for Large Scale Multitask Learning", 2009).
 *
 * Equal to the bit everywhere, because: features add as integers, in which order does not matter; the weights are products,
 * quotients and square roots of doubles, which IEEE 754 rounds exactly; nothing is contracted to a fused multiply-add; and
 * no function of libm is used but sqrt.
 *
 * A text is read in blocks of up to BLOCK_WORDS distinct terms, so that repeats are counted in a fixed 110 KB of stack
 * whatever its length. Up to about 20 KB of prose a block is the whole text; in a longer one a word saturates anew in each
 * block, which is what one wants of a long text anyway. */
#include "prior_table.h"
#include "text.h"

#include <math.h>
#include <string.h>

#define DIM_MAX     1024
#define BLOCK_WORDS 1536
#define SLOTS       2048
#define ARENA_BYTES 32768

/* One unit of feature weight: large enough that a gram of a long stop word is not lost to rounding, small enough that a
 * gigabyte of text does not overflow 64 bits. */
#define UNIT 65536.0

typedef struct model {
  uint32_t dim;
  uint32_t version;
  double word, stem, grams; /* mixed to unit length within a word */
  double pair;              /* two neighbouring words */
  double piece, whole;      /* an identifier's pieces, and itself */
  double character;         /* a character of unspaced scripts, beside its pairs */
  double saturation;        /* k of count (k + 1) / (count + k) */
  double pad;               /* c of the length pad, in units of a word */
  uint32_t gram_from, gram_to;
} model;

static const model models[] = {
    [AME_MODEL_MULTIGRAM] = {.dim = 1024,
                             .version = 1,
                             .word = 0.7,
                             .stem = 1.0,
                             .grams = 1.1,
                             .pair = 0.3,
                             .piece = 0.8,
                             .whole = 1.2,
                             .character = 1.0,
                             .saturation = 1.8,
                             .pad = 3.7,
                             .gram_from = 4,
                             .gram_to = 5},
    [AME_MODEL_BIGRAM] = {.dim = 256,
                          .version = 1,
                          .word = 1.0,
                          .stem = 0,
                          .grams = 0.7,
                          .pair = 0,
                          .piece = 0.7,
                          .whole = 0.7,
                          .character = 0.5,
                          .saturation = 1.5,
                          .pad = 3.5,
                          .gram_from = 2,
                          .gram_to = 2},
};
#define MODELS (sizeof models / sizeof models[0])

typedef struct term {
  uint64_t hash;
  uint64_t stem; /* hash of the stem; 0 for what is no word */
  uint16_t at;   /* in the arena */
  uint16_t slot;
  uint16_t count; /* stays at its maximum */
  uint8_t length;
  uint8_t kind;
  uint8_t prior; /* index of prior_weight */
} term;

typedef struct state {
  const model *m;
  double word, stem, grams; /* those of the model, to unit length */
  uint32_t used;
  uint32_t arena_used;
  uint64_t before; /* stem of the word before, for pairs */
  double before_prior;
  int64_t sum[DIM_MAX];
  uint64_t hash[SLOTS]; /* of a term and its kind; 0 is an empty slot. All empty between texts */
  uint16_t index[SLOTS];
  term terms[BLOCK_WORDS];
  uint8_t arena[ARENA_BYTES];
} state;

/* ---- Hashing of features ---- */

#define SALT_WORD     0x9ae16a3b2f90404full
#define SALT_STEM     0xc949d7c7509e6557ull
#define SALT_PAIR     0xff51afd7ed558ccdull
#define SALT_GRAM     0x8cb92ba72f3d8dd7ull
#define SALT_UNSPACED 0xd6e8feb86659fd93ull

/* The high half is what counts. */
static inline uint64_t mix(uint64_t h) {
  h ^= h >> 32;
  h *= 0xd6e8feb86659fd93ull;
  return h ^ (h >> 32);
}

/* The polynomial of the characters of a term; grams are differences of its prefixes. */
#define RADIX 0x9e3779b97f4a7c15ull

static uint64_t read_u64(const uint8_t *p) {
  uint64_t v;
  memcpy(&v, p, 8);
  return v;
}

static uint64_t read_u32(const uint8_t *p) {
  uint32_t v;
  memcpy(&v, p, 4);
  return v;
}

/* Eight bytes at a step, the last ones overlapping. Part of the model, unlike kernel_hash64: never to change within a
 * version. prior_index is laid out by it. */
static uint64_t hash_bytes(const uint8_t *p, size_t bytes) {
  const uint64_t k = 0x9fb21c651e98df25ull;
  uint64_t h = (bytes + 1) * RADIX;
  if (bytes >= 8) {
    for (size_t i = 0; i + 8 < bytes; i += 8) {
      h = (h ^ read_u64(p + i)) * k;
      h ^= h >> 32;
    }
    h ^= read_u64(p + bytes - 8);
  } else if (bytes >= 4) {
    h ^= read_u32(p) | (read_u32(p + bytes - 4) << 32);
  } else if (bytes) {
    h ^= (uint64_t)p[0] << 16 | (uint64_t)p[bytes / 2] << 8 | p[bytes - 1];
  }
  h = (h ^ (h >> 32)) * k;
  h = (h ^ (h >> 29)) * k;
  return h ^ (h >> 32);
}

/* The last dimension is the length pad's. The sign is chosen without a branch, which would be mispredicted half the time. */
static inline void add_feature(state *s, uint64_t feature, int64_t weight) {
  uint64_t h = (feature ^ (feature >> 32)) * 0xd6e8feb86659fd93ull;
  h = (h ^ (h >> 29)) * 0xff51afd7ed558ccdull;
  uint32_t bucket = (uint32_t)(((h >> 32) * (uint64_t)(s->m->dim - 1)) >> 32);
  int64_t negative = -(int64_t)((h >> 20) & 1);
  s->sum[bucket] += (weight ^ negative) - negative;
}

/* ---- What a word is worth before anything is known of the collection ---- */

/* Three tiers of listed words, then other words by their number of characters: short words are common words. */
#define PRIOR_TIERS      3
#define PRIOR_LENGTH_MAX 4
static const double prior_weight[] = {0.1, 0.5, 0.75, 0, 0.5, 0.8, 1.0, 1.0};
#define PRIOR_OTHER (PRIOR_TIERS + PRIOR_LENGTH_MAX)

/* Unspaced terms and symbols that are not listed are worth a word. */
static uint8_t prior_of(int word, const uint8_t *term, size_t bytes, uint64_t hash) {
  if (bytes < PRIOR_WORD_MAX) {
    char key[PRIOR_WORD_MAX + 1] = {0};
    memcpy(key, term, bytes);
    for (size_t i = hash >> 52; prior_index[i]; i = (i + 1) % (sizeof prior_index / sizeof prior_index[0])) {
      const struct prior_word *p = &prior_words[prior_index[i] - 1];
      if (memcmp(p->word, key, PRIOR_WORD_MAX) == 0) return p->tier;
    }
  }
  if (!word) return PRIOR_OTHER;
  size_t n = 0;
  for (size_t i = 0; i < bytes; i++) n += (term[i] & 0xc0) != 0x80;
  return (uint8_t)(PRIOR_TIERS + (n < PRIOR_LENGTH_MAX ? n : PRIOR_LENGTH_MAX));
}

/* ---- Features of a term ---- */

static int is_word(term_kind kind) { return kind <= TERM_WHOLE; }

static int64_t weight_of(double w) { return (int64_t)(w * UNIT + 0.5); }

/* Character n-grams of ^term$, by characters and not by bytes: five bytes are two letters of Russian. */
static void add_grams(state *s, const uint8_t *term, size_t bytes, double weight) {
  uint64_t prefix[TERM_MAX + 3];
  uint64_t power[8];
  size_t n = 0, at = 0;
  prefix[0] = 0;
  prefix[1] = '^' + 1;
  n = 1;
  while (at < bytes) {
    uint64_t c = text_next(term, bytes, &at);
    prefix[n + 1] = prefix[n] * RADIX + c + 1;
    n++;
  }
  prefix[n + 1] = prefix[n] * RADIX + '$' + 1;
  n++;
  power[0] = 1;
  for (int i = 1; i < 8; i++) power[i] = power[i - 1] * RADIX;
  size_t count = 0;
  for (size_t g = s->m->gram_from; g <= s->m->gram_to; g++) count += n >= g ? n - g + 1 : 0;
  if (!count) { /* ^a$ and ^am$ are a gram each */
    add_feature(s, prefix[n] ^ SALT_GRAM, weight_of(weight));
    return;
  }
  int64_t each = weight_of(weight / sqrt((double)count));
  for (size_t g = s->m->gram_from; g <= s->m->gram_to; g++) {
    for (size_t i = 0; i + g <= n; i++) add_feature(s, (prefix[i + g] - prefix[i] * power[g]) ^ (SALT_GRAM + g), each);
  }
}

static double saturate(const model *m, uint16_t count) {
  if (count == 1) return 1;
  double n = (double)count;
  return n * (m->saturation + 1) / (n + m->saturation);
}

static void add_term(state *s, const term *t) {
  const model *m = s->m;
  const uint8_t *bytes = s->arena + t->at;
  double weight = saturate(m, t->count) * prior_weight[t->prior];
  if (!is_word((term_kind)t->kind)) {
    if (t->kind == TERM_CHAR) weight *= m->character;
    add_feature(s, t->hash ^ SALT_UNSPACED, weight_of(weight));
    return;
  }
  if (t->kind == TERM_PIECE) weight *= m->piece;
  if (t->kind == TERM_WHOLE) weight *= m->whole;
  add_feature(s, t->hash ^ SALT_WORD, weight_of(weight * s->word));
  if (s->stem > 0) add_feature(s, t->stem ^ SALT_STEM, weight_of(weight * s->stem));
  add_grams(s, bytes, t->length, weight * s->grams);
}

static void flush(state *s) {
  for (uint32_t i = 0; i < s->used; i++) {
    add_term(s, &s->terms[i]);
    s->hash[s->terms[i].slot] = 0;
  }
  s->used = 0;
  s->arena_used = 0;
}

/* ---- Counting ---- */

/* The slot of a hash: the one that holds it, or the empty one where it goes. A quarter of the slots is always empty. */
static uint32_t find(const state *s, uint64_t hash) {
  uint32_t i = (uint32_t)(hash >> 32) % SLOTS;
  while (s->hash[i] && s->hash[i] != hash) i = (i + 1) % SLOTS;
  return i;
}

static void take(void *ctx, term_kind kind, const uint8_t *bytes, size_t length) {
  state *s = ctx;
  uint64_t plain = hash_bytes(bytes, length);
  uint64_t hash = mix(plain + (uint64_t)kind) | 1; /* two terms of one 63-bit hash count as one: the same everywhere */
  uint32_t slot = find(s, hash);
  int word = is_word(kind);
  if (!s->hash[slot]) {
    if (s->used == BLOCK_WORDS || s->arena_used + TERM_MAX > ARENA_BYTES) {
      flush(s);
      slot = find(s, hash);
    }
    uint8_t *copy = s->arena + s->arena_used;
    memcpy(copy, bytes, length);
    s->hash[slot] = hash;
    s->index[slot] = (uint16_t)s->used;
    term *t = &s->terms[s->used++];
    t->hash = plain;
    t->at = (uint16_t)s->arena_used;
    t->slot = (uint16_t)slot;
    t->count = 0;
    t->length = (uint8_t)length;
    t->kind = (uint8_t)kind;
    t->stem = 0;
    s->arena_used += (uint32_t)length;
    t->prior = prior_of(word, bytes, length, plain);
    if (word) {
      uint8_t stem[TERM_MAX];
      memcpy(stem, bytes, length);
      t->stem = hash_bytes(stem, text_stem(stem, length));
    }
  }
  term *t = &s->terms[s->index[slot]];
  if (t->count < UINT16_MAX) t->count++;
  if (s->m->pair > 0 && word && kind != TERM_WHOLE) {
    double prior = prior_weight[t->prior];
    if (s->before) {
      double weight = s->m->pair * prior * s->before_prior;
      add_feature(s, (s->before * RADIX + t->stem) ^ SALT_PAIR, weight_of(weight));
    }
    s->before = t->stem;
    s->before_prior = prior;
  }
}

/* ---- A text ---- */

/* Divides by sqrt(|x|^2 + c^2). For a document c goes into the last dimension, so that the row has unit length and a short
 * text, whose few words would otherwise be all of its direction, no longer wins every question (locomo: .27 to .45). */
static void finish(const state *s, uint32_t role, float *out) {
  uint32_t dim = s->m->dim;
  double square = 0, pad = role == AME_ROLE_DOCUMENT ? s->m->pad * UNIT : 0;
  for (uint32_t i = 0; i + 1 < dim; i++) {
    double v = (double)s->sum[i];
    double vv = v * v;
    square += vv;
  }
  if (!(square > 0)) {
    memset(out, 0, dim * sizeof(float));
    return;
  }
  double padded = pad * pad;
  double norm = sqrt(square + padded);
  for (uint32_t i = 0; i + 1 < dim; i++) out[i] = (float)((double)s->sum[i] / norm);
  out[dim - 1] = (float)(pad / norm);
}

static void embed_text(state *s, uint32_t role, const uint8_t *text, size_t bytes, float *out) {
  s->before = 0;
  s->before_prior = 0;
  memset(s->sum, 0, s->m->dim * sizeof s->sum[0]);
  text_scan(text, bytes, take, s);
  flush(s);
  finish(s, role, out);
}

uint32_t ame_embed_dim(uint32_t id) { return id < MODELS ? models[id].dim : 0; }

uint32_t ame_embed_version(uint32_t id) { return id < MODELS ? models[id].version : 0; }

int32_t ame_embed(uint32_t id, uint32_t role, const uint8_t *bytes, const uint64_t *ends, uint64_t n, float *out) {
  if (id >= MODELS || role > AME_ROLE_QUERY) return 1;
  for (uint64_t i = 1; i < n; i++) {
    if (ends[i] < ends[i - 1]) return 1;
  }
  state s; /* about 110 KB */
  const model *m = &models[id];
  double unit = sqrt(m->word * m->word + m->stem * m->stem + m->grams * m->grams);
  s.m = m;
  s.word = m->word / unit;
  s.stem = m->stem / unit;
  s.grams = m->grams / unit;
  s.used = s.arena_used = 0;
  memset(s.hash, 0, sizeof s.hash);
  for (uint64_t i = 0; i < n; i++) {
    uint64_t from = i ? ends[i - 1] : 0;
    embed_text(&s, role, bytes + from, (size_t)(ends[i] - from), out + i * m->dim);
  }
  return 0;
}

/* Text to vector without a model file: features are hashed with a sign into two thousand dimensions (Weinberger et al., "Feature
 * Hashing for Large Scale Multitask Learning", 2009).
 *
 * Equal to the bit everywhere, because: features add in the order of the text; every operation is an IEEE 754 sum, product, quotient
 * or square root of f32, which round one way only; nothing is contracted to a fused multiply-add; and no function of libm is used but
 * sqrt.
 *
 * A text is read in blocks of up to BLOCK_WORDS distinct terms, so that repeats are counted in a fixed 110 KB of stack
 * whatever its length. Up to about 20 KB of prose a block is the whole text; in a longer one a word saturates anew in each
 * block, which is what one wants of a long text anyway. */
#include "prior.h"

#include <math.h>
#include <string.h>

#define DIM_MAX     2048
#define BLOCK_WORDS 1536
#define SLOTS       2048
#define ARENA_BYTES 32768
#define PAIR_SLOTS  4096
#define KNOWN_SLOTS 1024
#define KNOWN_BYTES 16
#define MOST_RMS    6.0f

typedef struct model {
  uint32_t dim;
  uint32_t pad_dims; /* the last ones, for the length pad alone */
  uint32_t version;
  float word, stem, grams; /* mixed to unit length within a word */
  float pair;              /* two neighbouring words */
  float piece, whole;      /* an identifier's pieces, and itself */
  float character;         /* a character of unspaced scripts, beside its pairs */
  float saturation;        /* k of count (k + 1) / (count + k) */
  float pad;               /* c of the length pad, in units of a word */
  uint32_t gram_from, gram_to;
  float first_gram; /* a gram at a word's start beside the others: there is where words differ by meaning and not by ending */
} model;

static const model models[] = {
    [AME_MODEL_MULTIGRAM] = {.dim = 2048,
                             .pad_dims = 16,
                             .version = 2,
                             .word = 0.7f,
                             .stem = 1.0f,
                             .grams = 0.7f,
                             .pair = 0.3f,
                             .piece = 1.0f,
                             .whole = 0.8f,
                             .character = 1.0f,
                             .saturation = 1.6f,
                             .pad = 3.7f,
                             .gram_from = 4,
                             .gram_to = 6,
                             .first_gram = 2.0f},
    [AME_MODEL_BIGRAM] = {.dim = 512,
                          .pad_dims = 8,
                          .version = 2,
                          .word = 1.0f,
                          .stem = 0,
                          .grams = 1.2f,
                          .pair = 0,
                          .piece = 0.8f,
                          .whole = 0.8f,
                          .character = 1.0f,
                          .saturation = 1.5f,
                          .pad = 3.5f,
                          .gram_from = 3,
                          .gram_to = 4,
                          .first_gram = 1.5f},
};
#define MODELS (sizeof models / sizeof models[0])

typedef struct term {
  uint64_t hash;
  uint64_t stem; /* hash of the stem; of what is no word its own */
  float prior;
  uint16_t at;   /* in the arena */
  uint16_t slot;
  uint16_t count; /* stays at its maximum */
  uint8_t length;
  uint8_t kind;
  uint8_t ascii;
} term;

/* What was found out about a word, for the texts of one call: nine words in ten were in one of the texts before. */
typedef struct known {
  uint8_t bytes[KNOWN_BYTES];
  uint64_t stem;
  float prior;
  uint8_t length, word; /* length 0: empty */
} known;

typedef struct state {
  const model *m;
  uint64_t used_dims; /* those that are not the pad's */
  float word, stem, grams; /* those of the model, to unit length */
  float word_alone, grams_alone; /* the same for words that have no stem of their own */
  uint32_t used;
  uint32_t arena_used;
  uint64_t before; /* stem of the word before, for pairs */
  float before_prior;
  float sum[DIM_MAX];
  uint64_t hash[SLOTS]; /* of a term and its kind; 0 is an empty slot. All empty between texts */
  uint16_t index[SLOTS];
  uint8_t pairs[PAIR_SLOTS]; /* how often a pair was seen; two of one slot count together */
  term terms[BLOCK_WORDS];
  known known[KNOWN_SLOTS];
  uint8_t arena[ARENA_BYTES];
} state;

/* ---- Hashing of features ---- */

#define SALT_WORD     0x9ae16a3b2f90404full
#define SALT_STEM     0xc949d7c7509e6557ull
#define SALT_PAIR     0xff51afd7ed558ccdull
#define SALT_GRAM     0x8cb92ba72f3d8dd7ull
#define SALT_UNSPACED 0xd6e8feb86659fd93ull

/* The polynomial of the characters of a term; grams are differences of its prefixes. */
#define RADIX 0x9e3779b97f4a7c15ull

/* The high half is what counts. */
static inline uint64_t mix(uint64_t h) {
  h ^= h >> 32;
  h *= 0xd6e8feb86659fd93ull;
  return h ^ (h >> 32);
}

/* The last dimensions are the length pad's. The sign is chosen without a branch, which would be mispredicted half the time. */
static inline void add_feature(state *s, uint64_t feature, float weight) {
  uint64_t h = (feature ^ (feature >> 29)) * 0xff51afd7ed558ccdull;
  h ^= h >> 32;
  uint32_t bucket = (uint32_t)(((h & 0xffffffffu) * s->used_dims) >> 32), bits;
  memcpy(&bits, &weight, sizeof bits);
  bits ^= (uint32_t)(h >> 32) & 0x80000000u;
  memcpy(&weight, &bits, sizeof bits);
  s->sum[bucket] += weight;
}

/* ---- Features of a term ---- */

static int is_word(term_kind kind) { return kind <= TERM_WHOLE; }

/* Character n-grams of ^term$, by characters and not by bytes: five bytes are two letters of Russian. */
static void add_grams(state *s, const uint8_t *bytes, size_t length, float weight) {
  uint64_t prefix[TERM_MAX + 3];
  uint64_t power[8];
  const model *m = s->m;
  size_t n = 1, at = 0;
  prefix[0] = 0;
  prefix[1] = '^' + 1;
  while (at < length) {
    uint64_t c = bytes[at] < 0x80 ? bytes[at++] : text_next(bytes, length, &at);
    prefix[n + 1] = prefix[n] * RADIX + c + 1;
    n++;
  }
  prefix[n + 1] = prefix[n] * RADIX + '$' + 1;
  n++;
  power[0] = 1;
  for (int i = 1; i < 8; i++) power[i] = power[i - 1] * RADIX;
  float squares = 0;
  for (size_t g = m->gram_from; g <= m->gram_to && g <= n; g++)
    squares += m->first_gram * m->first_gram + (float)(n - g);
  if (squares == 0) { /* ^a$ and ^am$ are a gram each */
    add_feature(s, prefix[n] ^ SALT_GRAM, weight);
    return;
  }
  float each = weight / sqrtf(squares);
  for (size_t g = m->gram_from; g <= m->gram_to && g <= n; g++) {
    add_feature(s, prefix[g] ^ (SALT_GRAM + g), each * m->first_gram);
    for (size_t i = 1; i + g <= n; i++) add_feature(s, (prefix[i + g] - prefix[i] * power[g]) ^ (SALT_GRAM + g), each);
  }
}

static float saturate(const model *m, uint16_t count) {
  if (count == 1) return 1;
  float n = (float)count;
  return n * (m->saturation + 1) / (n + m->saturation);
}

static void add_term(state *s, const term *t) {
  const model *m = s->m;
  float weight = saturate(m, t->count) * t->prior;
  if (!is_word((term_kind)t->kind)) {
    if (t->kind == TERM_CHAR) weight *= m->character;
    add_feature(s, t->hash ^ SALT_UNSPACED, weight);
    return;
  }
  if (t->kind == TERM_PIECE) weight *= m->piece;
  if (t->kind == TERM_WHOLE) weight *= m->whole;
  if (s->stem > 0 && t->ascii) {
    add_feature(s, t->hash ^ SALT_WORD, weight * s->word);
    add_feature(s, t->stem ^ SALT_STEM, weight * s->stem);
    add_grams(s, s->arena + t->at, t->length, weight * s->grams);
  } else { /* the stemmer knows the letters a to z: elsewhere the stem would be the word a second time */
    add_feature(s, t->hash ^ SALT_WORD, weight * s->word_alone);
    add_grams(s, s->arena + t->at, t->length, weight * s->grams_alone);
  }
}

static void flush(state *s) {
  for (uint32_t i = 0; i < s->used; i++) {
    add_term(s, &s->terms[i]);
    s->hash[s->terms[i].slot] = 0;
  }
  s->used = 0;
  s->arena_used = 0;
  if (s->m->pair > 0) memset(s->pairs, 0, sizeof s->pairs);
}

/* The n-th time a pair is met adds what n have more than n - 1, so that a word said a thousand times is not all of a text. */
static void add_pair(state *s, uint64_t stem, float prior) {
  if (s->before) {
    uint64_t pair = s->before * RADIX + stem;
    uint8_t *seen = &s->pairs[mix(pair) % PAIR_SLOTS];
    float weight = s->m->pair * prior * s->before_prior;
    if (*seen > 0) weight *= saturate(s->m, (uint16_t)(*seen + 1)) - saturate(s->m, *seen);
    if (*seen < UINT8_MAX) {
      (*seen)++;
      add_feature(s, pair ^ SALT_PAIR, weight);
    }
  }
  s->before = stem;
  s->before_prior = prior;
}

/* ---- Counting ---- */

/* The slot of a hash: the one that holds it, or the empty one where it goes. A quarter of the slots is always empty. */
static uint32_t find(const state *s, uint64_t hash) {
  uint32_t i = (uint32_t)(hash >> 32) % SLOTS;
  while (s->hash[i] && s->hash[i] != hash) i = (i + 1) % SLOTS;
  return i;
}

static int is_ascii(const uint8_t *bytes, size_t length) {
  uint8_t all = 0;
  for (size_t i = 0; i < length; i++) all |= bytes[i];
  return all < 0x80;
}

static size_t characters(const uint8_t *bytes, size_t length) {
  size_t n = 0;
  for (size_t i = 0; i < length; i++) n += (bytes[i] & 0xc0) != 0x80;
  return n;
}

/* Stem and prior of a term. */
static void look_up(state *s, uint64_t plain, int word, const uint8_t *bytes, size_t length, uint64_t *stem, float *prior) {
  known *k = &s->known[(plain >> 16) % KNOWN_SLOTS];
  if (k->length == length && k->word == word && memcmp(k->bytes, bytes, length) == 0) {
    *stem = k->stem;
    *prior = k->prior;
    return;
  }
  *stem = plain;
  if (word) {
    uint8_t stemmed[TERM_MAX];
    memcpy(stemmed, bytes, length);
    *stem = text_hash(stemmed, text_stem(stemmed, length));
  }
  *prior = text_prior(*stem, word, characters(bytes, length));
  if (length > KNOWN_BYTES) return;
  *k = (known){.stem = *stem, .prior = *prior, .length = (uint8_t)length, .word = (uint8_t)word};
  memcpy(k->bytes, bytes, length);
}

/* A term that this block has not met. */
static void note(state *s, uint64_t plain, uint64_t hash, uint32_t slot, term_kind kind, const uint8_t *bytes, size_t length) {
  memcpy(s->arena + s->arena_used, bytes, length);
  s->hash[slot] = hash;
  s->index[slot] = (uint16_t)s->used;
  term *t = &s->terms[s->used++];
  *t = (term){.hash = plain,
              .at = (uint16_t)s->arena_used,
              .slot = (uint16_t)slot,
              .length = (uint8_t)length,
              .kind = (uint8_t)kind,
              .ascii = (uint8_t)is_ascii(bytes, length)};
  s->arena_used += (uint32_t)length;
  look_up(s, plain, is_word(kind), bytes, length, &t->stem, &t->prior);
}

static void take(void *ctx, term_kind kind, const uint8_t *bytes, size_t length) {
  state *s = ctx;
  uint64_t plain = text_hash(bytes, length);
  uint64_t hash = mix(plain + (uint64_t)kind) | 1; /* two terms of one 63-bit hash count as one: the same everywhere */
  uint32_t slot = find(s, hash);
  if (!s->hash[slot]) {
    if (s->used == BLOCK_WORDS || s->arena_used + TERM_MAX > ARENA_BYTES) {
      flush(s);
      slot = find(s, hash);
    }
    note(s, plain, hash, slot, kind, bytes, length);
  }
  term *t = &s->terms[s->index[slot]];
  if (t->count < UINT16_MAX) t->count++;
  if (s->m->pair > 0 && is_word(kind) && kind != TERM_WHOLE) add_pair(s, t->stem, t->prior);
}

/* ---- A text ---- */

/* A question at unit length. */
static void finish_query(const state *s, float *out) {
  uint32_t used = (uint32_t)s->used_dims;
  double square = 0;
  for (uint32_t i = 0; i < used; i++) square += (double)s->sum[i] * (double)s->sum[i];
  double norm = square > 0 ? sqrt(square) : 1;
  for (uint32_t i = 0; i < used; i++) out[i] = (float)((double)s->sum[i] / norm);
  memset(out + used, 0, s->m->pad_dims * sizeof *out);
}

/* Of at most 17 significant bits, so that its product with a code is exact, and so is the quotient by 127 that gives it back. */
static float short_scale(double x) {
  int exponent;
  double fraction = frexp(x, &exponent);
  return (float)ldexp((double)(int32_t)(fraction * 131072 + 0.5), exponent - 17);
}

#define LANES 16u

static float squares_of(const float *x, uint32_t n) {
  float lanes[LANES] = {0}, sum = 0;
  uint32_t i = 0;
  for (; i + LANES <= n; i += LANES) {
    for (uint32_t j = 0; j < LANES; j++) lanes[j] += x[i + j] * x[i + j];
  }
  for (uint32_t j = 0; i < n; i++, j++) lanes[j] += x[i] * x[i];
  for (uint32_t j = 0; j < LANES; j++) sum += lanes[j];
  return sum;
}

/* A document: its sums to the power of 3/4 and cut at six times their root mean square, so that one word said often, or a bucket that
 * happens to hold several, is not most of a row (mean of eight sets .686 to .696); then divided by sqrt(|x|^2 + c^2), with c in
 * dimensions of its own so that the row has unit length and a short text, whose few words would otherwise be all of its direction,
 * no longer wins every question (locomo: .27 to .45). c is spread over several, because one large element would cost the codes of
 * all others their precision.
 *
 * The row is rounded to 255 levels: a base then holds it in a quarter of the bytes to the bit, and no set ranks worse for it. */
static void finish_document(state *s, float *out) {
  const model *m = s->m;
  uint32_t used = (uint32_t)s->used_dims, squares = 0;
  float pad = m->pad / sqrtf((float)m->pad_dims), *x = s->sum;
  int32_t codes[DIM_MAX];
  float before = squares_of(x, used);
  for (uint32_t i = 0; i < used; i++) {
    float root = sqrtf(fabsf(x[i]));
    x[i] = copysignf(root * sqrtf(root), x[i]);
  }
  float after = squares_of(x, used), largest;
  if (before > 0) pad *= sqrtf(after / before);
  float most = MOST_RMS * sqrtf(after / (float)used);
  int32_t bits_most = 0;
  for (uint32_t i = 0; i < used; i++) {
    x[i] = x[i] > most ? most : x[i] < -most ? -most : x[i];
    int32_t bits; /* of floats that are not negative, in their order */
    memcpy(&bits, &x[i], sizeof bits);
    bits &= 0x7fffffff;
    bits_most = bits > bits_most ? bits : bits_most;
  }
  memcpy(&largest, &bits_most, sizeof largest);
  if (largest < pad) largest = pad;
  float per = 127.0f / largest;
  for (uint32_t i = 0; i < used; i++) {
    float y = x[i] * per;
    codes[i] = (int32_t)(y + (y < 0 ? -0.5f : 0.5f));
  }
  for (uint32_t i = used; i < m->dim; i++) codes[i] = (int32_t)(pad * per + 0.5f);
  for (uint32_t i = 0; i < m->dim; i++) squares += (uint32_t)(codes[i] * codes[i]);
  float scale = short_scale(1 / sqrt((double)squares));
  for (uint32_t i = 0; i < m->dim; i++) out[i] = scale * (float)codes[i];
}

static void embed_text(state *s, uint32_t role, const uint8_t *text, size_t bytes, float *out) {
  s->before = 0;
  memset(s->sum, 0, s->m->dim * sizeof s->sum[0]);
  text_scan(text, bytes, take, s);
  int empty = s->used == 0; /* blocks are flushed only for a term that comes after */
  flush(s);
  if (empty)
    memset(out, 0, s->m->dim * sizeof *out);
  else if (role == AME_ROLE_DOCUMENT)
    finish_document(s, out);
  else
    finish_query(s, out);
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
  float unit = sqrtf(m->word * m->word + m->stem * m->stem + m->grams * m->grams);
  s.m = m;
  s.used_dims = m->dim - m->pad_dims;
  s.word = m->word / unit;
  s.stem = m->stem / unit;
  s.grams = m->grams / unit;
  unit = sqrtf(m->word * m->word + m->grams * m->grams);
  s.word_alone = m->word / unit;
  s.grams_alone = m->grams / unit;
  s.used = s.arena_used = 0;
  memset(s.hash, 0, sizeof s.hash);
  memset(s.pairs, 0, sizeof s.pairs);
  memset(s.known, 0, sizeof s.known);
  for (uint64_t i = 0; i < n; i++) {
    uint64_t from = i ? ends[i - 1] : 0;
    embed_text(&s, role, bytes + from, (size_t)(ends[i] - from), out + i * m->dim);
  }
  return 0;
}

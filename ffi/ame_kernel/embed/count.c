/* Reads a text into distinct terms with their counts. */
#include "embed/embed.h"
#include "text/scan.h"

/* Only the high half of the result is well mixed. */
static inline uint64_t mix(uint64_t h) {
  h ^= h >> 32;
  h *= 0xd6e8feb86659fd93ull;
  return h ^ (h >> 32);
}

/* The n-th occurrence of a pair adds saturate(n) - saturate(n - 1), so that a pair repeated a thousand times does not
 * dominate a text. */
static void add_pair(state *s, uint64_t stem, float prior) {
  if (s->before) {
    uint64_t pair = s->before * RADIX + stem;
    uint8_t *seen = &s->pairs[mix(pair) % PAIR_SLOTS];
    float weight = s->m->pair * prior * s->before_prior;
    if (*seen > 0) weight *= saturate(s->m, *seen + 1u) - saturate(s->m, *seen);
    if (*seen < UINT8_MAX) {
      (*seen)++;
      add_feature(s, pair ^ SALT_PAIR, weight);
    }
  }
  s->before = stem;
  s->before_prior = prior;
}

/* The slot that holds a hash, or the empty one for it. A quarter of the slots is always empty. */
static uint32_t find(const state *s, uint64_t hash) {
  uint32_t i = (uint32_t)(hash >> 32) & s->slot_mask;
  while (s->hash[i] && s->hash[i] != hash) i = (i + 1) & s->slot_mask;
  return i;
}

/* Stem and prior of a term, and its token where it is asked for. */
static void look_up(term *t, int word, int token, const uint8_t *bytes, size_t length, size_t characters) {
  t->stem = t->hash;
  if (text_is_stemmed((term_kind)t->kind)) {
    uint8_t stem[TERM_MAX];
    memcpy(stem, bytes, length);
    size_t stemmed = text_stem(stem, length);
    t->stem = text_hash(stem, stemmed);
    if (token) t->token = text_term_hash(stem, stemmed);
  } else if (token) {
    t->token = text_term_hash(bytes, length);
  }
  t->prior = text_prior(t->stem, word, characters);
}

/* Adds a term that is new to this block. `old` is what is known of it, or NULL. */
TEXT_INLINE term *note(state *s, uint64_t own, term_kind kind, const uint8_t *bytes, size_t length, const known *old,
                       int plain) {
  term *t = &s->terms[s->used++];
  uint8_t *kept = s->arena + s->arena_used;
  size_t characters = length;
  if (plain && length <= KNOWN_BYTES) {
    memcpy(kept, bytes, 16); /* a constant length: two moves and no call */
  } else {
    memcpy(kept, bytes, length);
  }
  if (!plain) {
    characters = 0;
    for (size_t i = 0; i < length; i++) characters += (bytes[i] & 0xc0) != 0x80;
  }
  t->hash = own;
  t->token = 0;
  t->at = (uint16_t)s->arena_used;
  t->count = 0;
  t->length = (uint8_t)length;
  t->kind = (uint8_t)kind;
  t->ascii = characters == length; /* a term is valid UTF-8 */
  s->arena_used += (uint32_t)length;
  if (old) {
    t->stem = old->stem;
    t->prior = old->prior;
    t->token = old->token;

  } else {
    look_up(t, is_word(kind), s->met != NULL, bytes, length, characters);
  }
  return t;
}

/* The term for these bytes, where `k` is for other bytes or its term is of an earlier block. */
TEXT_INLINE term *find_term(state *s, term_kind kind, const uint8_t *bytes, size_t length, known *k, int is_known,
                            term_key key, int plain) {
  uint64_t own = is_known ? k->hash : text_hash(bytes, length);
  uint64_t hash = mix(own + (uint64_t)kind) | 1; /* two terms of one 63-bit hash count as one: the same everywhere */
  uint32_t slot = find(s, hash);
  if (s->hash[slot]) {
    if (is_known) k->index = s->index[slot];
    return &s->terms[s->index[slot]];
  }
  if (s->used == BLOCK_WORDS || s->arena_used + TERM_MAX > ARENA_BYTES) {
    embed_flush(s);
    slot = find(s, hash);
  }
  uint16_t index = (uint16_t)s->used;
  term *t = note(s, own, kind, bytes, length, is_known ? k : NULL, plain);
  t->slot = (uint16_t)slot;
  s->hash[slot] = hash;
  s->index[slot] = index;
  if (is_known) k->index = index;
  else if (length <= KNOWN_BYTES) *k = (known){key.low, key.high, own, t->stem, t->prior, t->token, index};
  return t;
}

/* Counts a term. `plain`, a constant of each caller: a word of ASCII letters with sixteen bytes to read. */
TEXT_INLINE void take(state *s, term_kind kind, const uint8_t *bytes, size_t length, term_key key, int plain) {
  key.high |= (uint64_t)(kind + 1) << 56; /* the sixteenth byte: cached terms have at most 15 */
  uint64_t place = (key.low ^ key.high * RADIX) * 0xd6e8feb86659fd93ull;
  known *k = &s->known[place >> s->known_shift];
  int is_known = length <= KNOWN_BYTES && ((k->low ^ key.low) | (k->high ^ key.high)) == 0;
  term *t = &s->terms[k->index];
  if (!is_known || k->index >= s->used || t->hash != k->hash || t->kind != kind)
    t = find_term(s, kind, bytes, length, k, is_known, key, plain);
  if (t->count < UINT32_MAX) t->count++;
  if (s->m->pair > 0 && is_word(kind) && kind != TERM_WHOLE && kind != TERM_BARE) add_pair(s, t->stem, t->prior);
}

static void take_plain(void *ctx, const uint8_t *word, size_t length) {
  take(ctx, TERM_WORD, word, length, (term_key){scan_load64(word), scan_load64(word + 8)}, 1);
}

static void take_other(void *ctx, term_kind kind, const uint8_t *bytes, size_t length) {
  take(ctx, kind, bytes, length, term_key_of(bytes, length), 0);
}

void embed_count(state *s, const uint8_t *text, size_t bytes) { scan_text(text, bytes, take_plain, take_other, s); }

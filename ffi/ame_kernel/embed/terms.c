/* Adds the features of a text's terms to the sums: words, stems and grams. */
#include <math.h>

#include "embed/embed.h"

/* Sum of the squared weights of all grams of a term of n characters; those at its start weigh first_gram. */
static float gram_squares(const model *m, size_t n) {
  float squares = 0;
  for (size_t g = m->gram_from; g <= m->gram_to && g <= n; g++)
    squares += m->first_gram * m->first_gram + (float)(n - g);
  return squares;
}

void embed_roots(state *s) {
  for (size_t n = 0; n < ROOTS; n++) s->roots[n] = sqrtf(gram_squares(s->m, n));
}

/* Character n-grams of ^term$, by characters and not by bytes: five bytes are two letters of Russian. */
TEXT_INLINE void add_grams(state *s, const term *t, float weight, size_t from, size_t to) {
  uint64_t prefix[TERM_MAX + 3];
  const uint8_t *bytes = s->arena + t->at;
  size_t n = 1, length = t->length;
  prefix[0] = 0;
  uint64_t sum = prefix[1] = '^' + 1;
  if (t->ascii) {
    for (size_t i = 0; i < length; i++) prefix[i + 2] = sum = sum * RADIX + bytes[i] + 1;
    n += length;
  } else {
    for (size_t at = 0; at < length;) prefix[++n] = sum = sum * RADIX + text_next(bytes, length, &at) + 1;
  }
  prefix[++n] = sum * RADIX + '$' + 1;
  if (n < from) { /* ^a$ and ^am$ are one gram each */
    add_feature(s, prefix[n] ^ SALT_GRAM, weight);
    return;
  }
  float each = weight / (n < ROOTS ? s->roots[n] : sqrtf(gram_squares(s->m, n)));
  uint64_t power = 1;
  for (size_t g = 1; g < from; g++) power *= RADIX;
  for (size_t g = from; g <= to && g <= n; g++) {
    power *= RADIX;
    add_feature(s, prefix[g] ^ (SALT_GRAM + g), each * s->m->first_gram);
    for (size_t i = 1; i + g <= n; i++) add_feature(s, (prefix[i + g] - prefix[i] * power) ^ (SALT_GRAM + g), each);
  }
}

TEXT_INLINE void add_term(state *s, const term *t, size_t from, size_t to) {
  const model *m = s->m;
  float weight = saturate(m, t->count) * t->prior;
  if (!is_word((term_kind)t->kind)) {
    if (t->kind == TERM_CHAR) weight *= m->character;
    add_feature(s, t->hash ^ SALT_UNSPACED, weight);
    return;
  }
  if (t->kind == TERM_BARE) weight *= m->bare;
  if (t->kind == TERM_PIECE) weight *= m->piece;
  if (t->kind == TERM_WHOLE) weight *= m->whole;
  if (s->stem > 0 && t->ascii) {
    add_feature(s, t->hash ^ SALT_WORD, weight * s->word);
    add_feature(s, t->stem ^ SALT_STEM, weight * s->stem);
    add_grams(s, t, weight * s->grams, from, to);
  } else { /* without a stem of its own: the stemmer only handles the letters a to z */
    add_feature(s, t->hash ^ SALT_WORD, weight * s->word_alone);
    add_grams(s, t, weight * s->grams_alone, from, to);
  }
}

TEXT_INLINE void add_terms(state *s, size_t from, size_t to) {
  for (uint32_t i = 0; i < s->used; i++) {
    add_term(s, &s->terms[i], from, to);
    s->hash[s->terms[i].slot] = 0;
  }
  for (uint32_t i = 0; i < s->used && s->met != NULL; i++)
    s->met(s->met_ctx, s->text, s->terms[i].token, s->terms[i].count);
}

void embed_flush(state *s) {
  if (s->m->gram_from == MULTIGRAM_FROM) add_terms(s, MULTIGRAM_FROM, MULTIGRAM_TO);
  else add_terms(s, BIGRAM_FROM, BIGRAM_TO);
  s->used = 0;
  s->arena_used = 0;
  if (s->m->pair > 0) memset(s->pairs, 0, sizeof s->pairs);
}

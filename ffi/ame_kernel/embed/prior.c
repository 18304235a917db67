/* Weights of common terms, from a table of fingerprints made by src/build/corpus/prior, which has the sources of the
 * counts. */
#include "embed/prior.h"

#include "embed/prior_table.h"
#include "text/scan.h"

#include <math.h>

/* Eight bytes at a step, the last ones overlapping. */
uint64_t text_hash(const uint8_t *p, size_t n) {
  const uint64_t k = 0x9fb21c651e98df25ull;
  uint64_t h = (n + 1) * 0x9e3779b97f4a7c15ull;
  if (n >= 8) {
    for (size_t i = 0; i + 8 < n; i += 8) {
      h = (h ^ scan_load64(p + i)) * k;
      h ^= h >> 32;
    }
    h ^= scan_load64(p + n - 8);
  } else if (n >= 4) {
    h ^= scan_load32(p) | (scan_load32(p + n - 4) << 32);
  } else if (n) {
    h ^= (uint64_t)p[0] << 16 | (uint64_t)p[n / 2] << 8 | p[n - 1];
  }
  h = (h ^ (h >> 32)) * k;
  h = (h ^ (h >> 29)) * k;
  return h ^ (h >> 32);
}

/* Four entries at once: the lowest bit of the result is the top bit of the first entry under these marks. A loop that
 * ends at the first match is mispredicted for many terms (embedding prose: 1 to 2 % slower). */
static uint64_t equal_marks(const uint16_t *entries, uint64_t marks) {
  uint64_t four;
  memcpy(&four, entries, sizeof four);
  uint64_t differ = (four ^ marks) & 0xfff0fff0fff0fff0ull;
  return (differ - 0x0001000100010001ull) & ~differ & 0x8000800080008000ull;
}

_Static_assert(PRIOR_WIDTH == 8, "a bucket is two times four entries");

/* A term is in one of two buckets, under twelve bits of its hash: one in some 330 that are not in the table matches by
 * chance and weighs too little. A table of whole terms would be four times as large. */
static int find(uint64_t stem) {
  uint16_t mark = (uint16_t)(stem & 0xfff);
  if (mark == 0) mark = 1;
  const uint16_t *one = prior_table[(stem >> 12) % PRIOR_BUCKETS], *two = prior_table[(stem >> 32) % PRIOR_BUCKETS];
  uint64_t marks = (uint64_t)mark * 0x0010001000100010ull;
  uint64_t low = equal_marks(one, marks) | equal_marks(two, marks);
  uint64_t high = equal_marks(one + 4, marks) | equal_marks(two + 4, marks);
  if (!(low | high)) return -1;
  int i = low ? __builtin_ctzll(low) / 16 : 4 + __builtin_ctzll(high) / 16;
  return (one[i] >> 4 == mark ? one[i] : two[i]) & 15;
}

float text_prior(uint64_t stem, int word, size_t characters) {
  static const float of_length[] = {1, 0.5f, 0.8f};
  int level = find(stem);
  float weight = level < 0 ? 1 : prior_weight[level];
  if (!word || characters >= sizeof of_length / sizeof of_length[0]) return weight;
  return weight < of_length[characters] ? weight : of_length[characters];
}

/* To the power of 11/16: the idf is high for "how" and "to" in a collection of code, where they are rare, although they
 * mean nothing in a query (mean of eight sets .694 to .708, of 21 others .617 to .635; 1/2 .708 and .633, 3/4 .708 and
 * .634). */
float kernel_term_worth(const uint8_t *term, size_t bytes) {
  if (bytes == 0) return 1;
  size_t at = 0, characters = 0;
  char_kind kind = text_kind(text_next(term, bytes, &at));
  for (size_t i = 0; i < bytes; i++) characters += (term[i] & 0xc0) != 0x80;
  float half = sqrtf(text_prior(text_hash(term, bytes), kind == CHAR_LETTER || kind == CHAR_DIGIT, characters));
  float eighth = sqrtf(sqrtf(half));
  return half * eighth * sqrtf(eighth);
}

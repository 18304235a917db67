/* Weights of common terms, from a table of fingerprints: src/build/prior says where the counts are from. */
#include "embed/prior.h"

#include "embed/prior_table.h"

#include <math.h>
#include <string.h>

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

/* Eight bytes at a step, the last ones overlapping. */
uint64_t text_hash(const uint8_t *p, size_t n) {
  const uint64_t k = 0x9fb21c651e98df25ull;
  uint64_t h = (n + 1) * 0x9e3779b97f4a7c15ull;
  if (n >= 8) {
    for (size_t i = 0; i + 8 < n; i += 8) {
      h = (h ^ read_u64(p + i)) * k;
      h ^= h >> 32;
    }
    h ^= read_u64(p + n - 8);
  } else if (n >= 4) {
    h ^= read_u32(p) | (read_u32(p + n - 4) << 32);
  } else if (n) {
    h ^= (uint64_t)p[0] << 16 | (uint64_t)p[n / 2] << 8 | p[n - 1];
  }
  h = (h ^ (h >> 32)) * k;
  h = (h ^ (h >> 29)) * k;
  return h ^ (h >> 32);
}

/* Four entries at once: the lowest bit of the result is the top bit of the first entry under these marks. A loop that
 * leaves at the first that fits is mispredicted for many terms (embedding prose: 1 to 2 % slower). */
static uint64_t equal_marks(const uint16_t *entries, uint64_t marks) {
  uint64_t four;
  memcpy(&four, entries, sizeof four);
  uint64_t differ = (four ^ marks) & 0xfff0fff0fff0fff0ull;
  return (differ - 0x0001000100010001ull) & ~differ & 0x8000800080008000ull;
}

_Static_assert(PRIOR_WIDTH == 8, "a bucket is two times four entries");

/* A term is in one of two buckets, under twelve bits of its hash: one of some 330 that are in no table is taken for one
 * that is, and weighs too little. Names instead of fingerprints would be four times as large. */
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

/* To the power of 11/16: a collection knows how rare a word is in it, but not that "how" and "to" of a question about
 * code, where they are rare, ask for nothing (mean of eight sets .694 to .708, of 21 others .617 to .635; 1/2 .708 and
 * .633, 3/4 .708 and .634). */
float kernel_term_worth(const uint8_t *term, size_t bytes) {
  if (bytes == 0) return 1;
  size_t at = 0, characters = 0;
  char_kind kind = text_kind(text_next(term, bytes, &at));
  for (size_t i = 0; i < bytes; i++) characters += (term[i] & 0xc0) != 0x80;
  float half = sqrtf(text_prior(text_hash(term, bytes), kind == CHAR_LETTER || kind == CHAR_DIGIT, characters));
  float eighth = sqrtf(sqrtf(half));
  return half * eighth * sqrtf(eighth);
}

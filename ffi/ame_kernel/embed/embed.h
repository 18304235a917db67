/* embed: text to vector. embed.c has the method, count.c reads a text into terms, terms.c adds their features, finish.c
 * makes a vector of the sums by isa/document.h, prior.c weighs terms. Uses text/ and isa/. */
#pragma once

#include <string.h>

#include "embed/prior.h"

#define DIM_MAX     2048
#define BLOCK_WORDS 1536
#define SLOTS       2048
#define ARENA_BYTES 32768
#define PAIR_SLOTS  4096
#define KNOWN_SLOTS 2048
#define KNOWN_BYTES 15
#define ROOTS       24
#define COUNT_MOST  UINT16_MAX

/* Lengths of the grams, as constants so that their loops are compiled for them. */
#define MULTIGRAM_FROM 4
#define MULTIGRAM_TO   6
#define BIGRAM_FROM    3
#define BIGRAM_TO      4

typedef struct model {
  uint32_t dim;
  uint32_t pad_dims; /* the last ones, for the length pad alone */
  uint32_t version;
  float word, stem, grams; /* mixed to unit length within a word */
  float pair;              /* two neighbouring words */
  float piece, whole;      /* an identifier's pieces, and itself */
  float bare;              /* a word of Vietnamese without its tones, beside itself */
  float character;         /* a character of unspaced scripts, beside its pairs */
  float saturation;        /* k of count (k + 1) / (count + k) */
  float pad;               /* c of the length pad, in units of a word */
  uint32_t gram_from, gram_to;
  float first_gram; /* weight of a gram at a word's start, relative to others: the end is often inflection */
} model;

typedef struct term {
  uint64_t hash;
  uint64_t stem; /* hash of the stem; of a term that is not a word: `hash` */
  float prior;
  uint32_t token; /* its hash as a token; only where these are asked for */
  uint32_t count;
  uint16_t at; /* in the arena */
  uint16_t slot;
  uint8_t length;
  uint8_t kind;
  uint8_t ascii;
} term;

/* A cache of terms for the texts of one call: of the terms that are new to a text of prose more than half were in one
 * of the sixty texts before (58 of 100; 51 and 3 % slower with half the slots). The features of their grams are not
 * cached: that would take some 48 bytes more for each. */
typedef struct known {
  uint64_t low, high; /* the term and its kind: see take. low 0: empty */
  uint64_t hash, stem;
  float prior;
  uint32_t token; /* as of `term` */
  uint16_t index; /* its entry in `terms`, if that has this hash and kind */
} known;

typedef struct state {
  const model *m;
  uint64_t used_dims;            /* without the pad's */
  float word, stem, grams;       /* weights of the model, scaled to unit length */
  float word_alone, grams_alone; /* the same for words that have no stem of their own */
  uint32_t used;
  uint32_t arena_used;
  uint32_t slot_mask, known_shift; /* slot_mask for `hash`; the bits above known_shift index `known` */
  uint64_t before;                 /* stem of the word before, for pairs */
  float before_prior;
  float roots[ROOTS]; /* by the number of characters: the divisor of the weights of the grams */
  ame_met_fn met;     /* gets the tokens; NULL: they are not asked for */
  void *met_ctx;
  uint64_t text; /* which of the call's */
  float sum[DIM_MAX];
  uint64_t hash[SLOTS]; /* of a term and its kind; 0: empty. All are empty between texts */
  uint16_t index[SLOTS];
  uint8_t pairs[PAIR_SLOTS]; /* counts of pairs; two in one slot share a count */
  term terms[BLOCK_WORDS];
  known known[KNOWN_SLOTS];
  uint8_t arena[ARENA_BYTES];
} state;

/* Reads a text; adds all but its last block to the sums. */
void embed_count(state *s, const uint8_t *text, size_t bytes);
/* Adds the block to the sums and starts another. */
void embed_flush(state *s);
/* Fills `roots`; called once for a state. */
void embed_roots(state *s);
void embed_finish(state *s, uint32_t role, float *out);

/* ame_embed and, where `fn` is not NULL, tokens: ame_kernel.h. */
int32_t kernel_embed_terms(uint32_t id, uint32_t role, const uint8_t *bytes, const uint64_t *ends, uint64_t n,
                           float *out, ame_met_fn fn, void *ctx);

/* Hashing of features. */

#define SALT_WORD     0x9ae16a3b2f90404full
#define SALT_STEM     0xc949d7c7509e6557ull
#define SALT_PAIR     0xff51afd7ed558ccdull
#define SALT_GRAM     0x8cb92ba72f3d8dd7ull
#define SALT_UNSPACED 0xd6e8feb86659fd93ull

/* Base of the polynomial hash of a term's characters; hashes of grams are differences of its prefixes. */
#define RADIX 0x9e3779b97f4a7c15ull

/* Adds to a dimension that is not the length pad's. The sign is set without a branch, which would be mispredicted half
 * the time. */
static inline void add_feature(state *s, uint64_t feature, float weight) {
  uint64_t h = (feature ^ (feature >> 29)) * 0xff51afd7ed558ccdull;
  h ^= h >> 32;
  uint32_t bucket = (uint32_t)(((h & 0xffffffffu) * s->used_dims) >> 32), bits;
  memcpy(&bits, &weight, sizeof bits);
  bits ^= (uint32_t)(h >> 32) & 0x80000000u;
  memcpy(&weight, &bits, sizeof bits);
  s->sum[bucket] += weight;
}

static inline int is_word(term_kind kind) { return kind <= TERM_WHOLE; }

/* 1 for a count of 1. From COUNT_MOST on all counts are one. */
static inline float saturate(const model *m, uint32_t count) {
  float n = (float)(count < COUNT_MOST ? count : COUNT_MOST);
  return n * (m->saturation + 1) / (n + m->saturation);
}

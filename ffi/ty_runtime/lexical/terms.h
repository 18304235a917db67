/* A row's tokens as stored, in a delta: a byte of the version of tokenising (ame_kernel.h, token_version), number of
 * distinct terms, number of tokens (LEB128 each), then bits (bits.h) for each term in ascending order of hash: the hash
 * less the smallest that can follow the one before, Rice with ty_terms_parameter; tf, gamma. A label (labels.h) adds
 * one to the tf of its hash and nothing to the tokens. A row with neither has no bytes.
 *
 * Labels are not told from terms, as in the lexical index: the terms of a row of the base, which are in the index only,
 * can be made this way again. */
#pragma once

#include "os/buffer.h"

#define TY_TERM_MOST 16u                        /* bytes of one term at most */
#define TY_TF_MAX    (1u << 30)                 /* of a term in a row, which has 64 MiB of text at most */
unsigned ty_terms_parameter(uint64_t distinct); /* near the best for evenly spread hashes */
typedef struct ty_term_reader {
  const uint8_t *at, *end;
  uint64_t distinct, tokens;
  uint64_t seen;
  uint64_t sum; /* of the tfs of those */
  uint64_t bit; /* from `at` */
  uint32_t hash;
  uint32_t tf;
  uint32_t version; /* 0: no terms */
} ty_term_reader;
bool ty_terms_open(ty_term_reader *r, ty_slice terms); /* false: malformed; an empty slice is zero terms */
/* The next term. False at the end, or malformed: see ty_terms_whole. */
bool ty_terms_next(ty_term_reader *r);
/* Whether all was read and no byte follows, where the tfs sum to the tokens and at most TY_LABELS_MAX labels. A row
 * with a text has no labels: its terms are made of the text again, and labels would be lost. */
bool ty_terms_whole(const ty_term_reader *r, bool has_text);
/* Whether terms of a row without text are of that version of tokenising, and whole. */
bool ty_terms_good(ty_slice terms, uint32_t version);

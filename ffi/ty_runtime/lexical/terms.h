/* A row's tokens as stored, where its text is not: a byte of the version of tokenising (ame_kernel.h, token_version),
 * number of distinct terms, number of tokens (LEB128 each), then bits (bits.h) for each term in ascending order of
 * hash: the hash less the smallest that can follow the one before, Rice with ty_terms_parameter; tf, gamma. A row
 * without a term has no bytes. */
#pragma once

#include <stdbool.h>
#include "os/buffer.h"

#define TY_TERM_MOST 16u                        /* bytes of one term at most */
#define TY_TF_MAX    (1u << 30)                 /* of a term in a row, which has 64 MiB of text at most */
unsigned ty_terms_parameter(uint64_t distinct); /* near the best for evenly spread hashes */
typedef struct ty_term_reader {
  const uint8_t *at, *end;
  uint64_t distinct, tokens, seen;
  uint64_t bit; /* from `at` */
  uint32_t hash;
  uint32_t tf;
  uint32_t version; /* 0: no terms */
  unsigned parameter;
} ty_term_reader;
bool ty_terms_open(ty_term_reader *r, ty_slice terms); /* false: malformed; an empty slice is zero terms */
bool ty_terms_next(ty_term_reader *r);                 /* false at the end, or malformed (seen < distinct) */

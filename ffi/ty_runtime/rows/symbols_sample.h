/* A table of symbols for the texts of rows, made of a sample of them. */
#pragma once

#include "rows/segment.h"

/* Rows in some order. `row` is called for those that are sampled, and tells the i-th one. */
typedef struct ty_text_rows {
  ty_ref (*row)(const void *context, uint64_t i);
  const void *context;
  uint64_t count;
} ty_text_rows;

/* Bytes of a text that are read for the sample, at most. */
#define TY_SAMPLED_BYTES ((uint64_t)64 << 10)

/* Makes a table; of its head only `count` is set, 0 where coding does not pay. *share is how much coding leaves of the
 * sample, 1 where it does not pay. `old` is the table that the texts have, or NULL: `out` has the same symbols unless
 * others make the sample more than 5 % shorter. False: out of memory. Texts that are malformed are left out, and noted
 * in `r`. */
bool ty_symbols_of_rows(const ty_text_rows *rows, ty_text_reader *r, const ty_symbols *old, ty_symbols *out,
                        double *share);

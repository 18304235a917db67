/* Rows whose stored metadata hold one of some texts. Metadata are JSON as the caller wrote it: a member with its value,
 * as `"kind":"decision"`, finds every row that has it where the caller always writes JSON in one way. It finds rows as
 * well that have it deeper inside: the caller checks. */
#pragma once

#include "scan/filter.h"

typedef struct ty_strings {
  const uint8_t *bytes;
  const uint64_t *ends;
  uint64_t n;
} ty_strings;

/* By place, a bit each. */
typedef struct ty_having {
  uint8_t *bits; /* NULL: all rows */
} ty_having;

/* Reads the metadata of the live rows that the filter allows, in the order in which they are stored: one after the
 * other is decoded in a fraction of the time of scattered ones. TY_NO_MEMORY; TY_INVALID for an empty text. */
ty_status ty_having_open(ty_having *h, const ty_collection *c, const ty_filter *filter, ty_strings texts,
                         ty_error *err);
static inline bool ty_having_row(const ty_having *h, const ty_collection *c, ty_ref row) {
  if (h->bits == NULL) return true;
  ty_place place = ty_place_of(c, row);
  return (h->bits[place / 8] >> place % 8 & 1) != 0;
}
void ty_having_close(ty_having *h);

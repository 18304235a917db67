/* Which rows a question may see: live ones, and where a filter is given only those whose column holds the value.
 *
 * A partition key is cheap on the base: its rows lie in one span. Any other column, and the whole delta, is a
 * comparison of u32 codes in blocks, so that the codes and vectors of a block without a match are never touched.
 */
#ifndef TY_FILTER_H
#define TY_FILTER_H

#include "rows/collection.h"

typedef struct ty_filter {
  bool none; /* no row matches: the value is unknown, or empty */
  bool all;  /* no filter: every live row */
  uint32_t column;
  uint32_t code;
  uint64_t first, count; /* the only positions of the base that can match */
  uint8_t *under;        /* a second condition: by code of `under_column`, whether its rows match; NULL: none */
  uint32_t under_column;
  uint64_t under_rows; /* live rows that it allows */
} ty_filter;

/* TY_INVALID for a column that does not exist. */
ty_status ty_filter_open(const ty_collection *c, uint64_t column, ty_slice key, ty_filter *out, ty_error *err);
/* Adds the condition `under` of ty_ask_args to an open filter; nothing where it has no bytes. */
ty_status ty_filter_under(const ty_collection *c, uint64_t column, ty_slice under, ty_filter *f, ty_error *err);
void ty_filter_close(ty_filter *f); /* frees what ty_filter_under took */
/* Every live row of one run of the base: what calibration asks over. */
void ty_filter_span(ty_filter *out, uint64_t first, uint64_t count);
bool ty_filter_allows(const ty_filter *f, const ty_segment *s, uint64_t at);
/* True where every live row of the segment that the question may be fed is allowed: no column needs to be compared. */
bool ty_filter_live_only(const ty_filter *f, const ty_segment *s);
/* Of the n (at most 65,535) positions from `first` on, writes those allowed as offsets from `first`; returns how many.
 */
uint32_t ty_filter_select(const ty_filter *f, const ty_segment *s, uint64_t first, uint32_t n, uint16_t *offsets);

#endif

/* Which rows a query may return: live ones and, with a filter, only those whose column has the value.
 *
 * A partition key is cheap on the base: its rows lie in one span. For other columns the base has its rows by value, and
 * a query that reads vectors gathers those that it allows, once for all its threads. Where that would not be faster, in
 * the delta, and for words, u32 codes are compared block by block, so that the vectors of a block without a match are
 * never read. */
#pragma once

#include "rows/collection.h"

/* How the rows of the base that can match are found. */
typedef enum ty_filter_how {
  TY_FILTER_COMPARES, /* all positions are looked at */
  TY_FILTER_VALUE,    /* the rows by value of `column` list them */
  TY_FILTER_UNDER     /* those of `under_column` do */
} ty_filter_how;

typedef struct ty_filter {
  bool none; /* no row matches: the value is unknown, or empty */
  bool all;  /* no filter: every live row */
  uint32_t column;
  uint32_t code;
  uint64_t first, count; /* the only positions of the base that can match */
  uint8_t *under;        /* a second condition: by code of `under_column`, whether its rows match; NULL: none */
  uint32_t under_column;
  uint64_t under_rows; /* live rows that match it */
  uint32_t under_runs; /* runs of codes that do */
  ty_filter_how how;
  uint32_t trouble; /* TY_TROUBLE_FILTER where rows by value are damaged that would have been read, or 0 */
  uint32_t *rows; /* after ty_filter_gather, unless codes are compared: the allowed positions of the base, ascending */
  uint64_t row_count;
} ty_filter;

/* TY_INVALID for a column that does not exist. */
ty_status ty_filter_open(const ty_collection *c, uint64_t column, ty_slice key, ty_filter *out, ty_error *err);
/* Adds the condition `under` of ty_ask_args to an open filter; none where it has no bytes. */
ty_status ty_filter_under(const ty_collection *c, uint64_t column, ty_slice under, ty_filter *f, ty_error *err);
/* Reads the allowed rows of the base where they are listed, for scans; without it they compare codes. TY_CORRUPT where
 * the list cannot be right. */
ty_status ty_filter_gather(const ty_collection *c, ty_filter *f, ty_error *err);
void ty_filter_close(ty_filter *f); /* frees what the two functions before allocated */
/* Every live row of one run of the base, for calibration. */
void ty_filter_span(ty_filter *out, uint64_t first, uint64_t count);
/* The partition whose rows give the statistics, by its code. 0: it has no rows. TY_NO_CODE: all rows do, also if none
 * matches: in ty_ask_many, rows of another collection may match. */
static inline uint32_t ty_filter_partition(const ty_filter *f) {
  if (f->all || f->column != 0) return TY_NO_CODE;
  return f->none ? 0 : f->code;
}
bool ty_filter_allows(const ty_filter *f, const ty_segment *s, uint64_t at);
/* True where no column needs to be compared: every live row that the scanner is fed of the segment is allowed. */
bool ty_filter_live_only(const ty_filter *f, const ty_segment *s);
/* Whether the allowed rows of the segment were gathered, and then those among `count` positions from `first` on: *n of
 * them, ascending, at *rows. */
bool ty_filter_rows(const ty_filter *f, const ty_segment *s, uint64_t first, uint64_t count, const uint32_t **rows,
                    uint64_t *n);
/* The first position from `at` on that may be allowed, or `end`. */
uint64_t ty_filter_next(const ty_filter *f, const ty_segment *s, uint64_t at, uint64_t end);
/* Writes the allowed of n (at most 65,535) positions as offsets from `first`; returns how many. */
uint32_t ty_filter_select(const ty_filter *f, const ty_segment *s, uint64_t first, uint32_t n, uint16_t *offsets);

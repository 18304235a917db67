/* A scanner's state, and what its files share: scanner.c, question.c, levels.c, lines_query.c, lines_part.c, lines.c,
 * lines_zero.c, expected.c, damaged.c. */
#pragma once

#include <float.h>
#include "os/arena.h"
#include "rows/checks.h"
#include "scan/scanner.h"
#include "scan/heap.h"

/* Rows screened with one threshold, in blocks: 32 x 3.4 KB (384 dimensions) stay in the L2 cache. The first chunks of a
 * scan are smaller: without a threshold every row survives. */
#define CHUNK_BLOCKS 32u
#define CHUNK_ROWS   (CHUNK_BLOCKS * AME_BLOCK_ROWS)
#define DELTA_BIT    (1ull << 63)
/* Rows that a message names. */
#define SCAN_NAMED 3u

/* Bounds of a row's value. */
typedef struct scan_range {
  double least, most;
} scan_range;

/* What a bound has to allow for, because its level reads the query q as codes q^ and misses d = q - q^
 * (lines_query.c). */
typedef struct scan_missed {
  double sum;    /* of |d_j| */
  double length; /* |d| */
  double size;   /* the sum of |q^_j| */
} scan_missed;

/* A query against vertical codes: lines_query.c. */
typedef struct scan_lines_query {
  uint32_t *dims; /* in which the query is not zero, those in which it is largest first */
  int8_t *codes, *fine_codes;
  uint64_t count;
  ame_line_query query, fine; /* the same, filled up; the second with codes of what the first misses */
  double fine_scale;          /* of those codes */
  ame_line_bound bound[2];    /* for the base and for the delta */
  bool proved[2];
  /* The part of the dimensions that is read of all rows in sparse blocks of the base, and the rest: lines_part.c. */
  ame_line_query part, rest;
  ame_line_bound part_bound;
  /* Both by the size of the part, in steps of AME_LINE_TOGETHER dimensions. */
  scan_missed *missed;
  float *sampled; /* the largest products of a sample of rows with the part; NULL: not measured */
  double margin;  /* `sampled` times this has to stay below the threshold */
  /* Half width of a bound by both: min(per_width * width, per_norm * norm_most) + per_level * width + per_err * err +
   * slack.
   */
  double per_width, per_norm, per_level, per_err;
  double length; /* the sum of |q_j| */
  bool whole;    /* all runs of the base in these dimensions were read before, and are good */
  float *row;    /* dim floats, zero but in `dims`: rows to score are decoded there only */
} scan_lines_query;

/* A row that was scored before the scan: expected.c. */
typedef struct scan_expected {
  uint64_t at; /* as in scan_candidate */
  float score;
} scan_expected;

struct ty_scanner {
  ty_arena memory; /* of what is allocated once */
  const ty_collection *c;
  const ame_kernel *k;
  const ty_filter *filter;
  const ty_segment *base, *delta;
  uint32_t dim;
  uint64_t stride;
  const float *query;
  int8_t *query_codes;
  float *row;       /* scratch for a decoded row */
  double norm;      /* of the query, rounded up */
  double codes_err; /* of its 8-bit codes */
  double scale, per_norm, per_err,
      slack;                      /* half width of a bound by 8-bit codes = per_norm * norm + per_err * err + slack */
  double squared, l2_rounding;    /* L2: |q|^2, and the relative error of a squared distance in f32; else 0 */
  double value_least, value_most; /* scores are cut to the range of a float, so values are too */
  struct {                        /* the query against the blocks of the base and of the delta */
    ame_i4_query query;
    bool proved;         /* the query is in the range that the 4-bit bound is proved for */
    int8_t *codes;       /* of a rotated query; else NULL */
    double value, slack; /* <q, anchor>, and how far f32 scores may be off by it */
  } screen[2];
  scan_lines_query lines;
  scan_bounds bounds;
  scan_expected *expected; /* by position */
  uint64_t expected_count;
  scan_candidates coarse, candidates; /* bounded by 4-bit codes, and by 8-bit codes */
  uint32_t chunk;                     /* blocks of the next chunk */
  ty_scan_counts counts;
  /* Damage of the base. */
  bool codes_good; /* no row has to be looked at: all 8-bit codes were read before, and no vector is known to be damaged
                    */
  bool vectors_good;                     /* all stored vectors were read before */
  bool careful;                          /* some are damaged: rows are looked at before they raise the threshold */
  uint64_t lost[SCAN_NAMED], lost_count; /* rows without a text that cannot be scored */
};

/* ---- question.c ---- */
/* Codes the query for both levels. False: out of memory. */
bool scan_prepare(ty_scanner *s);
/* The score that orders an answer, and a score in the scale of bounds. */
float scan_score(const ty_scanner *s, const float *row);
double scan_value(const ty_scanner *s, float score);

/* ---- levels.c ---- */
/* Screens at most CHUNK_ROWS rows, for which both lists of candidates have room. `next` rows after these will be
 * screened next, and are prefetched. */
void scan_chunk(ty_scanner *s, const ty_segment *segment, uint64_t first, uint32_t n, uint64_t next);
/* Screens the first of n rows, ascending, of which none is dead: at most CHUNK_ROWS, for which there is room as for
 * scan_chunk. Returns how many. */
uint32_t scan_listed(ty_scanner *s, const ty_segment *segment, const uint32_t *rows, uint64_t n);
/* Screens those of at most CHUNK_ROWS rows that are listed and live, as scan_chunk. */
void scan_chosen(ty_scanner *s, const ty_segment *segment, uint64_t first, uint32_t n, const uint16_t *offsets,
                 uint32_t selected);
/* Bounds the coarse candidates by their 8-bit codes. False: out of memory. */
bool scan_refine(ty_scanner *s);

/* ---- damaged.c ---- */
/* At the opening. */
void scan_look(ty_scanner *s);
/* Whether a row of the base can be bounded by its 8-bit codes. Where not, notes it with `least` and `most` to be scored
 * by its vector, or leaves it out. */
bool scan_bounded(ty_scanner *s, uint64_t at, double least, double most);
static inline bool scan_good(ty_scanner *s, const ty_segment *segment, uint64_t at, double least, double most) {
  return s->codes_good || !segment->is_base || scan_bounded(s, at, least, most);
}
/* Leaves out a row of the base, if it is live: with TY_TROUBLE_ROWS, or without a text for the error. */
void scan_leave_out(ty_scanner *s, uint64_t at);
/* The same of those of n rows that are wanted. */
void scan_leave_out_all(ty_scanner *s, uint64_t first, uint32_t n);
/* TY_CORRUPT where a row without a text was left out. */
ty_status scan_whole(const ty_scanner *s, ty_error *err);

/* ---- lines_query.c ---- */
/* Prepares the query for segments with vertical codes. False: out of memory. */
bool scan_lines_prepare(ty_scanner *s);
/* The kernel's factors for bounds of a segment's rows, at a level that misses this of the query. */
ame_line_bound scan_lines_bound(const ty_scanner *s, const ty_segment *segment, const scan_missed *m);
/* ---- lines_part.c ---- */
/* Prepares scan_part_choose. False: out of memory. */
bool scan_part_prepare(ty_scanner *s);
/* Chooses the smallest part that is likely to leave few lines at the current threshold. False if there is none: all
 * dimensions are read at once. */
bool scan_part_choose(ty_scanner *s);
/* Measures how large the products with each part are, in lines of a sparse block of the base that begins at the row
 * position `first`. Once for each scan. False: out of memory. */
bool scan_part_measure(ty_scanner *s, const ame_sparse_block *block, uint64_t first);
/* Adjusts the choice to a block in which `lines` of the lines had to be read in the rest of the dimensions too. */
void scan_part_adjust(ty_scanner *s, uint64_t lines, uint64_t of);
/* ---- expected.c ---- */
/* Of n rows from the position `first` on, a bit each in `rows`: clears the bits of those that were scored before the
 * scan. */
void scan_expected_drop(const ty_scanner *s, const ty_segment *segment, uint64_t first, uint32_t n, uint64_t *rows);
/* ---- lines.c, and lines_zero.c where the query is zero in all dimensions ---- */
/* Scans a run of rows of such a segment. */
ty_status scan_lines(ty_scanner *s, const ty_range *range, ty_error *err);
ty_status scan_lines_zero(ty_scanner *s, const ty_range *range, ty_error *err);
/* Such a row as it is scored: decoded where the query is not zero, and elsewhere zero. */
const float *scan_lines_row(ty_scanner *s, const ty_segment *segment, uint64_t at);
void scan_lines_prefetch(const ty_scanner *s, const ty_segment *segment, uint64_t at);

/* Adds a row with its bounds to the candidates; a NaN or infinite width is not a bound. `least` and `most` are bounds
 * from elsewhere. */
static inline void scan_note(ty_scanner *s, uint64_t at, double middle, double half, double least, double most) {
  bool known = half <= DBL_MAX && middle >= -DBL_MAX && middle <= DBL_MAX; /* false for infinity and for inf * 0 */
  double low = known ? middle - half : -INFINITY, high = known ? middle + half : INFINITY;
  if (low < least) low = least;
  if (high > most) high = most;
  if (low > s->value_most) low = s->value_most;
  if (high < s->value_least) high = s->value_least;
  if (high < s->bounds.threshold) return;
  s->candidates.items[s->candidates.count++] = (scan_candidate){high, at};
  bounds_offer(&s->bounds, low);
}

static inline ty_ref scan_ref(const ty_scanner *s, uint64_t at) {
  return (ty_ref){at & DELTA_BIT ? s->delta : s->base, at & ~DELTA_BIT};
}

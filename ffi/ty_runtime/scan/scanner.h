/* scan: the top k of runs of rows, by the kernel's exact f32 score, though of nearly all rows only the 4-bit codes are
 * read. Uses os and rows.
 *
 *   scanner.h  a query's scan; inside.h, heap.h: its state
 *   filter.h   which rows a query may return
 *
 * A scanner is opened for one query, fed any number of runs in any order, and then yields its answer. Between runs its
 * threshold is a lower bound of the k-th best value so far, so that a caller can skip runs that hold no better row. */
#pragma once

#include "scan/filter.h"

/* A run of rows of one segment. */
typedef struct ty_range {
  const ty_segment *segment;
  uint64_t first, count;
} ty_range;

typedef struct ty_scored {
  ty_ref ref;
  uint64_t birth;
  float score;
} ty_scored;

typedef struct ty_scanner ty_scanner;

/* A base of at least TY_PARTED_LEAST rows is read in a part of the dimensions first (lines_part.c): choosing the part
 * takes as long as scanning 4,096 rows, and in smaller bases few thresholds are high enough. If a filter leaves at
 * least TY_EXPECTED_LEAST rows, expected rows are scored before the scan (expected.c): scoring a hundred takes as long
 * as scanning 100,000. ty_env_open sets both; tests set others. */
#define TY_PARTED_LEAST   262144u
#define TY_EXPECTED_LEAST 262144u

/* Opens a scan for the top_k allowed rows. `rows` is the most rows that it will be fed, which bounds its memory where
 * top_k is larger. `query` is dim finite floats (of a cosine collection: scaled to unit length); it and `filter` stay
 * the caller's, alive until the close. `base` and `delta` are the segments that ranges may name (calibration passes a
 * base that no collection has yet, and NULL). */
ty_status ty_scanner_open(const ty_collection *c, const ty_segment *base, const ty_segment *delta, const float *query,
                          uint64_t top_k, uint64_t rows, const ty_filter *filter, ty_scanner **out, ty_error *err);
/* For exact queries, before the first run: `rows` are live rows of the runs that follow which may be among the best,
 * each once. Those with vertical codes are scored at once, so that the scan begins with a threshold. The answer does
 * not depend on them. False: out of memory. */
bool ty_scanner_expect(ty_scanner *s, const ty_ref *rows, uint64_t n);
/* For approximate queries, before the first run: narrows the bounds by 8-bit codes to this share, 0 to 1, of their
 * proved width. Rows may then be missed. */
void ty_scanner_narrow(ty_scanner *s, double share);
/* Scans a run of rows. Runs must not overlap. TY_CORRUPT where the vectors of rows that may be answers cannot be read
 * and these rows have no text. */
ty_status ty_scanner_feed(ty_scanner *s, const ty_range *range, ty_error *err);
/* Scans the marked rows of a range of at most TY_MARKED_ROWS rows: bit r of marks[i] is for row 16 i + r of the range.
 */
#define TY_MARKED_ROWS 512u
ty_status ty_scanner_feed_marked(ty_scanner *s, const ty_range *range, const uint16_t *marks, ty_error *err);
/* A lower bound of the k-th best value so far; -infinity while fewer than top_k rows were seen. In the scale of inner
 * products: of <q, x>, for L2 of <q, x> - ||x||^2 / 2 = (||q||^2 - ||q - x||^2) / 2. */
double ty_scanner_threshold(const ty_scanner *s);
/* The best rows, best first, ties by earlier birth. *out holds *count rows and is the caller's to free(), also when
 * empty or on failure. Called once. TY_CORRUPT as above. */
ty_status ty_scanner_answer(ty_scanner *s, ty_scored **out, uint64_t *count, ty_error *err);
typedef struct ty_scan_counts {
  uint64_t screened, scored; /* rows whose codes were read; rows scored in f32 */
  /* Lines that were bounded by a part of the query's dimensions, and those of them that were read in the others. */
  uint64_t parted_lines, rest_lines;
  uint32_t trouble; /* TY_TROUBLE_CODES, TY_TROUBLE_ROWS: what the answer did without */
  /* A stored vector turned out to be damaged whose codes had raised the threshold, and the answer is not one. A scanner
   * that is opened from then on leaves such rows out. */
  bool again;
} ty_scan_counts;
ty_scan_counts ty_scanner_counts(const ty_scanner *s);
void ty_scanner_close(ty_scanner *s); /* NULL is fine */

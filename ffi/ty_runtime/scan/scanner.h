/* scan: the best rows over some runs of rows, exact to the last bit of the kernel's f32 score, while nearly all rows
 * are looked at through their 4-bit codes only. Uses os and rows.
 *
 *   scanner.h  a question's scan; inside.h, heap.h: its inside
 *   filter.h   which rows a question may see
 *
 * A scanner is opened for one question, fed runs of rows in any order and number, and asked for its answer. Between
 * runs it says how good the k-th best row so far is at least, so that a caller can leave out runs that cannot hold a
 * better one.
 */
#ifndef TY_SCANNER_H
#define TY_SCANNER_H

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

/* A question for the top_k allowed rows. `rows` is an upper bound of how many rows it will be fed: memory follows what
 * there is, not what was asked. `query` is dim finite floats (of a cosine collection: scaled to unit length) and stays
 * the caller's, alive until the close. `filter` too. `base` and `delta` are the segments that ranges may name
 * (calibration passes a base that no collection has yet). */
ty_status ty_scanner_open(const ty_collection *c, const ty_segment *base, const ty_segment *delta, const float *query,
                          uint64_t top_k, uint64_t rows, const ty_filter *filter, ty_scanner **out, ty_error *err);
/* Looks at a run of rows. Runs must not overlap. */
ty_status ty_scanner_feed(ty_scanner *s, const ty_range *range, ty_error *err);
/* A bound that the k-th best row so far reaches at least; -infinity while fewer than top_k rows were seen. In the scale
 * of inner products: of <q, x>, for L2 of <q, x> - ||x||^2 / 2 = (||q||^2 - ||q - x||^2) / 2. */
double ty_scanner_threshold(const ty_scanner *s);
/* The best rows, best first, ties by earlier birth. *out holds *count rows and is the caller's to free(), also when
 * empty or on failure. Called once. */
ty_status ty_scanner_answer(ty_scanner *s, ty_scored **out, uint64_t *count, ty_error *err);
typedef struct ty_scan_counts {
  uint64_t screened, scored; /* rows whose codes were looked at; rows scored in f32 */
} ty_scan_counts;
ty_scan_counts ty_scanner_counts(const ty_scanner *s);
void ty_scanner_close(ty_scanner *s); /* NULL is fine */

#endif

/* Weighted queries: dimensions are weighted by the mean square of the live rows in them.
 *
 * A dimension in which all rows are large does not distinguish them. So each element of a query is divided by the mean
 * square of the live rows in its dimension (diagonal whitening), smoothed towards the mean over all dimensions where
 * rows are few, and with a floor for dimensions that hardly any row uses. Rows are never changed: a score is still the
 * exact inner product of the weighted query and a stored row, and a change of the weights needs no rewrite.
 *
 * Under a filter on the partition key the rows are those of the partition, so that no row outside of it changes an
 * answer. Sums of a partition are kept in memory while they are asked for; those of the base's rows of a large one are
 * stored in the base, where it would take longer to count them than a query may.
 *
 * Sums are integers, a share of 2^31 for each element, so that adding and subtracting are exact: weights depend only on
 * the live rows, not on the order of changes or on compactions. In doubles they, and results, would drift. */
#pragma once

#include "rows/collection.h"

/* An element's share is floor(min(x^2, 1) * TY_WEIGHTS_ONE): 2^31 rows of the largest stay below 2^62. */
#define TY_WEIGHTS_ONE 0x80000000u

/* Adds the shares of a row's elements to dim sums, or subtracts them (`off`). */
void ty_weights_count(uint64_t *sums, const float *row, uint32_t dim, bool off);

/* The same of a row that is its 8-bit codes times their scale. */
void ty_weights_count_codes(uint64_t *sums, const int8_t *codes, float scale, uint32_t dim);

/* A partition of fewer rows has no weights of its own: its queries weigh all dimensions alike. ty_env_open sets these
 * three, tests set others. */
#define TY_WEIGHED_FROM 128u
/* The base stores the sums of partitions of so many rows or more in it: 16 KB a partition of 2,048 dimensions, at most
 * 1.6 % of its rows. Of fewer rows they are counted in a millisecond. */
#define TY_SUMMED_FROM 512u
/* Memory of the sums and weights of partitions: of some 120 of the text embedder. */
#define TY_WEIGHED_BYTES ((uint64_t)4 << 20)

/* The weights of a collection's queries, empty at first; made with the collection. NULL: out of memory. */
ty_weights *ty_weights_new(void);
void ty_weights_free(ty_weights *w);

/* Marks the weights stale, under the exclusive lock: a row died or was revived; the delta's rows from some position on
 * were replaced; all rows were. New rows need no call. `w` may be NULL. */
typedef enum ty_weights_change { TY_WEIGHTS_DIED, TY_WEIGHTS_DELTA, TY_WEIGHTS_ALL } ty_weights_change;
void ty_weights_note(ty_weights *w, ty_weights_change change);

/* What a query's elements are multiplied by. */
typedef struct ty_weighing {
  const double *factor; /* dim; NULL: all are 1 */
  bool scales;          /* whether the query is scaled to unit length; false where all rows are zero */
  uint32_t trouble; /* TY_TROUBLE_FILTER: sums are damaged and were counted again; TY_TROUBLE_ROWS: without rows that
                       cannot be read */
  struct ty_factors *held; /* of a partition: until the close they outlive its place in memory */
} ty_weighing;

/* The weights of queries for the rows of a partition, by its code in column 0, or for all with TY_NO_CODE, updated from
 * the segments; takes and releases a mutex of their own. Code 0, which no filter matches, has none. TY_INVALID where
 * the metric is not the inner product: a weighted query has no meaning there. TY_CORRUPT where stored sums cannot be
 * right. The caller holds the lock, shared, until the close. */
ty_status ty_weights_open(const ty_collection *c, uint32_t partition, ty_weighing *out, ty_error *err);
void ty_weights_close(ty_weighing *w); /* also one of zeros */

/* Weights for the rows of several collections together, of one dimension: sums are added up, and then opened. */
typedef struct ty_weights_sum {
  uint64_t *sums; /* dim; allocated by the first ty_weights_add */
  uint64_t rows;
  bool whole; /* all rows of some collection were added */
} ty_weights_sum;
/* Adds the rows of a partition or, with TY_NO_CODE, of all, as for ty_weights_open; code 0 has none. `trouble` as in
 * ty_weighing. */
ty_status ty_weights_add(const ty_collection *c, uint32_t partition, ty_weights_sum *to, uint32_t *trouble,
                         ty_error *err);
/* The weights for the rows that were added: as of a collection or, where only partitions were, of a partition of it. */
ty_status ty_weights_open_sum(const ty_collection *c, const ty_weights_sum *of, ty_weighing *out, ty_error *err);
void ty_weights_sum_free(ty_weights_sum *of); /* also one of zeros */
/* About how many rows that has to count first; UINT64_MAX while another thread counts. */
uint64_t ty_weights_pending(const ty_collection *c, uint32_t partition);
/* Weights a query in place and scales it to unit length. A zero query stays, and so does any query if all live rows are
 * zero. On any number of threads. */
void ty_weights_apply(const ty_collection *c, const ty_weighing *w, float *query);

/* The query as it is compared with rows: scaled to unit length in `scratch` (dim floats) for the cosine, weighted
 * there, or, with NULL for `w`, `query` itself. */
const float *ty_query_prepare(const ty_collection *c, const float *query, const ty_weighing *w, float *scratch);

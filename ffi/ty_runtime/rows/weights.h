/* Weighted questions: how much a dimension says, by what the live rows hold of it.
 *
 * Where all rows are large in a dimension, being large there tells no two of them apart. So a question is divided,
 * dimension by dimension, by the mean square of the live rows (a whitening that stops at the diagonal), smoothed both
 * ways: few rows are drawn towards the mean over all dimensions, and one that hardly any row uses does not count
 * without end. Rows are never changed: an answer stays an inner product of a question with stored rows, exact as any,
 * and a change of the weights costs no rewrite.
 *
 * Sums are integers, a share of 2^31 for each element, so that adding and taking off is exact: weights depend on the
 * live rows alone and not on how they came to be, in which order, or whether they were compacted. In doubles they would
 * drift, and answers with them.
 */
#ifndef TY_WEIGHTS_H
#define TY_WEIGHTS_H

#include "rows/collection.h"

/* An element's share is floor(min(x^2, 1) * TY_WEIGHTS_ONE): 2^31 rows of the largest stay below 2^62. */
#define TY_WEIGHTS_ONE 0x80000000u

/* Adds the shares of a row's elements to dim sums, or takes them off. */
void ty_weights_count(uint64_t *sums, const float *row, uint32_t dim, bool off);

/* By what a collection's questions are weighted. Made with the collection's object, empty. */
ty_weights *ty_weights_new(void);
void ty_weights_free(ty_weights *w);

/* Called under the exclusive lock, so that the next weighted question looks: a row died or was revived; the delta's
 * rows from some position on are others than before; everything is another state's. Rows that came it sees by itself.
 * NULL is fine. */
typedef enum ty_weights_change { TY_WEIGHTS_DIED, TY_WEIGHTS_DELTA, TY_WEIGHTS_ALL } ty_weights_change;
void ty_weights_note(ty_weights *w, ty_weights_change change);

/* Brings the weights in step with the segments; takes and releases a mutex of their own. TY_INVALID where the metric
 * is not the inner product: a weighted question has no meaning there. For a caller that has entered a question. */
ty_status ty_weights_sync(const ty_collection *c, ty_error *err);
/* How many rows that has to count, about; UINT64_MAX where another thread is at it. */
uint64_t ty_weights_pending(const ty_collection *c);
/* False where what is counted of a segment, the base or the delta, is not `live`, dim sums over its live rows. True
 * where the next sync brings it in step. */
bool ty_weights_agree(const ty_collection *c, const ty_segment *s, const uint64_t *live);
/* Weighs a question in place and scales it to unit length. A zero question stays, and so does any where no live row
 * holds anything. After a sync, on any number of threads. */
void ty_weights_apply(const ty_collection *c, float *query);

/* A question as it is compared with rows: of a cosine collection scaled to unit length in `scratch` (dim floats),
 * weighted there (after ty_weights_sync), or `query` itself. */
const float *ty_query_prepare(const ty_collection *c, const float *query, bool weighted, float *scratch);

#endif

/* Signs: one bit for each dimension of a row's residual, its difference from its centroid. By these an approximate
 * query excludes most rows of the lists that it reads. Centroids have signs too, of their difference from the mean of
 * all centroids: by these it chooses the lists (Gao and Long, RaBitQ, SIGMOD 2024).
 *
 * Let a row be x = c + e, with the residual e. v' is v after the kernel's rotation; s are the signs of e', each 1 or
 * -1. For any vector v that is independent of s,
 *
 *   <v, e> is about f <v', s> with f = |e|^2 / sum |e'|,   with an error of about |v| z,
 *   z = f sqrt(1 - a^2) with a = sum |e'| / (|e| sqrt(dim)), about 0.8.
 *
 * a is the cosine of e' and s: the signs hold the part of e' along s, and the remainder is nearly orthogonal to v'
 * after the rotation. The error is distributed like a normal one (its standard deviation is 0.99 |v| z for 100,000 x
 * 384 rows and for fashion-mnist). It is smallest for the part of the query that is orthogonal to the centroid, v = q -
 * t c with t = <q, c> / |c|^2; then
 *
 *   <q, x> is about <q, c> + t (<c, e> - f <c', s>) + f <q', s>,
 *
 * where the bracket is stored with the row, and the kernel computes <q', s> for sixteen rows at a time from tables of
 * the query. For L2, t is 1, and the stored number includes -|x|^2 / 2.
 *
 * This proves nothing about a single row: a row whose error is above TY_SIGN_MARGIN times |v| z is missed. Calibration
 * counts such a row as missed at any reach, so that the recall holds. Exact queries read no signs. */
#pragma once

#include "ivf/ivf.h"

/* With 100,000 x 384 rows in broad clusters it misses 0.02 % of the neighbours and leaves some 40 rows beyond the
 * answers. 2.5 misses 0.15 % and leaves 30; 4 misses none and leaves 70. */
#define TY_SIGN_MARGIN 3.0
/* With fewer dimensions the errors are too large. */
#define TY_SIGN_DIM_LEAST 64u

/* Bytes of the signs of a part in their section. `starts`, nlist + 1 of them, gets the first block of each list; it may
 * be NULL. */
uint64_t ty_sign_bytes(uint32_t dim, uint32_t nlist, const uint64_t *list_starts, uint64_t *starts);

/* Writes the signs of a residual as row r of a block; the caller has set the block to zeros. `row`, dim floats, is the
 * residual, and is overwritten. `centre` is what it is a difference from, a centroid or the mean, and `rotated` the
 * same after the rotation. `bias` is added to the stored number. */
void ty_sign_put(const ame_kernel *k, uint32_t dim, const float *centre, const float *rotated, double bias, float *row,
                 uint8_t *block, uint32_t r);

/* Makes the signs of the centroids of a new index. Does nothing if its rows get no signs: with fewer than
 * TY_SIGN_DIM_LEAST dimensions, or in a vertical base. */
ty_status ty_signs_make(ty_rebase *r, const ty_segment *base, ty_error *err);
/* Passes the bytes of the section to `sink`, in order; none if the index has no signs. Rows are read from the new base.
 * `sink` returns false to stop, and keeps its error. */
typedef bool (*ty_sign_sink)(void *context, const void *data, uint64_t bytes);
ty_status ty_signs_write(ty_rebase *r, const ty_segment *base, ty_sign_sink sink, void *context, ty_error *err);
/* Finds the signs of each part of an opened index in ivf->signs. TY_CORRUPT: the section has another size. */
ty_status ty_signs_open(ty_ivf *ivf, uint32_t dim, ty_error *err);

/* Whether a query can use the signs of the part's centroids: it has tables, and they are there and intact. */
bool ty_signs_usable(const ty_ivf_question *q, const ty_ivf_part *part);
/* Fills the tables of a query; `rotated` is the query after the rotation. */
void ty_sign_tables(ty_ivf_question *q, const float *rotated);
/* ty_ivf_estimate by the signs of the centroids, which must be usable. */
void ty_sign_estimate(const ty_ivf_question *q, const ty_ivf_part *part, float *middle, float *spread);
/* The query for the signs of the rows of a list; `p` is its product with the centroid. A row whose value is below
 * *least is excluded. */
ame_sign_query ty_sign_question(const ty_ivf_question *q, const ty_ivf_part *part, uint32_t list, ty_ivf_product p,
                                double threshold, float *least);
/* Whether a query with this threshold excludes a row of a list by its signs. `scratch` has room for 2 dim floats and a
 * block. */
bool ty_sign_excludes(const ty_ivf_question *q, const ty_ivf_part *part, uint32_t list, const float *row,
                      double threshold, float *scratch);

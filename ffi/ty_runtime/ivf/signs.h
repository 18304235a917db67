/* Signs: one bit a dimension of what a row differs from its centroid in, by which an approximate query excludes most
 * rows of the lists that it reads, and of what a centroid differs from the mean of all in, by which it chooses the
 * lists (Gao and Long, RaBitQ, SIGMOD 2024).
 *
 * A row is x = c + e. e' = e, turned by the kernel's rotation; s are the signs of e', one and minus one. For any vector
 * v that has nothing to do with s
 *
 *   <v, e> is about f <v', s> with f = |e|^2 / sum |e'|,   and is off by about |v| z,
 *   z = f sqrt(1 - a^2) with a = sum |e'| / (|e| sqrt(dim)), about 0.8,
 *
 * because of v the part along s tells a of the part along e, and what e has across s is nearly orthogonal to v. The
 * error is distributed like a normal one (100,000 x 384 rows and fashion-mnist: its standard deviation is 0.99 |v| z).
 * It is smallest for the part of the query across the centroid, v = q - t c with t = <q, c> / |c|^2; then
 *
 *   <q, x> is about <q, c> + t (<c, e> - f <c', s>) + f <q', s>,
 *
 * whose bracket is a number of the row, and <q', s> what the kernel computes for sixteen rows at a time from tables of
 * the query. For L2 t is 1, and the row's number includes -|x|^2 / 2.
 *
 * That proves nothing of a single row: one whose error is above TY_SIGN_MARGIN times |v| z is missed. Calibration
 * counts it as missed at any reach, so that the recall holds. Exact queries read no signs. */
#pragma once

#include "ivf/ivf.h"

/* Misses 0.02 % of neighbours of 100,000 x 384 rows in broad clusters, where 2.5 misses 0.15 % and 4 none, and some
 * forty, thirty and seventy rows beyond the answers are left. */
#define TY_SIGN_MARGIN 3.0
/* Fewer dimensions have too large errors. */
#define TY_SIGN_DIM_LEAST 64u

/* Bytes of a part's signs in their section; `starts`, nlist + 1, gets the first block of each list unless NULL. */
uint64_t ty_sign_bytes(uint32_t dim, uint32_t nlist, const uint64_t *list_starts, uint64_t *starts);

/* Puts row r of a block, zeroed before: `row` (of dim floats, overwritten) is the row less its centre, `turned` the
 * rotated centre, `centre` that before; `bias` is added to its number. */
void ty_sign_put(const ame_kernel *k, uint32_t dim, const float *centre, const float *turned, double bias, float *row,
                 uint8_t *block, uint32_t r);

/* Gives the parts of a new index the signs of their centroids; unless rows have none, as those of a vertical base. */
ty_status ty_signs_make(ty_rebase *r, const ty_segment *base, ty_error *err);
/* The bytes of the section, in turn; nothing where the index has no signs. Rows are read of the new base. */
typedef bool (*ty_sign_sink)(void *context, const void *data, uint64_t bytes);
ty_status ty_signs_write(ty_rebase *r, const ty_segment *base, ty_sign_sink sink, void *context, ty_error *err);
/* Gives the parts of an opened index the signs that ivf->signs has. TY_CORRUPT: they are of another size. */
ty_status ty_signs_open(ty_ivf *ivf, uint32_t dim, ty_error *err);

/* Whether a query reads signs of the part's centroids. */
bool ty_signs_usable(const ty_ivf_question *q, const ty_ivf_part *part);
/* Fills the query's tables; `turned` is the query, rotated. */
void ty_sign_tables(ty_ivf_question *q, const float *turned);
/* ty_ivf_glance by the signs of the centroids, where they are usable. */
void ty_sign_glance(const ty_ivf_question *q, const ty_ivf_part *part, float *middle, float *spread);
/* The query to the rows of a list; `p` is its product with the centroid. *least gets the value below which a row is
 * excluded. */
ame_sign_query ty_sign_question(const ty_ivf_question *q, const ty_ivf_part *part, uint32_t list, ty_ivf_product p,
                                double threshold, float *least);
/* Whether a query with this threshold excludes a row of a list by its signs. `scratch`: 2 dim floats and a block. */
bool ty_sign_excludes(const ty_ivf_question *q, const ty_ivf_part *part, uint32_t list, const float *row,
                      double threshold, float *scratch);

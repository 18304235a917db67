/* Finding the nearest centroid of rows: near.c. */
#pragma once

#include "ivf/ask.h"

/* Prepares centroids for comparing rows of a span with them. They and half_norms belong to the caller and must live
 * until the close. *out must be closed on failure too. */
typedef struct ty_ivf_near ty_ivf_near;
ty_status ty_ivf_near_open(const ty_ivf_builder *b, const ty_span *span, const float *centroids,
                           const float *half_norms, uint32_t nlist, ty_ivf_near **out, ty_error *err);
void ty_ivf_near_close(ty_ivf_near *n); /* NULL is fine */

/* Lists that are kept of a row, the most promising ones. */
#define TY_IVF_NEAR_KEPT 4u

/* For each row its nearest list, or one slightly farther, and the squared distance as from sq_l2: the sum of these over
 * a sample of the span is at most 0.2 % above that of the nearest, as checked by the open. At most TY_IVF_NEAR_ROWS
 * rows; on any number of threads. `kept` gets TY_IVF_NEAR_KEPT lists of each row; NULL: they are not wanted. */
void ty_ivf_near_find(const ty_ivf_near *n, const ty_ivf_asked *rows, uint32_t count, uint32_t *lists, float *squares,
                      uint32_t *kept);
/* The nearest of the lists kept of one row, after the centroids have moved. */
void ty_ivf_near_again(const ty_ivf_builder *b, const float *centroids, const uint32_t *kept, const float *row,
                       uint32_t *list, float *square);

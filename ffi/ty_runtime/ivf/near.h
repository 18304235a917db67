/* Finding the nearest centroid of rows: near.c. */
#ifndef TY_IVF_NEAR_H
#define TY_IVF_NEAR_H

#include "ivf/ask.h"

/* Centroids made ready for being compared with rows of a span; they and half_norms stay the caller's, alive until the
 * close. *out is to be closed on failure too. */
typedef struct ty_ivf_near ty_ivf_near;
ty_status ty_ivf_near_open(const ty_ivf_builder *b, const ty_span *span, const float *centroids,
                           const float *half_norms, uint32_t nlist, ty_ivf_near **out, ty_error *err);
void ty_ivf_near_close(ty_ivf_near *n); /* NULL is fine */

/* A list that is a row's nearest or hardly farther, and the squared distance, as from sq_l2: of some rows of the span,
 * the open made sure, these are together at most 0.2 % more than to the nearest. At most TY_IVF_NEAR_ROWS rows; any
 * number of threads at a time. */
void ty_ivf_near_find(const ty_ivf_near *n, const ty_ivf_asked *rows, uint32_t count, uint32_t *lists, float *squares);

#endif

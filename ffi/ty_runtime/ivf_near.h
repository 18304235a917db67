/* Finding the nearest centroid of rows: ivf_near.c. */
#ifndef TY_IVF_NEAR_H
#define TY_IVF_NEAR_H

#include "ivf.h"

/* Centroids made ready for being compared with rows of a span; they and half_norms stay the caller's, alive until the close. *out is to be
 * closed on failure too. */
typedef struct ty_ivf_near ty_ivf_near;
ty_status ty_ivf_near_open(const ty_ivf_builder *b, const ty_span *span, const float *centroids, const float *half_norms, uint32_t nlist,
                           ty_ivf_near **out, ty_error *err);
void ty_ivf_near_close(ty_ivf_near *n); /* NULL is fine */

/* Rows that are compared together. */
#define TY_IVF_NEAR_ROWS 32u

typedef struct ty_ivf_asked {
  const float *row;
  const int8_t *codes;
  double scale; /* of the codes */
} ty_ivf_asked;

/* A list that is the row's nearest but for a few rows, and then hardly farther, and the squared distance, as from sq_l2. At most
 * TY_IVF_NEAR_ROWS rows; any number of threads at a time. */
void ty_ivf_near_find(const ty_ivf_near *n, const ty_ivf_asked *rows, uint32_t count, uint32_t *lists, float *squares);

/* Makes rows ready to be asked (ivf_assign.c). Their codes are those of the segments, made here where they have none. */
typedef struct ty_ivf_asker {
  float *rows;   /* room for TY_IVF_NEAR_ROWS decoded rows */
  int8_t *codes; /* and their codes; NULL where segments have them */
} ty_ivf_asker;
bool ty_ivf_asker_open(const ty_ivf_builder *b, ty_ivf_asker *a); /* false: out of memory; to be closed all the same */
void ty_ivf_asker_close(ty_ivf_asker *a);
/* The row at a position of b->r->rows, number i of those asked together. */
ty_ivf_asked ty_ivf_ask(const ty_ivf_builder *b, const ty_ivf_asker *a, uint32_t i, uint64_t at);

#endif

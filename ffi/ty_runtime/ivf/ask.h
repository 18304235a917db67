/* Rows in the form in which they are compared with centroids: ask.c. */
#pragma once

#include "ivf/builder.h"

/* Rows that are compared together. */
#define TY_IVF_NEAR_ROWS 32u

typedef struct ty_ivf_asked {
  const float *row;
  const int8_t *codes;
  double scale; /* of the codes */
} ty_ivf_asked;

/* Memory for such rows: decoded rows, and codes where the segments have none. */
typedef struct ty_ivf_asker {
  float *rows;   /* TY_IVF_NEAR_ROWS decoded rows */
  int8_t *codes; /* and their codes; NULL where all segments have them */
} ty_ivf_asker;
/* The arena holds its memory, and tells whether it could be had. */
ty_ivf_asker ty_ivf_asker_open(const ty_ivf_builder *b, ty_arena *arena);
/* The row at a position of b->r->rows, as number i of the rows compared together. */
ty_ivf_asked ty_ivf_ask(const ty_ivf_builder *b, const ty_ivf_asker *a, uint32_t i, uint64_t at);

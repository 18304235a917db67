/* The stored forms of a vector: written from floats, and read. */
#ifndef TY_VECTOR_H
#define TY_VECTOR_H

#include "rows/collection.h"

#define TY_LEVELS_BYTES 8u /* int4: scale and offset, before the codes */

/* The row's decoded vector: in place where f32 is stored as such, else in `scratch` (dim floats). */
const float *ty_row_vector(const ty_collection *c, const ty_segment *s, uint64_t at, float *scratch);
/* Bytes of a vector in the stored form. */
uint64_t ty_vector_bytes(const ty_collection *c);

/* Memory to bring some rows at a time, as many as the CPU's cache holds well, into their stored form. */
#define TY_CODER_ROWS 64u
typedef struct ty_coder {
  const ty_collection *c;
  uint64_t room;   /* rows at a time, at most TY_CODER_ROWS */
  float *rows;     /* room x dim: the caller's rows go in, decoded ones come out */
  uint8_t *stored; /* room x ty_vector_bytes; for f32 the same memory as `rows` */
  int8_t *codes;   /* scratch */
  ame_code_info i8_info[TY_CODER_ROWS];
  ame_i4_info i4_info[TY_CODER_ROWS];
} ty_coder;
ty_status ty_coder_open(ty_coder *w, const ty_collection *c, ty_error *err);
void ty_coder_free(ty_coder *w);
/* The first n of w->rows, which are finite: scaled to unit length where the metric is cosine, stored, and decoded
 * again. False where an element is too large for the dtype: *bad is its index among the n x dim. */
bool ty_coder_store(ty_coder *w, uint64_t n, uint64_t *bad);
/* What such an element is to the dtype, for people: "f16 cannot hold (...)". */
const char *ty_dtype_limit(ty_dtype dtype);

/* A stored form decoded: in place where f32 is stored (4-byte aligned then), else into `scratch` (dim floats). */
const float *ty_vector_decode(const ty_collection *c, const uint8_t *stored, float *scratch);
/* Of f32: whether the row's 8-bit codes times its scale are the row, bit for bit (-0 is not 0). So are rows that are
 * such multiples by nature, as the text embedder's, and of others practically none. */
bool ty_row_is_codes(const ty_collection *c, const ty_segment *s, uint64_t at);
/* What 8-bit codes say: scale * code each. */
void ty_codes_decode(const int8_t *codes, float scale, uint32_t dim, float *out);
/* Whether a stored form from a file is one that we would write, and `decoded`, what it stands for, finite. */
bool ty_vector_good(const ty_collection *c, const uint8_t *stored, const float *decoded);
#endif

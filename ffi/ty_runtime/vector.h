/* Vectors on their way in: from floats to the stored form, and from the stored form to what screens a row. internal.h
 * has the way out. */
#ifndef TY_VECTOR_H
#define TY_VECTOR_H

#include "internal.h"

#define TY_LEVELS_BYTES 8u /* int4: scale and offset, before the codes */

#define TY_CODED_ARRAYS 5u
/* What screens some rows, side by side, before they have their places in a segment. */
typedef struct ty_coded {
  int8_t *codes;       /* AME_CODE_STRIDE(dim) bytes a row; NULL where dtype is int4, as is info */
  ame_code_info *info; /* with the bias */
  uint8_t *i4;         /* AME_I4_BYTES(dim) a row */
  ame_i4_info *i4_info;
  float *bias;
  float *scratch; /* dim floats */
  const ty_collection *c;
  ty_spill memory[TY_CODED_ARRAYS]; /* what all but `scratch` lie in */
} ty_coded;
/* coded.c. Room for n rows. On failure nothing is held. */
ty_status ty_coded_open(ty_coded *out, const ty_collection *c, uint64_t n, ty_error *err);
void ty_coded_free(ty_coded *x);
void ty_coded_let_go(const ty_coded *x); /* of what is resident of many rows */

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
/* coded.c. Fills `to` from its row `first` on with what screens n rows, given as stored and decoded. */
void ty_vector_screen(const ty_collection *c, const uint8_t *stored, const float *decoded, uint64_t n,
                      const ty_coded *to, uint64_t first);

#endif

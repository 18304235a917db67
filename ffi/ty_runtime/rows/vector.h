/* The stored forms of a vector: encoding from floats, and decoding. */
#pragma once

#include "rows/collection.h"

#define TY_LEVELS_BYTES 8u /* int4: scale and offset, before the codes */

/* The vector of a row of a delta in the form ty_form_of(c, p->coded): in place, or if it is sparse in `scratch`, which
 * has room for the form of TY_INT8. */
const uint8_t *ty_payload_stored(const ty_collection *c, const ty_payload *p, uint8_t *scratch);
/* The same vector decoded: in place if it is stored as f32, else in `scratch` (dim floats). */
const float *ty_payload_vector(const ty_collection *c, const ty_payload *p, float *scratch);
/* The row's decoded vector: in place where f32 is stored as such, else in `scratch` (dim floats). */
const float *ty_row_vector(const ty_collection *c, const ty_segment *s, uint64_t at, float *scratch);
/* The row's vector in the collection's stored form: ty_vector_bytes at `out`, 4-byte aligned. `codes` is scratch of
 * AME_CODE_STRIDE(dim). */
void ty_row_stored(const ty_collection *c, const ty_segment *s, uint64_t at, int8_t *codes, uint8_t *out);
/* The same of a row of f32 that ty_row_is_codes, in the form of TY_INT8. */
void ty_row_codes(const ty_collection *c, const ty_segment *s, uint64_t at, int8_t *codes, uint8_t *out);
/* Bytes of a vector in the collection's stored form, and in any. */
uint64_t ty_vector_bytes(const ty_collection *c);
uint64_t ty_form_bytes(ty_dtype form, uint32_t dim);
/* The form of a row of a delta: of f32, a row that is its 8-bit codes times their scale bit for bit is `coded`, which
 * takes a quarter of the bytes and saves an open the quantising. */
static inline ty_dtype ty_form_of(const ty_collection *c, bool coded) { return coded ? TY_INT8 : c->dtype; }

/* Bytes of the vector of a row of a delta as it is stored. */
static inline uint64_t ty_payload_bytes(const ty_collection *c, const ty_payload *p) {
  return p->sparse_bytes > 0 ? p->sparse_bytes : ty_form_bytes(ty_form_of(c, p->coded), c->dim);
}

/* Memory to encode some rows at a time, as many as fit the CPU's cache. */
#define TY_CODER_ROWS 64u
typedef struct ty_coder {
  const ty_collection *c;
  uint64_t room;   /* most rows at a time, at most TY_CODER_ROWS */
  float *rows;     /* room x dim: input rows, then the decoded ones */
  uint8_t *stored; /* room x ty_vector_bytes; for f32 the same memory as `rows` */
  int8_t *codes;   /* scratch, of room for one row in the form of TY_INT8 at least */
  ame_code_info i8_info[TY_CODER_ROWS];
  ame_i4_info i4_info[TY_CODER_ROWS];
} ty_coder;
ty_status ty_coder_open(ty_coder *w, const ty_collection *c, uint64_t rows, ty_error *err); /* for so many in all */
void ty_coder_free(ty_coder *w);
/* Encodes the first n of w->rows, which are finite, scaled to unit length where the metric is cosine, into w->stored
 * and decodes them again. False where an element is too large for the dtype: *bad is its index among the n x dim. */
bool ty_coder_store(ty_coder *w, uint64_t n, uint64_t *bad);
/* Part of a message about such an element: "f16 cannot hold (...)". */
const char *ty_dtype_limit(ty_dtype dtype);

/* A stored form decoded: in place where f32 is stored (4-byte aligned then), else into `scratch` (dim floats). */
const float *ty_vector_decode(const ty_collection *c, ty_dtype form, const uint8_t *stored, float *scratch);
/* Whether 8-bit codes times their scale are a row of f32, bit for bit (-0 is not 0). True for rows of the text
 * embedder, which are such multiples, and hardly ever for others. */
bool ty_codes_are(const int8_t *codes, float scale, uint32_t dim, const uint8_t *row);
/* For f32: the same of a row's own codes. */
bool ty_row_is_codes(const ty_collection *c, const ty_segment *s, uint64_t at);
/* Decodes 8-bit codes: scale * code each. */
void ty_codes_decode(const int8_t *codes, float scale, uint32_t dim, float *out);
/* Whether a stored form from a file is one that ty_coder_store writes, and `decoded`, its floats, finite; not read, and
 * may be NULL, with TY_INT8. */
bool ty_vector_good(const ty_collection *c, ty_dtype form, const uint8_t *stored, const float *decoded);

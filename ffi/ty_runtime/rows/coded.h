/* Screening data of rows, codes, bounds and biases, computed from the stored and decoded forms. */
#pragma once

#include "os/spill.h"
#include "rows/collection.h"

#define TY_CODED_ARRAYS 5u
/* Screening data of some rows, by column, before they have positions in a segment. */
typedef struct ty_coded {
  int8_t *codes;       /* AME_CODE_STRIDE(dim) bytes a row; NULL where dtype is int4, as is info */
  ame_code_info *info; /* with the bias */
  uint8_t *i4;         /* AME_I4_BYTES(dim) a row; NULL where the delta has 8-bit codes only, as is i4_info */
  ame_i4_info *i4_info;
  float *bias;
  float *scratch; /* dim floats */
  const ty_collection *c;
  ty_spill memory[TY_CODED_ARRAYS]; /* memory of all but `scratch` */
} ty_coded;
/* Allocates for n rows. On failure nothing is allocated. */
ty_status ty_coded_open(ty_coded *out, const ty_collection *c, uint64_t n, ty_error *err);
void ty_coded_free(ty_coded *x);
void ty_coded_evict(const ty_coded *x); /* evicts its pages in files */

/* At least the distance between decoded codes, of which `norm` is the length, and the row that they are: an element is
 * scale * code, rounded once. */
float ty_decoding_err(float norm, uint32_t dim);
/* The summary of a row that is stored in four bits, AME_I4_BYTES of codes. `decoded` is the row. */
ame_i4_info ty_stored_i4_info(const uint8_t *codes, float scale, float offset, uint32_t dim, const float *decoded);

/* Whether ty_vector_screen reads the decoded rows: not of 8-bit codes alone. */
static inline bool ty_screen_reads_row(const ty_coded *to, ty_dtype form) {
  return form != TY_INT8 || to->i4 != NULL || to->c->metric == TY_L2;
}
/* Fills `to`, from its row `first` on, with the screening data of n rows, given in the stored form `form` and decoded;
 * `decoded` may be NULL where it is not read. */
void ty_vector_screen(const ty_collection *c, ty_dtype form, const uint8_t *stored, const float *decoded, uint64_t n,
                      const ty_coded *to, uint64_t first);
/* For f32, after ty_vector_screen: whether the row, given decoded, is its codes. Its bounds then become those of a row
 * in that form, the same as after an open. */
bool ty_coded_is_row(const ty_coded *x, uint64_t at, const float *decoded);

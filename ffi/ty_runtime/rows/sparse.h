/* Sparse vectors: the form of TY_INT8 without its zeros. First the scale (f32), then a bitmap of the dimensions whose
 * code is not 0 (the first dimension is the lowest bit of the first byte), then those codes. Deltas and the history
 * store a vector so where that is shorter: the vector of a note of 230 bytes takes 550 bytes instead of 2,052.
 *
 * Sparse blocks are something else: they have many rows, dimension by dimension (line_runs.h). */
#pragma once

#include "rows/collection.h"

/* The least bytes of a sparse vector: scale and bitmap, no codes. */
static inline uint64_t ty_sparse_least(uint32_t dim) { return sizeof(float) + ((uint64_t)dim + 7) / 8; }
/* The bytes of the sparse vector with these codes. */
uint64_t ty_sparse_bytes(const int8_t *codes, uint32_t dim);
/* Writes the sparse vector: `bytes` at `out`, which is ty_sparse_bytes(codes, dim). */
void ty_sparse_put(const ame_kernel *k, float scale, const int8_t *codes, uint32_t dim, uint64_t bytes, uint8_t *out);
/* Whether ty_sparse_put may have written these bytes: the bitmap has as many bits as there are codes, none of them
 * beyond the last dimension, and no code is 0. Any bytes may be passed. */
bool ty_sparse_good(ty_slice from, uint32_t dim);
/* Read a sparse vector: ty_sparse_take into the form of TY_INT8 (sizeof(float) + dim bytes at `out`), ty_sparse_decode
 * into dim floats. `from` must have at least ty_sparse_least(dim) bytes. Nothing beyond `from` is read, whatever its
 * bits are: another process may cut the file off after it was checked. Missing codes are 0. */
void ty_sparse_take(const ame_kernel *k, ty_slice from, uint32_t dim, uint8_t *out);
void ty_sparse_decode(ty_slice from, uint32_t dim, float *out);

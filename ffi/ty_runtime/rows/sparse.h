/* A vector in the form of TY_INT8 without its zeros: f32 scale, a bit for each dimension from the lowest of the first
 * byte on, then the codes that are not 0. A note of 230 bytes takes 550 bytes of 2,052. Deltas and the history store
 * rows like this where it is shorter. */
#pragma once

#include "rows/collection.h"

/* The bytes of a vector of zeros. */
static inline uint64_t ty_sparse_least(uint32_t dim) { return sizeof(float) + ((uint64_t)dim + 7) / 8; }
/* The bytes that a vector of these codes takes. */
uint64_t ty_sparse_bytes(const int8_t *codes, uint32_t dim);
/* Writes so many bytes to `out`. */
void ty_sparse_put(float scale, const int8_t *codes, uint32_t dim, uint8_t *out);
/* Whether the bits fit the number of codes, no bit is set beyond the last dimension, and no code is 0: what
 * ty_sparse_put writes. */
bool ty_sparse_good(ty_slice from, uint32_t dim);
/* The vector in the form of TY_INT8, sizeof(float) + dim bytes at `out`; and its floats, dim of them. `from` has
 * ty_sparse_least(dim) bytes at least. Codes that are not there are 0: a file may be cut off after it was checked. */
void ty_sparse_take(ty_slice from, uint32_t dim, uint8_t *out);
void ty_sparse_decode(ty_slice from, uint32_t dim, float *out);

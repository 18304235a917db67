/* What is done to rows before they are coded in four bits: an anchor is taken off, and what is left is rotated or not. Chosen for each base by
 * the error that its rows would have, because none is best for all: hashed texts with a common part have half the error with both (0.10
 * instead of 0.23 of a row's length), fashion-mnist has twice the error with either (0.067 instead of 0.036). */
#ifndef TY_CODING_H
#define TY_CODING_H

#include "internal.h"

/* Codes n rows (decoded, dim floats each) into AME_I4_BYTES(dim) bytes and a summary each. `scratch` is dim floats. */
void ty_coding_quantize(const ame_kernel *k, const ty_coding *coding, uint32_t dim, const float *rows, uint64_t n, float *scratch,
                        uint8_t *codes, ame_i4_info *info);
/* The coding for a base of these rows. `anchor` is room for dim floats, which the result may point to. The coding that the rows have now stays
 * where no other is better by a tenth: codes are copied then. */
ty_status ty_coding_choose(const ty_rebase *r, float *anchor, ty_coding *out, ty_error *err);
/* Whether two codings give the same codes. */
bool ty_coding_same(const ty_coding *a, const ty_coding *b, uint32_t dim);

#endif

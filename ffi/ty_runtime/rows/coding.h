/* The transformation of rows before they are coded in four bits: an anchor is subtracted, and the rest may be rotated.
 * Chosen for each base by the error that its rows would have, because none is best for all data: hashed texts with a
 * common part have half the error with both (0.10 instead of 0.23 of a row's length), fashion-mnist has twice the error
 * with either (0.067 instead of 0.036).
 *
 * The rows of an anchored base are also mirrored so that the anchor's direction becomes that of the vector of ones
 * (Householder, 1958). Their errors are orthogonal to that vector, so the part of a query along the common part of all
 * rows, most of it for many embeddings, widens no bound. 100,000 x 384 rows that share nine tenths of their length take
 * 15 ms without it, as long as an f32 scan. */
#pragma once

#include "rows/rewrite.h"

/* Codes n rows (decoded, dim floats each) into AME_I4_BYTES(dim) bytes and a summary each. `scratch` is dim floats. */
void ty_coding_quantize(const ame_kernel *k, const ty_coding *coding, uint32_t dim, const float *rows, uint64_t n,
                        float *scratch, uint8_t *codes, ame_i4_info *info);
/* Rotates and mirrors a row or a query in place, with or without the anchor subtracted: inner products stay. Its length
 * is at most 2^50. */
void ty_coding_turn(const ame_kernel *k, const ty_coding *coding, uint32_t dim, float *row);
/* The mirror for an anchor, dim floats. */
void ty_coding_mirror(const ame_kernel *k, const float *anchor, bool rotated, uint32_t dim, float *out);
/* The coding for a base of these rows. `room` is 3 x dim floats, which the result may point to. The current coding is
 * kept unless another is better by a tenth: with it codes are copied. */
ty_status ty_coding_choose(const ty_rebase *r, float *room, ty_coding *out, ty_error *err);
/* Whether two codings give the same codes. */
bool ty_coding_same(const ty_coding *a, const ty_coding *b, uint32_t dim);

/* Strings of rows, each as what it differs in from the row before: windows of a file have ids and metadata that differ
 * in a few numbers. In a repository 212 bytes a row, with their ends, became 34.
 *
 * Rows are in blocks of TY_PACKED_ROWS, fewer in the last one; a row is read by decoding its block up to it. A row is
 * LEB128 of its length, then steps until it is whole. A step copies as many bytes as it says (LEB128) of the row
 * before, from where the step before has stopped; then, where the row is not whole, a byte: how many bytes of the row
 * follow here (lower four bits) and how many of the row before are passed over in their place (upper four); 15 is
 * followed by LEB128 of what is beyond 15, of the lower number first; then those bytes. The row before the first of a
 * block, and one longer than TY_PACKED_MOST, is empty. */
#pragma once

#include <stddef.h>
#include "os/buffer.h"

#define TY_PACKED_ROWS 16u
#define TY_PACKED_MOST 4096u
/* Short runs are copied in pieces of so many bytes, of which the last one reads and writes more than it needs. */
#define TY_PACKED_PIECE 16u
#define TY_PACKED_SIDE  (TY_PACKED_MOST + TY_PACKED_PIECE)

/* In the mapping of a base. */
typedef struct ty_packed {
  const uint64_t
      *ends; /* of each block, cumulative: ascending, the last one the number of bytes. NULL: all are empty */
  const uint8_t *bytes;
} ty_packed;

/* Reading: rows in ascending order are decoded once each. */
typedef struct ty_unpack {
  const ty_packed *of; /* NULL at first */
  uint64_t next;       /* the row after the one read last */
  const uint8_t *at;   /* where it begins */
  ty_slice row;        /* read last */
  uint32_t side;       /* of `sides`, where that is, if it is not longer */
  bool damaged;        /* a row that was asked for is; stays */
  uint8_t sides[2][TY_PACKED_SIDE];
} ty_unpack;
static inline void ty_unpack_init(ty_unpack *u) {
  u->of = NULL;
  u->damaged = false;
}
/* The row at a position below the number of rows, valid until the next call or the end of the mapping; empty and
 * `damaged` where its bytes are malformed or longer than `most`. */
ty_slice ty_packed_at(ty_unpack *u, const ty_packed *p, uint64_t at, uint64_t most);

/* Appends a row's form; `before` is empty for the first of a block. */
void ty_packed_put(ty_buffer *out, ty_slice before, ty_slice row);

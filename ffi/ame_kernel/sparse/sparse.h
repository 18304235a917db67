/* sparse: the functions of sparse vertical codes (ame_kernel.h has the layout) for each CPU path. Uses isa.
 *
 *   run.h      a run from its entry of the directory: checked, and its bitmap eight lines at a time
 *   take.h     codes of one row, and the check of a block: the same source on every path
 *   put.h      makes a block of rows, and the rows of a block
 *   dot.h      inner products; scatter.h where a run has few codes
 *   groups.h   spreading and squeezing eight bytes by a table, where no instruction does it
 *   tables.c   that table
 *   scalar.c   the reference for the others
 *
 * A vector path's file defines what these headers use, and includes them:
 *
 *   take, interleave, line_start, put_counts, every, LINE_PARTS   as in isa/lines.h
 *   more_counts(x, from)       counts plus those in memory
 *   SPARSE_FEW                 see scatter.h; if it is not 0:
 *   put_places(out, x, first)  eight bytes plus `first`, as numbers of 16 bits
 *   SPARSE_TOGETHER            lines whose sums fit into the registers
 *   spread(p, mask, part)      the next bytes of *p to the places of the bits of a part of the mask; moves *p
 *   spread_times(acc, x, quad) adds the products of bytes from `spread`
 *   put_spread(p, mask, out)   as spread to memory, between bytes of 0x80
 *   spread_zero(p, mask, out)  64 bytes of *p likewise, between zeros, to memory; does not move p
 *   count_masks(masks, from, end)   bits of masks from .. end - 1 of eight
 *   sparse_count               if it has a better one than run.h, and then SPARSE_COUNTS too
 *   occupied(x)                bit i: byte i of 64 is not 0
 *   squeeze(x, flip, mask, to) the bytes of the mask's bits, ^ flip, side by side; writes up to 64 bytes
 *   transpose16(in, out)       byte j of row i of 16 rows to out[64 * j + i] */
#pragma once

#include "isa/isa.h"

/* spread[m]: of a group of eight bytes, which of the bytes that are there goes to place i, 0x80 where there is none.
 * squeeze[m]: the reverse. */
typedef struct sparse_table {
  uint8_t spread[256][8], squeeze[256][8];
} sparse_table;
extern const sparse_table sparse_groups;

/* The rows of bytes of a line: the first row of the groups of eight of a map's bits, and from there those of the
 * bytes of a bitmap's bits, side by side. */
typedef struct sparse_places {
  uint8_t groups[256][8], bits[256][8];
} sparse_places;
extern const sparse_places sparse_rows_of;

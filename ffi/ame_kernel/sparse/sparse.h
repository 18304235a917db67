/* sparse: the functions of sparse vertical codes for each CPU path. ame_kernel.h describes the layout. Uses isa.
 *
 *   run.h      a run: found by its entry in the directory and checked
 *   take.h     the codes of one row, and the check of a block: the same source on every path
 *   put.h      makes a block from rows, and rows from a block
 *   row.h      one row without its zeros
 *   dot.h      inner products; scatter.h: the same for runs with few codes
 *   prefetch.h fetches the next block while dot.h reads this one
 *   groups.h   spreading and squeezing bytes by a table, for paths without instructions for it
 *   tables.c   the tables
 *   scalar.c   the reference for the other paths
 *   vbmi2.c    AVX-512 with VBMI2; avx2.c: every other x86-64; x86.h: what both use
 *   neon.h     NEON, compiled twice: neon.c, and neon_dot.c for processors with the dot product instruction
 *
 * "Spreading" puts bytes that lie side by side to the places of the bits of a mask; "squeezing" is the reverse. To
 * spread may read up to 64 bytes, however few bits the mask has: AME_SPARSE_SLACK is for this.
 *
 * The file of a vector path defines what these headers use, and includes them:
 *
 *   take, interleave, line_start, put_counts, every, LINE_PARTS   as in isa/lines.h
 *   more_counts(x, from)       counts plus those in memory
 *   SPARSE_SCATTER             see scatter.h
 *   put_places(out, x, first)  unless that is 0: writes eight bytes of x, plus `first`, as numbers of 16 bits
 *   SPARSE_TOGETHER            lines whose sums fit into the registers together
 *   spread(p, mask, part)      spreads the next bytes of *p by one of LINE_PARTS parts of a line's mask, and moves *p
 *                              beyond them; only spread_times knows what the places between them hold
 *   spread_times(acc, x, quad) adds the products of bytes from `spread`
 *   put_spread(p, mask, out)   spreads to 64 bytes of memory between bytes of 0x80, and moves *p
 *   spread_zero(p, mask, out)  spreads to 64 bytes of memory between zeros; does not move p
 *   count_masks(masks, from, end)   the number of bits in masks from .. end - 1 of eight
 *   sparse_count               optional, with SPARSE_COUNTS: one that is faster than that of run.h
 *   occupied(x)                a bit for each of 64 bytes: set where the byte is not 0
 *   squeeze(x, flip, mask, to) squeezes the bytes of the mask, each ^ flip; may write 64 bytes, however few they are
 *   transpose16(in, out)       byte j of row i of 16 rows to out[64 * j + i] */
#pragma once

#include "isa/isa.h"

/* For a mask m of eight bits. spread[m][i]: which of the bytes side by side goes to place i, 0x80 where none does.
 * squeeze[m][k]: the place of the k-th of these bytes. */
typedef struct sparse_table {
  uint8_t spread[256][8], squeeze[256][8];
} sparse_table;
extern const sparse_table sparse_groups;

/* The rows that the set bits of a mask stand for, side by side, since the bytes of a line are not in the order of rows.
 * groups[m]: for each bit of a line's map, the first row of that group of eight bytes. bits[m]: for each bit of a byte
 * of a bitmap, the row of that byte of the line, counted from the first row of its group. */
typedef struct sparse_places {
  uint8_t groups[256][8], bits[256][8];
} sparse_places;
extern const sparse_places sparse_rows_of;

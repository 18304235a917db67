/* Inner products with runs that have few codes, for paths that spread bytes by a table: the product of each code is
 * added to the sum of its row, and no line is spread.
 *
 * A run is scattered if fewer than one of SPARSE_SCATTER codes is not 0. With AVX2, queries of 40 dimensions over rows
 * of which 14 % of the codes are not 0 then take 0.80 to 0.93 of the time. Limits of 12, 16 and 24 make no difference,
 * 6 and 8 are slower. A path with an instruction for spreading sets 0: it scatters no run. */
#pragma once

#include "sparse/run.h"

typedef struct scattered_run {
  sparse_run run;
  int32_t code; /* of the query */
} scattered_run;

/* Whether a run is scattered. With so few codes its smallest form is the mapped one. */
ISA_INLINE int is_scattered(const ame_sparse_block *b, size_t dim, const sparse_run *run) {
  if (SPARSE_SCATTER == 0 || run->form != AME_SPARSE_MAPPED) return 0;
  const size_t codes = (b->directory[dim + 1] >> 2) - (size_t)(run->codes - b->data);
  return codes * SPARSE_SCATTER < b->lines * AME_LINE;
}

#if SPARSE_SCATTER > 0

#define SCATTERED_MOST (AME_SPARSE_RUN / SPARSE_SCATTER)

/* Writes the rows of the codes of a run, in order, and returns how many there are. By tables, without a branch that
 * depends on the bits: the processor would guess most of those wrong. put_places writes eight numbers each time, so the
 * arrays have eight more than they need. */
ISA_INLINE size_t rows_of(const sparse_run *run, size_t lines, uint16_t rows[SCATTERED_MOST + 8]) {
  /* The first row of each byte of the bitmap. A forged run may list all bytes of it, none with a bit set. */
  uint16_t groups[AME_SPARSE_RUN / 8 + 8];
  size_t bytes = 0, count = 0;
  for (size_t l = 0; l < lines; l++) {
    const uint8_t map = run->map[l];
    put_places(groups + bytes, sparse_rows_of.groups[map], (uint32_t)(AME_LINE * l));
    bytes += (size_t)__builtin_popcount(map);
  }
  for (size_t i = 0; i < bytes; i++) {
    const uint8_t bits = run->bitmap[i];
    put_places(rows + count, sparse_rows_of.bits[bits], groups[i]);
    count += (size_t)__builtin_popcount(bits);
  }
  return count;
}

ISA_INLINE void sparse_scatter(const scattered_run *x, size_t lines, int32_t *dots) {
  uint16_t rows[SCATTERED_MOST + 8];
  const size_t count = rows_of(&x->run, lines, rows);
  for (size_t i = 0; i < count; i++) dots[rows[i]] += x->code * (x->run.codes[i] - 128);
}

#else

ISA_INLINE void sparse_scatter(const scattered_run *x, size_t lines, int32_t *dots) {
  (void)x, (void)lines, (void)dots;
}

#endif

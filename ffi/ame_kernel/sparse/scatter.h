/* Runs with few codes, where a path spreads bytes by a table: the product of each code is added to the sum of its row,
 * instead of each line's bytes to the sums of its rows. With AVX2 questions of 40 dimensions over 14 %
 * of codes take .8 to .93 of the time like this. Limits of one code in 12, 16 and 24 make no difference, one in 6 or 8
 * is slower. A path with an instruction for spreading has SPARSE_FEW 0. */
#pragma once

#include "sparse/run.h"

typedef struct sparse_few {
  sparse_run run;
  int32_t code; /* of the query */
} sparse_few;

/* Whether fewer than one code in SPARSE_FEW is not 0. With so few the mapped form is the smallest. */
ISA_INLINE int is_scattered(const ame_sparse_block *b, size_t dim, const sparse_run *run) {
  if (SPARSE_FEW == 0 || run->form != AME_SPARSE_MAPPED) return 0;
  const size_t codes = (b->directory[dim + 1] >> 2) - (size_t)(run->codes - b->data);
  return codes * SPARSE_FEW < b->lines * AME_LINE;
}

#if SPARSE_FEW > 0

#define SPARSE_FEW_MOST (AME_SPARSE_RUN / SPARSE_FEW)

/* The rows of the codes of a run, in order, by tables: without a branch that depends on the bits, since the processor
 * would guess most of them wrong. Returns how many. */
ISA_INLINE size_t rows_of(const sparse_run *run, size_t lines, uint16_t rows[SPARSE_FEW_MOST + 8]) {
  /* The first row of each byte of the bitmap; of a damaged run these may be all there are, with no bit set. */
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

ISA_INLINE void sparse_scatter(const sparse_few *few, size_t lines, int32_t *dots) {
  uint16_t rows[SPARSE_FEW_MOST + 8];
  const size_t count = rows_of(&few->run, lines, rows);
  for (size_t i = 0; i < count; i++) dots[rows[i]] += few->code * (few->run.codes[i] - 128);
}

#else

ISA_INLINE void sparse_scatter(const sparse_few *few, size_t lines, int32_t *dots) {
  (void)few, (void)lines, (void)dots;
}

#endif

/* A run of sparse codes. The other functions stay within a run because sparse_open has checked it: its offsets, its
 * form, and that it has as many bytes as its bits say. With VBMI2 the check takes about a sixth of the time of an inner
 * product. */
#pragma once

#include "sparse/sparse.h"

#define SPARSE_NONE 3u /* in place of a form, for a damaged run: every code is 0 */
#define SPARSE_STEP 8u /* lines whose bitmaps are 64 bytes */

typedef struct sparse_run {
  const uint8_t *map;    /* the next byte of the map, one for each line */
  const uint8_t *bitmap; /* the next byte of the bitmap, or the next that is not 0 */
  const uint8_t *codes;  /* the next code */
  uint32_t form;
} sparse_run;

/* Finds a run. False, and a run without codes, if it is not within the data. */
ISA_INLINE int32_t sparse_find(const ame_sparse_block *b, size_t dim, sparse_run *run, size_t *bytes) {
  const size_t from = b->directory[dim] >> 2, to = b->directory[dim + 1] >> 2;
  *run =
      (sparse_run){b->data, b->data, b->data, SPARSE_NONE}; /* there 64 bytes can be read even if there are no data */
  if (from > to || to > b->bytes) return 0;
  *bytes = to - from;
  run->form = b->directory[dim] & 3u;
  run->map = run->bitmap = run->codes = b->data + from;
  return 1;
}

ISA_INLINE uint64_t sparse_word(const uint8_t *p) {
  uint64_t word;
  memcpy(&word, p, sizeof word);
  return word;
}

#if !defined(SPARSE_COUNTS)

/* The number of bits that are set in n bytes. It reads up to seven bytes more, within AME_SPARSE_SLACK. */
ISA_INLINE size_t sparse_count(const uint8_t *p, size_t n) {
  size_t count = 0, i = 0;
  for (; i + 8 <= n; i += 8) count += (size_t)__builtin_popcountll(sparse_word(p + i));
  if (i < n) count += (size_t)__builtin_popcountll(sparse_word(p + i) << (64 - 8 * (n - i)));
  return count;
}

#endif

/* Opens the run of a dimension at its first line. Returns 0, or 1 and a run without codes if it is damaged. Each length
 * is compared before what precedes it is subtracted, so that nothing wraps. */
ISA_INLINE int32_t sparse_open(const ame_sparse_block *b, size_t dim, sparse_run *run) {
  const size_t lines = b->lines;
  size_t bytes = 0;
  int32_t good = sparse_find(b, dim, run, &bytes);
  if (good && run->form == AME_SPARSE_DENSE) {
    good = bytes == lines * AME_LINE;
  } else if (good && run->form == AME_SPARSE_BITMAP) {
    run->codes += 8 * lines;
    good = bytes >= 8 * lines && bytes - 8 * lines == sparse_count(run->bitmap, 8 * lines);
  } else if (good && run->form == AME_SPARSE_MAPPED && bytes >= lines) {
    const size_t bitmap = sparse_count(run->map, lines);
    run->bitmap += lines;
    run->codes += lines + bitmap;
    good = bytes - lines >= bitmap && bytes - lines - bitmap == sparse_count(run->bitmap, bitmap);
  } else {
    good = 0;
  }
  if (!good) *run = (sparse_run){b->data, b->data, b->data, SPARSE_NONE};
  return !good;
}

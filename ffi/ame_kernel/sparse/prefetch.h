/* Prefetching the runs of the next block while this one is read, a few cache lines at a time. A processor fetches about
 * two dozen lines at once and stalls on the next: with bursts of 250 lines no products were computed meanwhile, and
 * 1,000,000 notes took 2.5 times as long as notes in the cache.
 *
 * The directory comes first, then the first line of each run, then the rest of each run. Each run lies in another page.
 * If their first lines are prefetched one after the other, the processor looks several pages up at once. Nothing of
 * that block was checked: its offsets may be any numbers. A prefetch of any address does no harm. */
#pragma once

#include "sparse/sparse.h"

typedef struct sparse_prefetch {
  const ame_sparse_block *block; /* NULL: there is none */
  const uint32_t *dims;          /* n dimensions */
  size_t n;
  size_t next_first, next_rest; /* the dimension whose first line, and whose rest, is prefetched next */
  uintptr_t at, end;            /* from the last line that was prefetched to the end of the run before `next_rest` */
  size_t lines;                 /* of each call of prefetch_some */
} sparse_prefetch;

ISA_INLINE uintptr_t prefetch_from(const sparse_prefetch *x, size_t d) {
  return (uintptr_t)x->block->data + (x->block->directory[x->dims[d]] >> 2);
}

ISA_INLINE size_t prefetch_bytes(const sparse_prefetch *x, size_t d) {
  const size_t bytes = (x->block->directory[x->dims[d] + 1] >> 2) - (x->block->directory[x->dims[d]] >> 2);
  return bytes < AME_SPARSE_RUN ? bytes : AME_SPARSE_RUN;
}

/* Prefetches the directory. */
ISA_INLINE void prefetch_open(sparse_prefetch *x, const ame_sparse_block *block, const uint32_t *dims, size_t n) {
  *x = (sparse_prefetch){.block = block, .dims = dims, .n = n};
  for (size_t d = 0; block && d < n; d++) __builtin_prefetch(block->directory + dims[d], 0, 2);
}

/* Sets how many lines each of `calls` calls of prefetch_some prefetches. */
ISA_INLINE void prefetch_share(sparse_prefetch *x, size_t calls) {
  size_t lines = 0;
  if (!x->block) return;
  for (size_t d = 0; d < x->n; d++) lines += (prefetch_bytes(x, d) + AME_LINE - 1) / AME_LINE + 1;
  x->lines = lines / (calls + 1) + 1;
}

/* The next lines, at most so many. */
ISA_INLINE void prefetch_lines(sparse_prefetch *x, size_t most) {
  for (size_t i = 0; i < most; i++) {
    if (x->next_first < x->n) {
      __builtin_prefetch((const void *)prefetch_from(x, x->next_first++), 0, 2);
      continue;
    }
    if (x->at >= x->end) {
      if (x->next_rest == x->n) return;
      x->at = prefetch_from(x, x->next_rest);
      x->end = x->at + prefetch_bytes(x, x->next_rest++);
    }
    x->at += AME_LINE;
    __builtin_prefetch((const void *)x->at, 0, 2);
  }
}

ISA_INLINE void prefetch_some(sparse_prefetch *x) {
  if (x->block) prefetch_lines(x, x->lines);
}

/* All lines that are left: those of runs that are scattered, and of calls that were not made. */
ISA_INLINE void prefetch_rest(sparse_prefetch *x) {
  if (x->block) prefetch_lines(x, SIZE_MAX);
}

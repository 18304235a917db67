/* Prefetching the runs of the next block while this one is read, a few cache lines at a time. A processor has some two
 * dozen lines under way and waits if it is to fetch more: in bursts of two hundred lines the time to fetch them was
 * added to that of the products, and 1,000,000 notes took 2.5 times as long as notes in the cache.
 *
 * The directory comes first, then where each run begins, then the rest of each run. The runs lie in as many pages: in a
 * row of their beginnings, the processor looks several pages up at once. Nothing of that block was checked: its offsets
 * may be any numbers. A prefetch of any address does no harm. */
#pragma once

#include "sparse/sparse.h"

typedef struct sparse_ahead {
  const ame_sparse_block *block; /* NULL: there is none */
  const uint32_t *dims;          /* n dimensions */
  size_t n, head, body;          /* the next dimension to prefetch the beginning of, and the rest of */
  uintptr_t at, end;             /* what is left of the rest of the dimension before `body` */
  size_t each;                   /* lines at a time */
} sparse_ahead;

ISA_INLINE uintptr_t ahead_from(const sparse_ahead *a, size_t d) {
  return (uintptr_t)a->block->data + (a->block->directory[a->dims[d]] >> 2);
}

ISA_INLINE size_t ahead_bytes(const sparse_ahead *a, size_t d) {
  const size_t bytes = (a->block->directory[a->dims[d] + 1] >> 2) - (a->block->directory[a->dims[d]] >> 2);
  return bytes < AME_SPARSE_RUN ? bytes : AME_SPARSE_RUN;
}

/* Prefetches the directory. */
ISA_INLINE void ahead_open(sparse_ahead *a, const ame_sparse_block *block, const uint32_t *dims, size_t n) {
  *a = (sparse_ahead){.block = block, .dims = dims, .n = n};
  for (size_t d = 0; block && d < n; d++) __builtin_prefetch(block->directory + dims[d], 0, 2);
}

/* Shares the lines of a block that is there among so many calls of ahead_some. */
ISA_INLINE void ahead_share(sparse_ahead *a, size_t calls) {
  size_t lines = 0;
  for (size_t d = 0; d < a->n; d++) lines += ahead_bytes(a, d) / AME_LINE + 1;
  a->each = lines / (calls + 1) + 1;
}

ISA_INLINE void ahead_some(sparse_ahead *a) {
  for (size_t i = 0; i < a->each; i++) {
    if (a->head < a->n) {
      __builtin_prefetch((const void *)ahead_from(a, a->head++), 0, 2);
      continue;
    }
    if (a->at >= a->end) {
      if (a->body == a->n) return;
      a->at = ahead_from(a, a->body);
      a->end = a->at + ahead_bytes(a, a->body++);
    }
    a->at += AME_LINE;
    __builtin_prefetch((const void *)a->at, 0, 2);
  }
}

/* The codes of one row, each found by its rank (the number of bits set before its own), and the check of runs. */
#pragma once

#include "sparse/run.h"

#define SPARSE_ZERO 0x80u

/* Finds the code of a byte of a line in a run that is not dense. False if the code is 0, or if the part of the bitmap
 * that is read is damaged. The caller checks that *at is within the run. */
ISA_INLINE int32_t sparse_place(const sparse_run *run, size_t lines, size_t line, uint32_t byte, size_t bytes,
                                size_t *at, int32_t *damaged) {
  uint64_t below = ((uint64_t)1 << byte) - 1;
  if (run->form == AME_SPARSE_BITMAP) {
    if ((*damaged = bytes < 8 * lines) != 0) return 0;
    const uint64_t word = sparse_word(run->bitmap + 8 * line);
    if (!(word >> byte & 1)) return 0;
    *at = 8 * lines + sparse_count(run->bitmap, 8 * line) + (size_t)__builtin_popcountll(word & below);
    return 1;
  }
  if ((*damaged = run->form != AME_SPARSE_MAPPED || bytes < lines) != 0) return 0;
  const uint32_t map = run->map[line], group = byte / 8;
  if (!(map >> group & 1)) return 0;
  const size_t before = sparse_count(run->map, line) + (size_t)__builtin_popcount(map & ((1u << group) - 1));
  if ((*damaged = bytes - lines <= before) != 0) return 0;
  const uint8_t *bitmap = run->map + lines;
  if (!(bitmap[before] >> byte % 8 & 1)) return 0;
  const size_t all = sparse_count(run->map, lines);
  if ((*damaged = bytes - lines < all) != 0) return 0;
  below = (1u << byte % 8) - 1;
  *at = lines + all + sparse_count(bitmap, before) + (size_t)__builtin_popcountll(bitmap[before] & below);
  return 1;
}

/* Runs that are prefetched before the one that is read: their pages are looked up at once. */
#define SPARSE_TAKEN_AHEAD 12u

/* Prefetches where a run begins, and about where its bits for a line are. Nothing of the run was checked: a prefetch of
 * any address does no harm. */
ISA_INLINE void sparse_take_ahead(const ame_sparse_block *b, size_t dim, size_t line) {
  const uintptr_t at = (uintptr_t)b->data + (b->directory[dim] >> 2);
  __builtin_prefetch((const void *)at);
  __builtin_prefetch((const void *)(at + 8 * line));
}

static int32_t sparse_take(const ame_sparse_block *b, size_t row, const uint32_t *dims, size_t n, int8_t *codes) {
  const size_t line = row / AME_LINE;
  const uint32_t byte = (uint32_t)AME_LINE_BYTE(row % AME_LINE);
  int32_t damage = 0;
  for (size_t i = 0; dims && i < n; i++) __builtin_prefetch(b->directory + dims[i]);
  for (size_t i = 0; dims && i < n && i < SPARSE_TAKEN_AHEAD; i++) sparse_take_ahead(b, dims[i], line);
  for (size_t i = 0; i < n; i++) {
    sparse_run run;
    if (dims && i + SPARSE_TAKEN_AHEAD < n) sparse_take_ahead(b, dims[i + SPARSE_TAKEN_AHEAD], line);
    size_t bytes = 0, at = line * AME_LINE + byte;
    int32_t damaged = !sparse_find(b, dims ? dims[i] : i, &run, &bytes);
    int32_t found = !damaged;
    if (found && run.form != AME_SPARSE_DENSE) found = sparse_place(&run, b->lines, line, byte, bytes, &at, &damaged);
    if (found && at >= bytes) found = 0, damaged = 1;
    codes[i] = (int8_t)(found ? run.codes[at] ^ SPARSE_ZERO : 0);
    damage |= damaged;
  }
  return damage;
}

/* Whether one of n bytes is `byte`. Without an early exit, so that compilers vectorise the loop. */
ISA_INLINE uint32_t sparse_has(const uint8_t *p, size_t n, uint8_t byte) {
  uint32_t found = 0;
  for (size_t i = 0; i < n; i++) found |= p[i] == byte;
  return found;
}

static int32_t sparse_check(const ame_sparse_block *b, size_t first, size_t n) {
  if (b->lines == 0 || b->lines > AME_SPARSE_LINES || b->dim > AME_SPARSE_DIMS) return 1;
  if (first > b->dim || n > b->dim - first) return 1;
  if (n == b->dim && (b->directory[0] >> 2 != 0 || b->directory[n] != (uint64_t)b->bytes << 2)) return 1;
  for (size_t d = first; d < first + n; d++) {
    sparse_run run;
    if (sparse_open(b, d, &run)) return 1;
    const size_t codes = (b->directory[d + 1] >> 2) - (size_t)(run.codes - b->data);
    if (run.form != AME_SPARSE_DENSE && sparse_has(run.codes, codes, SPARSE_ZERO)) return 1;
    if (run.form == AME_SPARSE_MAPPED && sparse_has(run.bitmap, (size_t)(run.codes - run.bitmap), 0)) return 1;
  }
  return 0;
}

/* Makes a block from rows or dense lines, and rows from a block, on every path but the scalar one. sparse.h lists what
 * a path defines before it includes this.
 *
 * Both go through SPARSE_WIDE dimensions at a time: their codes of a row are one cache line, those of a line are 4 KB,
 * and those of all lines of a block stay in the second cache. */
#pragma once

#include "sparse/dot.h"
#include "sparse/row.h"
#include "sparse/take.h"

#define SPARSE_WIDE 64u

typedef struct sparse_stage {
  uint64_t masks[SPARSE_WIDE][AME_SPARSE_LINES];
  uint8_t codes[SPARSE_WIDE][AME_SPARSE_RUN + AME_LINE]; /* those that are not 0, plus 128; `squeeze` writes 64 bytes */
  size_t count[SPARSE_WIDE];                             /* of these codes */
  uint8_t line[SPARSE_WIDE * AME_LINE], rows[SPARSE_WIDE * AME_LINE];
} sparse_stage;
_Static_assert(sizeof(sparse_stage) <= AME_SPARSE_SCRATCH, "AME_SPARSE_SCRATCH");

/* Transposes 64 x 64 bytes: the rows are at the pointers, the columns go to `out` one after the other. */
ISA_INLINE void transpose64(const uint8_t *const in[64], uint8_t *out) {
  for (size_t column = 0; column < 64; column += 16) {
    for (size_t row = 0; row < 64; row += 16) {
      const uint8_t *from[16];
      for (size_t i = 0; i < 16; i++) from[i] = in[row + i] + column;
      transpose16(from, out + 64 * column + row);
    }
  }
}

/* Puts the codes of 64 rows from `row` on, in `wide` dimensions from `first` on, into the line of the stage. Rows from
 * n on are zero. */
ISA_INLINE void stage_line(const int8_t *const *rows, size_t n, size_t row, size_t first, size_t wide,
                           sparse_stage *stage) {
  static const uint8_t zeros[SPARSE_WIDE];
  const uint8_t *from[AME_LINE];
  for (size_t r = 0; r < AME_LINE; r++) {
    const uint8_t *at = row + r < n ? (const uint8_t *)rows[row + r] + first : zeros;
    if (wide < SPARSE_WIDE) {
      memset(stage->rows + SPARSE_WIDE * r, 0, SPARSE_WIDE);
      memcpy(stage->rows + SPARSE_WIDE * r, at, wide);
      at = stage->rows + SPARSE_WIDE * r;
    }
    from[AME_LINE_BYTE(r)] = at;
  }
  transpose64(from, stage->line);
}

/* Writes the run of a dimension of the stage in its smallest form, the first of several that are as small; returns its
 * bytes, at most lines * AME_LINE. */
ISA_INLINE size_t stage_run(const sparse_stage *stage, size_t d, size_t lines, uint32_t *form, uint8_t *out) {
  const uint8_t *bitmap = (const uint8_t *)stage->masks[d];
  const size_t codes = stage->count[d];
  uint64_t maps[AME_SPARSE_LINES / 8];
  size_t mapped_count = 0; /* bytes of the bitmap that are not 0 */
  for (size_t i = 0; i < lines; i += 8) {
    maps[i / 8] = occupied(bitmap + 8 * i); /* masks beyond the lines are 0 */
    mapped_count += (size_t)__builtin_popcountll(maps[i / 8]);
  }
  const size_t bytes[3] = {lines * AME_LINE, 8 * lines + codes, lines + mapped_count + codes};
  *form = bytes[1] < bytes[0] ? AME_SPARSE_BITMAP : AME_SPARSE_DENSE;
  if (bytes[2] < bytes[*form]) *form = AME_SPARSE_MAPPED;
  if (*form == AME_SPARSE_DENSE) {
    const uint8_t *from = stage->codes[d];
    for (size_t l = 0; l < lines; l++) put_spread(&from, stage->masks[d][l], out + AME_LINE * l);
    return bytes[0];
  }
  uint8_t *to = out;
  if (*form == AME_SPARSE_BITMAP) {
    memcpy(to, bitmap, 8 * lines);
    to += 8 * lines;
  } else {
    memcpy(to, maps, lines);
    to += lines;
    for (size_t i = 0; i < lines; i += 8) {
      uint8_t some[64];
      const size_t count = (size_t)__builtin_popcountll(maps[i / 8]);
      squeeze(bitmap + 8 * i, 0, maps[i / 8], some);
      memcpy(to, some, count);
      to += count;
    }
  }
  memcpy(to, stage->codes[d], codes);
  return bytes[*form];
}

/* Adds a line, the codes plus `flip`, of a dimension of the stage. */
ISA_INLINE void stage_put(sparse_stage *stage, size_t d, size_t l, const uint8_t *line, uint8_t flip) {
  uint8_t codes[AME_LINE];
  for (size_t i = 0; i < AME_LINE; i++) codes[i] = line[i] ^ flip;
  const uint64_t mask = occupied(codes);
  stage->masks[d][l] = mask;
  squeeze(codes, SPARSE_ZERO, mask, stage->codes[d] + stage->count[d]);
  stage->count[d] += (size_t)__builtin_popcountll(mask);
}

/* Makes a block of n rows, or of dense lines where `rows` is NULL. */
ISA_INLINE size_t put_block(const int8_t *const *rows, size_t n, const uint8_t *dense, size_t lines, size_t dim,
                            sparse_stage *stage, uint32_t *directory, uint8_t *data) {
  size_t bytes = 0;
  memset(stage->masks, 0, sizeof stage->masks);
  for (size_t first = 0; first < dim; first += SPARSE_WIDE) {
    const size_t wide = dim - first < SPARSE_WIDE ? dim - first : SPARSE_WIDE;
    memset(stage->count, 0, sizeof stage->count);
    for (size_t l = 0; l < lines; l++) {
      const uint8_t *from = rows ? stage->line : dense + AME_LINE * (l * dim + first);
      if (rows) stage_line(rows, n, l * AME_LINE, first, wide, stage);
      for (size_t d = 0; d < wide; d++) stage_put(stage, d, l, from + AME_LINE * d, rows ? 0 : SPARSE_ZERO);
    }
    for (size_t d = 0; d < wide; d++) {
      uint32_t form;
      const size_t at = bytes;
      bytes += stage_run(stage, d, lines, &form, data + at);
      directory[first + d] = (uint32_t)at << 2 | form;
    }
  }
  directory[dim] = (uint32_t)bytes << 2;
  return bytes;
}

static size_t sparse_put(const int8_t *const *rows, size_t n, size_t dim, void *scratch, uint32_t *directory,
                         uint8_t *data) {
  return put_block(rows, n, NULL, (n + AME_LINE - 1) / AME_LINE, dim, scratch, directory, data);
}

static size_t sparse_pack(const uint8_t *dense, size_t lines, size_t dim, void *scratch, uint32_t *directory,
                          uint8_t *data) {
  return put_block(NULL, 0, dense, lines, dim, scratch, directory, data);
}

static int32_t sparse_rows(const ame_sparse_block *b, size_t n, int8_t *const *rows) {
  int32_t damaged = 0;
  for (size_t first = 0; first < b->dim; first += SPARSE_WIDE) {
    const size_t wide = b->dim - first < SPARSE_WIDE ? b->dim - first : SPARSE_WIDE;
    sparse_run runs[SPARSE_WIDE];
    uint64_t masks[SPARSE_WIDE][SPARSE_STEP];
    uint8_t line[SPARSE_WIDE * AME_LINE], out[SPARSE_WIDE * AME_LINE];
    const uint8_t *from[SPARSE_WIDE];
    memset(line, SPARSE_ZERO, sizeof line);
    for (size_t d = 0; d < SPARSE_WIDE; d++) from[d] = line + AME_LINE * d;
    for (size_t d = 0; d < wide; d++) damaged |= sparse_open(b, first + d, &runs[d]);
    for (size_t row = 0; row < n; row += AME_LINE) {
      const size_t l = row / AME_LINE, left = b->lines - l, some = n - row < AME_LINE ? n - row : AME_LINE;
      for (size_t d = 0; d < wide; d++) {
        if (l % SPARSE_STEP == 0) next_masks(&runs[d], left < SPARSE_STEP ? left : SPARSE_STEP, masks[d]);
        put_spread(&runs[d].codes, masks[d][l % SPARSE_STEP], line + AME_LINE * d);
      }
      transpose64(from, out);
      for (size_t i = 0; i < sizeof out; i++) out[i] ^= SPARSE_ZERO;
      for (size_t r = 0; r < some; r++)
        memcpy((uint8_t *)rows[row + r] + first, out + SPARSE_WIDE * AME_LINE_BYTE(r), wide);
    }
  }
  return damaged;
}

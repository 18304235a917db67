/* Inner products with sparse codes, on every path but the scalar one. sparse.h lists what a path defines before it
 * includes this.
 *
 * A step is SPARSE_STEP lines, because the bitmaps of eight lines are one vector of 64 bytes. Within a step,
 * SPARSE_TOGETHER lines are summed at a time: their sums stay in registers. */
#pragma once

#include "sparse/prefetch.h"
#include "sparse/scatter.h"

/* Dimensions at a time. Their bitmaps and runs, 12 KB, stay in the first cache, and the sums are read and written once
 * for each chunk. */
#define SPARSE_CHUNK 128u

typedef struct sparse_chunk {
  sparse_run runs[SPARSE_CHUNK];
  int8_t codes[SPARSE_CHUNK];                /* the query's */
  size_t count;                              /* of both, a multiple of AME_LINE_TOGETHER */
  int32_t start;                             /* what a sum of these products begins with: line_start */
  uint64_t masks[SPARSE_CHUNK][SPARSE_STEP]; /* of the lines of the current step */
} sparse_chunk;

/* Reads the bitmaps of the next n lines, at most SPARSE_STEP. The masks after these have no meaning. */
ISA_INLINE void next_masks(sparse_run *run, size_t n, uint64_t masks[SPARSE_STEP]) {
  if (run->form == AME_SPARSE_MAPPED) {
    uint64_t map = 0;
    if (n == SPARSE_STEP) map = sparse_word(run->map);
    else memcpy(&map, run->map, n);
    spread_zero(run->bitmap, map, (uint8_t *)masks);
    run->map += n;
    run->bitmap += __builtin_popcountll(map);
    return;
  }
  memset(masks, run->form == AME_SPARSE_DENSE ? 255 : 0, SPARSE_STEP * sizeof *masks);
  if (run->form != AME_SPARSE_BITMAP) return;
  memcpy(masks, run->bitmap, n * sizeof *masks);
  run->bitmap += n * sizeof *masks;
}

/* Moves a run beyond n lines, a multiple of SPARSE_STEP, whose bitmaps were not read. */
ISA_INLINE void skip_steps(sparse_run *run, size_t n) {
  size_t bytes = n * sizeof(uint64_t);
  if (run->form == AME_SPARSE_DENSE) run->codes += n * AME_LINE;
  if (run->form != AME_SPARSE_MAPPED && run->form != AME_SPARSE_BITMAP) return;
  if (run->form == AME_SPARSE_MAPPED) {
    bytes = sparse_count(run->map, n);
    run->map += n;
  }
  run->codes += sparse_count(run->bitmap, bytes);
  run->bitmap += bytes;
}

/* Adds the products of a chunk to the sums of `count` lines from line `line` of the step on; `fresh`: the sums begin
 * with this chunk. `dots` has the sums of these lines. `next_runs` are prefetched meanwhile. */
ISA_INLINE void sparse_products(sparse_chunk *c, size_t line, int count, int fresh, sparse_prefetch *next_runs,
                                int32_t *dots) {
  counts sums[SPARSE_TOGETHER][LINE_PARTS][4];
  ISA_UNROLL
  for (int t = 0; t < count; t++) {
    ISA_UNROLL
    for (int p = 0; p < LINE_PARTS; p++) {
      ISA_UNROLL
      for (int i = 0; i < 4; i++) sums[t][p][i] = every(c->start);
      if (fresh) continue;
      ISA_UNROLL
      for (int i = 0; i < 4; i++)
        sums[t][p][i] = more_counts(sums[t][p][i], dots + 64 * t + 16 * i + p * (16 / LINE_PARTS));
    }
  }
  for (size_t d = 0; d < c->count; d += AME_LINE_TOGETHER) {
    const int32_t quad = i4_four(c->codes + d);
    prefetch_some(next_runs);
    const uint8_t *from[4];
    ISA_UNROLL
    for (int j = 0; j < 4; j++) from[j] = c->runs[d + (size_t)j].codes;
    ISA_UNROLL
    for (int t = 0; t < count; t++) {
      ISA_UNROLL
      for (int p = 0; p < LINE_PARTS; p++) {
        bytes x[4], rows[4];
        ISA_UNROLL
        for (int j = 0; j < 4; j++) x[j] = spread(&from[j], c->masks[d + (size_t)j][line + (size_t)t], p);
        interleave(x, rows);
        ISA_UNROLL
        for (int i = 0; i < 4; i++) sums[t][p][i] = spread_times(sums[t][p][i], rows[i], quad);
      }
    }
    ISA_UNROLL
    for (int j = 0; j < 4; j++) c->runs[d + (size_t)j].codes = from[j];
  }
  ISA_UNROLL
  for (int t = 0; t < count; t++) {
    ISA_UNROLL
    for (int p = 0; p < LINE_PARTS; p++) {
      ISA_UNROLL
      for (int i = 0; i < 4; i++) put_counts(dots + 64 * t + 16 * i + p * (16 / LINE_PARTS), sums[t][p][i]);
    }
  }
}

/* Moves the runs of a chunk beyond lines from .. end - 1 of the step. */
ISA_INLINE void skip_lines(sparse_chunk *c, size_t from, size_t end) {
  for (size_t d = 0; d < c->count; d++) c->runs[d].codes += count_masks(c->masks[d], from, end);
}

/* The products of the wanted lines of a step, a bit for each; `more`: lines of later steps are wanted too. */
ISA_INLINE void sparse_step(sparse_chunk *c, uint32_t wanted, int more, int fresh, sparse_prefetch *next_runs,
                            int32_t *dots) {
  const uint32_t together = (1u << SPARSE_TOGETHER) - 1;
  size_t line = 0;
  while (line < SPARSE_STEP && wanted >> line) {
    const size_t ahead = (size_t)__builtin_ctz(wanted >> line);
    if (ahead) skip_lines(c, line, line + ahead);
    line += ahead;
    if (SPARSE_TOGETHER > 1 && (wanted >> line & together) == together) {
      sparse_products(c, line, SPARSE_TOGETHER, fresh, next_runs, dots + AME_LINE * line);
      line += SPARSE_TOGETHER;
    } else {
      sparse_products(c, line, 1, fresh, next_runs, dots + AME_LINE * line);
      line++;
    }
  }
  if (more && line < SPARSE_STEP) skip_lines(c, line, SPARSE_STEP);
}

/* Makes a chunk of n dimensions of a query from `from` on, at most SPARSE_CHUNK. If all lines are wanted (`whole`),
 * runs that are better scattered go to `scattered` instead; it returns how many. The chunk is filled up with empty runs
 * to a multiple of AME_LINE_TOGETHER, as SPARSE_CHUNK is. */
ISA_INLINE size_t sparse_chunk_of(const ame_line_query *q, const ame_sparse_block *b, size_t from, size_t n, int whole,
                                  sparse_chunk *c, scattered_run *scattered, int32_t *damaged) {
  size_t scattered_count = 0;
  c->count = 0;
  for (size_t d = from; d < from + n; d++) {
    sparse_run run;
    *damaged |= sparse_open(b, q->dims[d], &run);
    if (whole && is_scattered(b, q->dims[d], &run)) {
      scattered[scattered_count++] = (scattered_run){run, q->codes[d]};
      continue;
    }
    c->runs[c->count] = run;
    c->codes[c->count++] = q->codes[d];
  }
  for (; c->count % AME_LINE_TOGETHER; c->count++) {
    c->runs[c->count] = (sparse_run){b->data, b->data, b->data, SPARSE_NONE};
    c->codes[c->count] = 0;
  }
  ame_line_query own = {.codes = c->codes, .count = c->count};
  for (size_t d = 0; d < c->count; d++) own.sum += c->codes[d];
  c->start = line_start(&own);
  return scattered_count;
}

static int32_t dot_sparse(const ame_line_query *q, const ame_sparse_block *b, uint64_t lines,
                          const ame_sparse_block *next, int32_t *dots) {
  const uint64_t all = ~(uint64_t)0 >> (64 - b->lines);
  int32_t damaged = 0;
  size_t from = 0;
  lines &= all;
  do {
    sparse_chunk c;
    scattered_run scattered[SPARSE_CHUNK];
    const size_t n = q->count - from < SPARSE_CHUNK ? q->count - from : SPARSE_CHUNK;
    sparse_prefetch next_runs;
    prefetch_open(&next_runs, next, q->dims + from, n);
    const size_t scattered_count = sparse_chunk_of(q, b, from, n, lines == all, &c, scattered, &damaged);
    prefetch_share(&next_runs, c.count / AME_LINE_TOGETHER * ((size_t)__builtin_popcountll(lines) / SPARSE_TOGETHER));
    for (size_t line = 0; line < b->lines && lines >> line; line += SPARSE_STEP) {
      const size_t ahead = (size_t)__builtin_ctzll(lines >> line) / SPARSE_STEP * SPARSE_STEP;
      for (size_t d = 0; ahead > 0 && d < c.count; d++) skip_steps(&c.runs[d], ahead);
      line += ahead;
      const size_t left = b->lines - line;
      for (size_t d = 0; d < c.count; d++) next_masks(&c.runs[d], left < SPARSE_STEP ? left : SPARSE_STEP, c.masks[d]);
      sparse_step(&c, lines >> line & 255, lines >> line > 255, from == 0 && !q->adds, &next_runs,
                  dots + AME_LINE * line);
    }
    prefetch_rest(&next_runs);
    for (size_t d = 0; d < scattered_count; d++) sparse_scatter(&scattered[d], b->lines, dots);
    from += n;
  } while (from < q->count);
  return damaged;
}

/* The scalar path of sparse codes, the reference for the others: one line of one dimension at a time. */
#include "sparse/take.h"

/* Reads the next line of a run, as its bytes in the dense form. */
static void next_line(sparse_run *run, uint8_t line[AME_LINE]) {
  memset(line, SPARSE_ZERO, AME_LINE);
  if (run->form == SPARSE_NONE) return;
  const uint32_t map = run->form == AME_SPARSE_MAPPED ? *run->map++ : 255;
  for (uint32_t at = 0; at < AME_LINE; at += 8) {
    if (!(map >> at / 8 & 1)) continue;
    uint32_t bits = run->form == AME_SPARSE_DENSE ? 255 : *run->bitmap++;
    for (; bits; bits &= bits - 1) line[at + (uint32_t)__builtin_ctz(bits)] = *run->codes++;
  }
}

static int32_t dot_sparse(const ame_line_query *q, const ame_sparse_block *b, uint64_t lines,
                          const ame_sparse_block *next, int32_t *dots) {
  int32_t damaged = 0;
  (void)next;
  for (size_t l = 0; l < b->lines; l++) {
    if (!q->adds && lines >> l & 1) memset(dots + AME_LINE * l, 0, AME_LINE * sizeof *dots);
  }
  for (size_t d = 0; d < q->count; d++) {
    sparse_run run;
    damaged |= sparse_open(b, q->dims[d], &run);
    for (size_t l = 0; l < b->lines && lines >> l && run.form != SPARSE_NONE; l++) {
      uint8_t line[AME_LINE];
      next_line(&run, line);
      for (size_t r = 0; lines >> l & 1 && r < AME_LINE; r++)
        dots[AME_LINE * l + r] += q->codes[d] * (line[AME_LINE_BYTE(r)] - 128);
    }
  }
  return damaged;
}

static int32_t sparse_rows(const ame_sparse_block *b, size_t n, int8_t *const *rows) {
  int32_t damaged = 0;
  for (size_t d = 0; d < b->dim; d++) {
    sparse_run run;
    damaged |= sparse_open(b, d, &run);
    for (size_t row = 0; row < n; row += AME_LINE) {
      uint8_t line[AME_LINE];
      next_line(&run, line);
      for (size_t r = row; r < n && r < row + AME_LINE; r++)
        rows[r][d] = (int8_t)(line[AME_LINE_BYTE(r - row)] ^ SPARSE_ZERO);
    }
  }
  return damaged;
}

/* Writes the run of a dimension in its smallest form, the first of several that are as small; returns its bytes. The
 * scratch begins with the dense run. Its bitmap, its codes, its map, and the bytes of the bitmap that are not 0 follow.
 */
static size_t put_run(size_t lines, uint32_t *form, uint8_t *scratch, uint8_t *out) {
  uint8_t *dense = scratch, *bitmap = dense + AME_SPARSE_RUN, *codes = bitmap + AME_SPARSE_RUN / 8;
  uint8_t *map = codes + AME_SPARSE_RUN, *mapped = map + AME_SPARSE_LINES;
  size_t bytes[3] = {lines * AME_LINE, 8 * lines, lines}, code_count = 0, mapped_count = 0;
  memset(bitmap, 0, AME_SPARSE_RUN + AME_SPARSE_RUN / 8 + AME_SPARSE_LINES);
  for (size_t i = 0; i < bytes[0]; i++) {
    if (dense[i] == SPARSE_ZERO) continue;
    bitmap[i / 8] |= (uint8_t)(1u << i % 8);
    codes[code_count++] = dense[i];
  }
  for (size_t i = 0; i < 8 * lines; i++) {
    if (!bitmap[i]) continue;
    map[i / 8] |= (uint8_t)(1u << i % 8);
    mapped[mapped_count++] = bitmap[i];
  }
  bytes[1] += code_count;
  bytes[2] += mapped_count + code_count;
  *form = bytes[1] < bytes[0] ? AME_SPARSE_BITMAP : AME_SPARSE_DENSE;
  if (bytes[2] < bytes[*form]) *form = AME_SPARSE_MAPPED;
  if (*form == AME_SPARSE_DENSE) memcpy(out, dense, bytes[0]);
  if (*form == AME_SPARSE_BITMAP) memcpy(out, bitmap, 8 * lines);
  if (*form == AME_SPARSE_MAPPED) memcpy(out, map, lines), memcpy(out + lines, mapped, mapped_count);
  if (*form != AME_SPARSE_DENSE) memcpy(out + bytes[*form] - code_count, codes, code_count);
  return bytes[*form];
}

static size_t sparse_put(const int8_t *const *rows, size_t n, size_t dim, void *scratch, uint32_t *directory,
                         uint8_t *data) {
  const size_t lines = (n + AME_LINE - 1) / AME_LINE;
  uint8_t *dense = scratch;
  size_t bytes = 0;
  for (size_t d = 0; d < dim; d++) {
    uint32_t form;
    const size_t at = bytes;
    for (size_t i = 0; i < lines * AME_LINE; i++) {
      const size_t row = i / AME_LINE * AME_LINE + AME_LINE_BYTE(i % AME_LINE); /* AME_LINE_BYTE is its own inverse */
      dense[i] = (uint8_t)(row < n ? rows[row][d] : 0) ^ SPARSE_ZERO;
    }
    bytes += put_run(lines, &form, scratch, data + at);
    directory[d] = (uint32_t)at << 2 | form;
  }
  directory[dim] = (uint32_t)bytes << 2;
  return bytes;
}

static size_t sparse_pack(const uint8_t *dense, size_t lines, size_t dim, void *scratch, uint32_t *directory,
                          uint8_t *data) {
  size_t bytes = 0;
  for (size_t d = 0; d < dim; d++) {
    uint32_t form;
    const size_t at = bytes;
    for (size_t l = 0; l < lines; l++)
      memcpy((uint8_t *)scratch + AME_LINE * l, dense + AME_LINE * (l * dim + d), AME_LINE);
    bytes += put_run(lines, &form, scratch, data + at);
    directory[d] = (uint32_t)at << 2 | form;
  }
  directory[dim] = (uint32_t)bytes << 2;
  return bytes;
}

static void squeeze_row(const int8_t *codes, size_t dim, size_t count, uint8_t *bits, uint8_t *out) {
  memset(bits, 0, (dim + 7) / 8);
  for (size_t i = 0; i < dim; i++) {
    if (codes[i] == 0) continue;
    bits[i / 8] |= (uint8_t)(1u << i % 8);
    if (count > 0) *out++ = (uint8_t)codes[i], count--;
  }
}

static void spread_row(const uint8_t *bits, const uint8_t *packed, size_t count, size_t dim, int8_t *codes) {
  for (size_t i = 0; i < dim; i++) {
    const int32_t filled = (bits[i / 8] >> i % 8 & 1) && count > 0;
    codes[i] = 0;
    if (filled) codes[i] = (int8_t)*packed++, count--;
  }
}

const isa_sparse isa_sparse_scalar = ISA_SPARSE;

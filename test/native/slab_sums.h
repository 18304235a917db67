/* Checksums of a slab that was changed: of its sections and of their blocks, as a writer makes them. */
#pragma once

#include <string.h>
#include "../../ffi/ty_runtime/disk/format.h"
#include "../../ffi/ty_runtime/rows/intact.h"
#include "../../ffi/ty_runtime/rows/vertical.h"

/* A section that lies inside of the file; NULL: there is none. */
static inline ty_slab_section *section_inside(uint8_t *data, uint64_t bytes, uint32_t id) {
  const ty_slab_header *h = (const ty_slab_header *)(const void *)data;
  ty_slab_section *s = (ty_slab_section *)(void *)(data + sizeof *h);
  for (uint32_t i = 0; i < h->sections; i++) {
    if (s[i].id == id)
      return s[i].offset >= sizeof *h + h->sections * sizeof *s && s[i].offset <= bytes &&
                     s[i].bytes <= bytes - s[i].offset
                 ? &s[i]
                 : NULL;
  }
  return NULL;
}

/* The checksums of strings, `ends` of them. */
static inline void mend_strings(uint8_t *data, uint64_t bytes, uint32_t ends_id, uint32_t sums_id) {
  ty_slab_section *ends = section_inside(data, bytes, ends_id), *strings = section_inside(data, bytes, ends_id + 1),
                  *sums = section_inside(data, bytes, sums_id);
  if (ends == NULL || strings == NULL || sums == NULL || sums->bytes < ends->bytes / 2) return;
  for (uint64_t i = 0, from = 0, to; i < ends->bytes / sizeof to; i++, from = to) {
    memcpy(&to, data + ends->offset + i * sizeof to, sizeof to);
    if (to < from || to > strings->bytes) return;
    uint32_t crc = ame_kernel_table()->crc32c(0, data + strings->offset + from, to - from);
    memcpy(data + sums->offset + i * sizeof crc, &crc, sizeof crc);
  }
}

/* Those of the runs of lines, as far as these lie in them. */
static inline void mend_runs(uint8_t *data, uint64_t bytes) {
  const ty_slab_section *shape_at = section_inside(data, bytes, TY_SECTION_SHAPE),
                        *lines = section_inside(data, bytes, TY_SECTION_LINES),
                        *directory = section_inside(data, bytes, TY_SECTION_DIRECTORY),
                        *sums = section_inside(data, bytes, TY_SECTION_RUNS);
  ty_shape shape;
  if (shape_at == NULL || shape_at->bytes != sizeof shape || lines == NULL || sums == NULL) return;
  memcpy(&shape, data + shape_at->offset, sizeof shape);
  if (shape.rows == 0 || shape.rows > TY_ROWS_MAX || shape.dim == 0 || shape.dim > TY_DIM_MAX) return;
  const ty_collection c = {.dim = (uint32_t)shape.dim, .dtype = (ty_dtype)shape.dtype};
  const ty_line_runs runs =
      ty_line_runs_of(&c, directory == NULL ? NULL : data + directory->offset, shape.rows, lines->bytes);
  if (!ty_line_runs_fit(&runs, directory == NULL ? 0 : directory->bytes)) return;
  for (uint64_t block = 0, n = 0; block < runs.blocks; block++) {
    for (uint32_t d = 0; d < c.dim; d++, n++) {
      const ty_line_run run = ty_line_run_of(&runs, block, d);
      if ((n + 1) * sizeof(uint32_t) > sums->bytes) return;
      uint32_t crc = ame_kernel_table()->crc32c(0, data + lines->offset + run.at, run.bytes);
      memcpy(data + sums->offset + n * sizeof crc, &crc, sizeof crc);
    }
  }
}

/* Those of the rows of a history. */
static inline void mend_history(uint8_t *data, uint64_t bytes) {
  const ty_slab_section *changes = section_inside(data, bytes, TY_HISTORY_CHANGES),
                        *rows = section_inside(data, bytes, TY_HISTORY_ROWS);
  if (changes == NULL || rows == NULL || changes->offset % 8 != 0) return;
  ty_history_change *change = (ty_history_change *)(void *)(data + changes->offset);
  for (uint64_t n = changes->bytes / sizeof *change, from = 0; n > 0; n--, from = change++->row_end) {
    if (change->row_end < from || change->row_end > rows->bytes) return;
    change->row_crc = ame_kernel_table()->crc32c(0, data + rows->offset + from, change->row_end - from);
  }
}

/* Makes those fit that lie inside of the file; the header's own are the caller's. */
static inline void mend_sections(uint8_t *data, uint64_t bytes) {
  const ame_kernel *kernel = ame_kernel_table();
  const ty_slab_header *h = (const ty_slab_header *)(const void *)data;
  ty_slab_section *s = (ty_slab_section *)(void *)(data + sizeof *h), *sums = &s[h->sections - 1];
  uint64_t count = h->sections, table = sizeof *h + count * sizeof *s; /* nothing is written into the table itself */
  if (h->kind == TY_SLAB_BASE) {
    mend_strings(data, bytes, TY_SECTION_META_ENDS, TY_SECTION_META_SUMS);
    mend_strings(data, bytes, TY_SECTION_TEXT_ENDS, TY_SECTION_TEXT_SUMS);
    mend_runs(data, bytes);
  }
  if (h->kind == TY_SLAB_HISTORY) mend_history(data, bytes);
  bool fits = sums->id == TY_SECTION_SUMS && sums->offset >= table && sums->offset <= bytes &&
              sums->bytes <= bytes - sums->offset;
  for (uint64_t i = 0, at = 0; i < count; i++) {
    if (s[i].offset > bytes || s[i].bytes > bytes - s[i].offset) continue;
    bool summed = fits && &s[i] != sums && (h->kind != TY_SLAB_BASE || s[i].id != TY_SECTION_LINES);
    for (uint64_t from = 0; summed && from < s[i].bytes && at + 4 <= sums->bytes; from += TY_SUM_BLOCK, at += 4) {
      uint64_t n = s[i].bytes - from < TY_SUM_BLOCK ? s[i].bytes - from : TY_SUM_BLOCK;
      uint32_t crc = kernel->crc32c(0, data + s[i].offset + from, n);
      memcpy(data + sums->offset + at, &crc, sizeof crc);
    }
    s[i].crc = kernel->crc32c(0, data + s[i].offset, s[i].bytes);
  }
}

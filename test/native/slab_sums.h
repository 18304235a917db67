/* Checksums of a slab that was changed: of its sections and of their blocks, as a writer makes them. */
#ifndef SLAB_SUMS_H
#define SLAB_SUMS_H

#include <string.h>
#include "../../ffi/ty_runtime/disk/format.h"
#include "../../ffi/ty_runtime/rows/intact.h"

/* Makes those fit that lie inside of the file; the header's own are the caller's. */
static inline void mend_sections(uint8_t *data, uint64_t bytes) {
  const ame_kernel *kernel = ame_kernel_table();
  const ty_slab_header *h = (const ty_slab_header *)(const void *)data;
  ty_slab_section *s = (ty_slab_section *)(void *)(data + sizeof *h), *sums = &s[h->sections - 1];
  uint64_t count = h->sections, table = sizeof *h + count * sizeof *s; /* nothing is written into the table itself */
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

#endif

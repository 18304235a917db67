/* A base that may be damaged, as far as it can be read: bytes that match their checksum, or would but for one changed
 * bit, which is restored. The file may end anywhere. */
#pragma once

#include "disk/slab.h"

/* Whether bytes match their checksum. Repairs one flipped bit if that makes the checksum match, and counts it in
 * `bits`. The checksum is linear: a changed bit changes it by what depends on its place only, which differs for every
 * place. Other damage of 64 KiB looks like a changed bit once in 8,000 times, so a caller reports what was changed, and
 * more than 128 KiB are only compared: the longer the bytes, the likelier is a wrong answer. */
bool ty_mend(const ame_kernel *k, uint8_t *data, uint64_t bytes, uint32_t crc, uint64_t *bits);

typedef struct ty_partial {
  ty_slab slab;          /* of the next two */
  ty_slab_header header; /* `sections` 0: the table of sections cannot be read */
  ty_slab_section table[TY_SLAB_SECTIONS_MAX];
  ty_intact sections[TY_SLAB_SECTIONS_MAX]; /* `data` NULL: it lies outside of the file, or is not read */
  uint64_t bits;                            /* that were changed */
} ty_partial;
/* `p` is all zero, `file` mapped as a copy, or not at all. All of it is compared. TY_NO_MEMORY; damage does not fail
 * it. */
ty_status ty_partial_open(ty_partial *p, const ty_collection *c, const ty_file *file, ty_error *err);
/* Bytes of a section; NULL where there are fewer, or they are damaged: by the `nth` checksum of the section `sums`,
 * else, where that is damaged or `sums` is 0, by those of their blocks. Not of TY_SECTION_LINES and TY_SECTION_SUMS. */
const uint8_t *ty_partial_at(const ty_partial *p, uint32_t id, uint64_t at, uint64_t bytes, uint32_t sums,
                             uint64_t nth);

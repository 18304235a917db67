/* Screening blocks: sixteen rows side by side. ame_kernel.h has the format.
 *
 * `at` is a position in a run of blocks. Blocks are read and written by memcpy: those of a file are only aligned as its
 * sections are. */
#pragma once

#include "ame_kernel.h"

/* Sixteen zero rows, for positions without a row. */
void ty_block_clear(uint8_t *block, uint32_t dim);
/* Puts a row's AME_I4_BYTES(dim) of codes and its summary in place. */
void ty_block_put(uint8_t *blocks, uint32_t dim, uint64_t at, const uint8_t *codes, const ame_i4_info *info,
                  float bias);
/* Copies a row from its position in some blocks to one in others, bit for bit. */
void ty_block_copy(uint8_t *to, uint64_t to_at, const uint8_t *from, uint64_t from_at, uint32_t dim);
/* A row's scale and offset. */
void ty_block_levels(const uint8_t *blocks, uint32_t dim, uint64_t at, float *scale, float *offset);
/* The summary and the bias from ty_block_put. */
void ty_block_summary(const uint8_t *blocks, uint32_t dim, uint64_t at, ame_i4_info *info, float *bias);
/* The codes of `count` groups of eight dimensions from group `first` on, 4 bytes a group. */
void ty_block_codes(const uint8_t *blocks, uint32_t dim, uint64_t at, uint64_t first, uint64_t count, uint8_t *out);

/* How many blocks hold `rows` rows. */
static inline uint64_t ty_block_count(uint64_t rows) { return (rows + AME_BLOCK_ROWS - 1) / AME_BLOCK_ROWS; }

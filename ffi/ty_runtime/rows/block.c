/* Writes rows to screening blocks and reads them. */
#include "rows/block.h"

#include <string.h>

#include "os/assert.h"

#define PIECE     4u /* bytes of a row in each line of 64: a group of eight codes, or one float */
#define LINE      (PIECE * AME_BLOCK_ROWS)
#define COLUMNS   5u        /* scale, offset, err, norm, bias */
#define ZERO_NORM 0x1p-100f /* the norm of a zero row */

static uint64_t groups_of(uint32_t dim) { return AME_I4_BYTES(dim) / PIECE; }

/* Offset of a row's first piece; the others follow every LINE bytes. */
static uint64_t start_of(uint32_t dim, uint64_t at) {
  return at / AME_BLOCK_ROWS * AME_BLOCK_BYTES(dim) + at % AME_BLOCK_ROWS * PIECE;
}

void ty_block_clear(uint8_t *block, uint32_t dim) {
  float norm[AME_BLOCK_ROWS];
  memset(block, 0, AME_BLOCK_BYTES(dim));
  for (uint32_t i = 0; i < AME_BLOCK_ROWS; i++) norm[i] = ZERO_NORM;
  memcpy(block + (groups_of(dim) + 3) * LINE, norm, sizeof norm);
}

void ty_block_put(uint8_t *blocks, uint32_t dim, uint64_t at, const uint8_t *codes, const ame_i4_info *info,
                  float bias) {
  const float columns[COLUMNS] = {info->scale, info->offset, info->err, info->norm, bias};
  uint8_t *to = blocks + start_of(dim, at);
  uint64_t groups = groups_of(dim);
  for (uint64_t g = 0; g < groups; g++) memcpy(to + g * LINE, codes + g * PIECE, PIECE);
  for (uint32_t i = 0; i < COLUMNS; i++) memcpy(to + (groups + i) * LINE, &columns[i], PIECE);
}

void ty_block_copy(uint8_t *to, uint64_t to_at, const uint8_t *from, uint64_t from_at, uint32_t dim) {
  to += start_of(dim, to_at);
  from += start_of(dim, from_at);
  for (uint64_t i = 0; i < groups_of(dim) + COLUMNS; i++) memcpy(to + i * LINE, from + i * LINE, PIECE);
}

void ty_block_levels(const uint8_t *blocks, uint32_t dim, uint64_t at, float *scale, float *offset) {
  const uint8_t *from = blocks + start_of(dim, at) + groups_of(dim) * LINE;
  memcpy(scale, from, sizeof *scale);
  memcpy(offset, from + LINE, sizeof *offset);
}

void ty_block_summary(const uint8_t *blocks, uint32_t dim, uint64_t at, ame_i4_info *info, float *bias) {
  const uint8_t *from = blocks + start_of(dim, at) + groups_of(dim) * LINE;
  float *const columns[COLUMNS] = {&info->scale, &info->offset, &info->err, &info->norm, bias};
  for (uint32_t i = 0; i < COLUMNS; i++) memcpy(columns[i], from + i * LINE, PIECE);
}

void ty_block_codes(const uint8_t *blocks, uint32_t dim, uint64_t at, uint64_t first, uint64_t count, uint8_t *out) {
  TY_ASSERT(first + count <= groups_of(dim));
  const uint8_t *from = blocks + start_of(dim, at) + first * LINE;
  for (uint64_t g = 0; g < count; g++) memcpy(out + g * PIECE, from + g * LINE, PIECE);
}

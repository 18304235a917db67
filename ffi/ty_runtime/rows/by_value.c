#include "rows/by_value.h"

#include <string.h>

#include "os/assert.h"

static uint32_t bits_of(uint32_t v) { return v == 0 ? 0 : 32 - (uint32_t)__builtin_clz(v); }

uint32_t ty_by_value_pack(const ame_kernel *k, const uint32_t *positions, uint32_t n, uint8_t *out, bool *plain) {
  uint32_t gaps[AME_PACK] = {0}, same[AME_PACK] = {0}, all_gaps = 0, all_same = 0;
  TY_ASSERT(n > 0 && n <= AME_PACK);
  for (uint32_t i = 0; i < n; i++) {
    gaps[i] = i == 0 ? 0 : positions[i] - positions[i - 1] - 1; /* of a smaller position a large number */
    same[i] = positions[i];
    all_gaps |= gaps[i];
    all_same |= same[i];
  }
  *plain = bits_of(all_same) < bits_of(all_gaps);
  uint32_t bits = bits_of(*plain ? all_same : all_gaps);
  if (out != NULL) k->pack(*plain ? same : gaps, bits, out);
  return bits;
}

static uint64_t end_of(const ty_by_value *b, uint64_t block) { return b->entries[block].end >> 1; }
static uint64_t start_of(const ty_by_value *b, uint64_t block) { return block == 0 ? 0 : end_of(b, block - 1); }

static void read_block(const ame_kernel *k, const ty_by_value *b, uint64_t block, uint32_t *out) {
  uint64_t start = start_of(b, block);
  TY_ASSERT(block < (b->count + AME_PACK - 1) / AME_PACK);
  uint64_t bits = end_of(b, block) - start;
  /* In a truncated file an end reads as zero, which is not an end of this block. */
  if (bits > 32) {
    memset(out, 0xff, AME_PACK * sizeof *out);
    return;
  }
  k->unpack(b->blocks + 16 * start, (uint32_t)bits, out);
  if ((b->entries[block].end & 1) == 0) k->ascend(b->entries[block].first, out);
}

/* How many rows have to be listed. */
static uint64_t listed(const ty_dict *d, uint64_t rows, uint32_t *left_out) {
  uint64_t sum = 0;
  *left_out = TY_NO_CODE;
  for (uint32_t code = 1; code < d->count; code++) {
    if (ty_by_value_leaves_out(d->live[code], rows)) *left_out = code;
    else sum += d->live[code];
  }
  return sum;
}

bool ty_by_value_open(ty_slice bytes, uint64_t rows, const ty_dict *d, ty_by_value *out) {
  *out = (ty_by_value){.entries = (const ty_by_value_entry *)(const void *)bytes.data, .rows = rows};
  out->count = listed(d, rows, &out->left_out);
  uint64_t blocks = (out->count + AME_PACK - 1) / AME_PACK, end = 0;
  TY_ASSERT(out->count <= rows);
  if (bytes.bytes < blocks * sizeof *out->entries) return false;
  out->blocks = bytes.data + blocks * sizeof *out->entries;
  for (uint64_t i = 0; i < blocks; i++) {
    if (out->entries[i].first >= rows || end_of(out, i) < end || end_of(out, i) - end > 32) return false;
    end = end_of(out, i);
  }
  return blocks * sizeof *out->entries + 16 * end == bytes.bytes;
}

uint64_t ty_by_value_find(const ame_kernel *k, const ty_by_value *b, const uint32_t *codes, uint32_t code) {
  uint64_t low = 0, high = (b->count + AME_PACK - 1) / AME_PACK;
  while (low < high) { /* the first block that begins with the code or a larger one */
    uint64_t middle = low + (high - low) / 2;
    if (codes[b->entries[middle].first] < code) low = middle + 1;
    else high = middle;
  }
  if (low == 0) return 0;
  uint32_t at[AME_PACK], first = 1, end = AME_PACK; /* it is in the block before, or where that ends */
  uint64_t from = (low - 1) * AME_PACK;
  if (b->count - from < AME_PACK) end = (uint32_t)(b->count - from);
  read_block(k, b, low - 1, at);
  while (first < end) {
    uint32_t middle = first + (end - first) / 2;
    if (at[middle] < b->rows && codes[at[middle]] < code) first = middle + 1;
    else end = middle;
  }
  return from + first;
}

void ty_by_value_read(const ame_kernel *k, const ty_by_value *b, uint64_t from, uint64_t to, uint32_t *out) {
  TY_ASSERT(from <= to && to <= b->count);
  while (from < to) {
    uint64_t block = from / AME_PACK, skip = from % AME_PACK,
             n = AME_PACK - skip < to - from ? AME_PACK - skip : to - from;
    uint32_t at[AME_PACK];
    if (n == AME_PACK) {
      read_block(k, b, block, out);
    } else {
      read_block(k, b, block, at);
      memcpy(out, at + skip, (size_t)n * sizeof *out);
    }
    out += n;
    from += n;
  }
}

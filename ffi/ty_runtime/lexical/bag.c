/* A set of term hashes, and the sort that terms go through. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lexical/bag.h"
#include "os/assert.h"

/* Hashes are mixed already; the multiplication only guards against sets chosen to collide in the low bits. */
static uint32_t bag_slot(const ty_bag *b, uint32_t hash) {
  return (hash * 0x9e3779b1u >> 7 ^ hash) & (b->table_size - 1);
}

uint32_t ty_bag_find(const ty_bag *b, uint32_t hash) {
  if (b->table_size == 0) return TY_NO_TERM;
  for (uint32_t i = bag_slot(b, hash);; i = (i + 1) & (b->table_size - 1)) {
    uint32_t number = b->table[i];
    if (number == 0) return TY_NO_TERM;
    if (b->hash[number - 1] == hash) return number - 1;
  }
}

static bool bag_grow(ty_bag *b) {
  if (b->capacity > UINT32_MAX / 8) return false;
  uint32_t capacity = b->capacity == 0 ? 64 : 2 * b->capacity;
  uint32_t *hash = realloc(b->hash, (size_t)capacity * sizeof *hash);
  if (hash == NULL) return false;
  b->hash = hash;
  uint32_t *table = calloc((size_t)capacity * 2, sizeof *table);
  if (table == NULL) return false;
  free(b->table);
  b->table = table;
  b->capacity = capacity;
  b->table_size = capacity * 2;
  for (uint32_t number = 0; number < b->count; number++) {
    uint32_t i = bag_slot(b, b->hash[number]);
    while (table[i] != 0) i = (i + 1) & (b->table_size - 1);
    table[i] = number + 1;
  }
  return true;
}

uint32_t ty_bag_add(ty_bag *b, uint32_t hash) {
  uint32_t number = ty_bag_find(b, hash);
  if (number != TY_NO_TERM) return number;
  if (b->count == b->capacity && !bag_grow(b)) return TY_NO_TERM;
  TY_ASSERT(b->count < b->capacity && b->table_size >= 2 * b->capacity);
  uint32_t i = bag_slot(b, hash);
  while (b->table[i] != 0) i = (i + 1) & (b->table_size - 1);
  b->hash[b->count] = hash;
  b->table[i] = ++b->count;
  return b->count - 1;
}

void ty_bag_free(ty_bag *b) {
  free(b->hash);
  free(b->table);
  memset(b, 0, sizeof *b);
}

/* Up to so many items are put in order of the highest eight bits and then by insertion: hashes are spread evenly, and
 * of those that are chosen not to be, these few are sorted in a quarter of a millisecond. */
#define FEW_ITEMS 1024u

static void insert_items(uint64_t *items, uint64_t n) {
  for (uint64_t i = 1; i < n; i++) {
    uint64_t moving = items[i], j = i;
    for (; j > 0 && items[j - 1] >> 32 > moving >> 32; j--) items[j] = items[j - 1];
    items[j] = moving;
  }
}

/* In the order of eight bits, stable. */
static void sort_digit(const uint64_t *from, uint64_t *to, uint64_t n, unsigned shift) {
  uint32_t starts[257] = {0};
  for (uint64_t i = 0; i < n; i++) starts[(from[i] >> shift & 255) + 1]++;
  for (unsigned d = 0; d < 256; d++) starts[d + 1] += starts[d];
  for (uint64_t i = 0; i < n; i++) to[starts[from[i] >> shift & 255]++] = from[i];
}

void ty_sort_by_hash(uint64_t *items, uint64_t *scratch, uint64_t n) {
  if (n < 48) { /* a pass over 256 counters costs more */
    insert_items(items, n);
    return;
  }
  if (n <= FEW_ITEMS) {
    sort_digit(items, scratch, n, 56);
    memcpy(items, scratch, (size_t)n * sizeof *items);
    insert_items(items, n);
    return;
  }
  uint64_t *from = items, *to = scratch;
  for (unsigned shift = 32; shift < 64; shift += 8) { /* an even number of passes: the result is in `items` again */
    sort_digit(from, to, n, shift);
    uint64_t *swap = from;
    from = to;
    to = swap;
  }
}

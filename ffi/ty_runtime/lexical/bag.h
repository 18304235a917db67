/* A set of term hashes, numbered in order of arrival. */
#pragma once

#include <stdint.h>

typedef struct ty_bag {
  uint32_t *hash;  /* by number */
  uint32_t *table; /* open addressing: number + 1, 0 empty; a power of two, at most half full */
  uint32_t count, capacity, table_size;
} ty_bag;
#define TY_NO_TERM 0xffffffffu
uint32_t ty_bag_find(const ty_bag *b, uint32_t hash); /* TY_NO_TERM when absent */
uint32_t ty_bag_add(ty_bag *b, uint32_t hash);        /* the number, new or known; TY_NO_TERM when memory ran out */
void ty_bag_free(ty_bag *b);
/* Sorts by the upper 32 bits; `scratch` has room for n. Stable, linear but for a thousand: terms come by the million.
 */
void ty_sort_by_hash(uint64_t *items, uint64_t *scratch, uint64_t n);

#include "calls/newest.h"

#include <stdlib.h>

#define LEAST 256u /* rows that memory is taken for at first */

static int compare(const void *a, const void *b) {
  const ty_recent *x = a, *y = b;
  if (x->updated != y->updated) return x->updated > y->updated ? -1 : 1;
  return (x->order < y->order) - (x->order > y->order);
}

void ty_newest_end(ty_newest *n) {
  if (n->count > 0) qsort(n->items, (size_t)n->count, sizeof *n->items, compare);
  if (n->count > n->wanted) n->count = n->wanted;
}

/* Twice the wanted rows are kept before they are sorted and the later half is dropped: a row costs a comparison or
 * two. */
bool ty_newest_offer(ty_newest *n, ty_recent row) {
  if (n->count == n->capacity && n->capacity / 2 >= n->wanted) ty_newest_end(n);
  if (n->count == n->capacity) {
    uint64_t capacity = n->capacity == 0 ? LEAST : n->capacity * 2;
    ty_recent *items = capacity > SIZE_MAX / sizeof *items ? NULL : realloc(n->items, (size_t)capacity * sizeof *items);
    if (items == NULL) return false;
    n->items = items;
    n->capacity = capacity;
  }
  n->items[n->count++] = row;
  return true;
}

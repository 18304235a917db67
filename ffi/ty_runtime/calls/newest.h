/* The rows that were updated last, chosen in one pass over all. */
#pragma once

#include "rows/segment.h"

typedef struct ty_recent {
  uint64_t updated, order; /* order: by insertion, among the rows offered */
} ty_recent;

/* At most `wanted` rows: the latest; for equal times the row inserted last comes first. */
typedef struct ty_newest {
  ty_recent *items; /* the caller's to free */
  uint64_t wanted, count, capacity;
} ty_newest;

/* False: out of memory. */
bool ty_newest_offer(ty_newest *n, ty_recent row);
/* Leaves the wanted ones, the latest first. */
void ty_newest_end(ty_newest *n);

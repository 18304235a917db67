/* What a caller hands over: strings side by side with their ends, and the checks at the door. */
#ifndef TY_HANDED_H
#define TY_HANDED_H

#include "rows/collection.h"

/* The i-th of a run of strings. */
static inline ty_slice ty_nth(const uint8_t *bytes, const uint64_t *ends, uint64_t i) {
  if (ends == NULL) return (ty_slice){NULL, 0};
  uint64_t start = i == 0 ? 0 : ends[i - 1];
  return (ty_slice){bytes == NULL ? NULL : bytes + start, ends[i] - start};
}

/* Behind the name of a number of a vector; src/checks/vectors.ts says the same. */
#define TY_NOT_FINITE "is NaN or infinite; a vector holds numbers that are finite in single precision"
/* TY_INVALID with the value that is wrong. */
ty_status ty_check_ids(const uint8_t *ids, const uint64_t *ends, uint64_t n, ty_error *err);
ty_status ty_check_put(const ty_collection *c, const ty_put_args *a, ty_error *err);

#endif

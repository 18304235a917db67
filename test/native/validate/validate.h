/* validate: the invariants between the parts of an open collection. For tests and fuzzers; ty_verify checks the
 * bytes on disk.
 *
 * The columns of all rows are checked, in linear time. Vectors and terms are checked for a sample of rows, and sums
 * over all rows only where the sample is all of them. */
#pragma once

#include "state/state.h"

/* The sample: rows of a segment that are read whole, spread evenly over it. */
#define TY_VALIDATE_ROWS 4096u
static inline uint64_t ty_validate_step(const ty_segment *s) { return s->count / TY_VALIDATE_ROWS + 1; }
static inline bool ty_validate_all(const ty_collection *c) {
  return c->base.count <= TY_VALIDATE_ROWS && c->delta.count <= TY_VALIDATE_ROWS;
}

/* TY_CORRUPT naming the first invariant that does not hold, or TY_NO_MEMORY; ty_validate also returns errors of
 * following another process's save. Any thread may call it, also during a change. */
ty_status ty_validate(ty_collection *c, ty_error *err);
/* For a caller that has called ty_enter. */
ty_status ty_validate_entered(const ty_collection *c, ty_error *err);

/* The parts, each relying on those before. tables.c: the tables by id, by birth, by row number. */
ty_status ty_validate_tables(const ty_collection *c, ty_error *err);
/* Where saved rows lie, and the unsaved operations. */
ty_status ty_validate_saved(const ty_collection *c, ty_error *err);
/* vectors.c: codes, their bounds and checksums, the IVF index, and the sums that weighted queries use. */
ty_status ty_validate_vectors(const ty_collection *c, ty_error *err);
/* lexical.c: the statistics of the lexical index, where it can be read. */
ty_status ty_validate_lexical(const ty_collection *c, ty_error *err);

/* Vectors of meaning: each lies where the table says, and is of its row. */
ty_status ty_validate_meaning(const ty_collection *c, ty_error *err);

ty_status ty_invalid_memory(ty_error *err);
ty_status ty_invalid(ty_error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));
#define TY_HOLD(condition, ...)                                                                                        \
  do {                                                                                                                 \
    if (!(condition)) return ty_invalid(err, __VA_ARGS__);                                                             \
  } while (0)

/* validate: the invariants of an open collection: what its headers promise of one part about another. For ty_verify,
 * tests and fuzzers; the bytes on disk are calls/verify.c's to check. Uses all folders below.
 *
 * Every row's columns are looked at, in linear time. What takes decoding its vector or reading its terms is checked for
 * a sample, and sums over all rows are counted again only where the sample is all of them.
 */
#ifndef TY_VALIDATE_H
#define TY_VALIDATE_H

#include "state/state.h"

/* Rows of a segment that are read whole, spread evenly over it. */
#define TY_VALIDATE_ROWS 4096u
static inline uint64_t ty_validate_step(const ty_segment *s) { return s->count / TY_VALIDATE_ROWS + 1; }
static inline bool ty_validate_all(const ty_collection *c) {
  return c->base.count <= TY_VALIDATE_ROWS && c->delta.count <= TY_VALIDATE_ROWS;
}

/* TY_CORRUPT with a sentence that names the first invariant that does not hold, TY_NO_MEMORY; of ty_validate also what
 * following another process's save ends in. Any thread may call it, beside changes too. */
ty_status ty_validate(ty_collection *c, ty_error *err);
/* For a caller that has entered a question. */
ty_status ty_validate_entered(const ty_collection *c, ty_error *err);

/* Their parts, in the order in which they rely on each other.
 * tables.c: by id, by birth, by row number. */
ty_status ty_validate_tables(const ty_collection *c, ty_error *err);
/* Where saved rows lie, and what a change has to save or to undo. */
ty_status ty_validate_saved(const ty_collection *c, ty_error *err);
/* vectors.c: codes, their bounds, the IVF index, and the sums that questions are weighted by. */
ty_status ty_validate_vectors(const ty_collection *c, ty_error *err);
/* lexical.c: the statistics of the lexical index, where it can be read. */
ty_status ty_validate_lexical(const ty_collection *c, ty_error *err);

ty_status ty_invalid_memory(ty_error *err);
ty_status ty_invalid(ty_error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));
#define TY_HOLD(condition, ...)                                                                                        \
  do {                                                                                                                 \
    if (!(condition)) return ty_invalid(err, __VA_ARGS__);                                                             \
  } while (0)

#endif

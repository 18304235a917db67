/* lexical: the inverted index for questions by word. Uses os, work, rows and scan's filter.
 *
 *   lexical.h   opening, writing, and being told of changes
 *   index.h     the index in memory, brought in step with the live rows
 *   question.h  a question's terms, its lists and its ranking
 *   tally.h     the terms of a text; terms.h, bits.h: how they are stored
 *   format.h    the stored form of the index
 *   builder.h   the index on its way to that; runs.h: inverting in bounded memory
 *   bag.h       a set of terms
 */
#ifndef TY_LEXICAL_H
#define TY_LEXICAL_H

#include "rows/rewrite.h"

/* Opens the inverted index of lexical-*.slab. One of another way of tokenising, or damaged, is no failure: lexical
 * questions are then refused, with a sentence that says what to do, until an index is built. */
ty_status ty_lexical_open(const ty_collection *c, const ty_segment *base, ty_slice bytes, ty_lexical **out,
                          ty_error *err);
/* The same for bytes that could not even be found: `why` is what was wrong with the file. */
ty_status ty_lexical_open_none(const ty_error *why, ty_lexical **out, ty_error *err);
/* TY_INVALID where k1 or b is out of range. */
ty_status ty_lexical_check(double k1, double b, ty_error *err);
void ty_lexical_free(ty_lexical *x);
bool ty_lexical_usable(const ty_lexical *x); /* false for NULL as well */
/* False where they could not be read; of an index that is not usable `terms` is 0. */
bool ty_lexical_parameters(const ty_lexical *x, double *k1, double *b, uint64_t *terms);
/* Called under the exclusive lock when rows come to the delta and when a row dies, so that the next question sees it.
 * Cheap: only notes; the work may be done at the next lexical question (which then takes its own mutex). A failure to
 * allocate is remembered and reported by that question. */
void ty_lexical_added(ty_lexical *x, uint64_t first_delta_at);
void ty_lexical_died(ty_lexical *x);
/* The delta was emptied or re-read from its start: forget what was noted of it. */
void ty_lexical_reset(ty_lexical *x);

/* Takes the bytes as they come, front to back, some 64 KiB at a time. False: it failed and has told so itself; the
 * build then ends with TY_IO and says nothing more. */
typedef struct ty_lexical_sink {
  bool (*put)(void *ctx, const void *data, uint64_t bytes);
  void *ctx;
} ty_lexical_sink;
/* Writes the inverted index over a rewrite's rows in their final order. */
ty_status ty_lexical_encode(const ty_rebase *r, const ty_lexical_sink *sink, ty_error *err);

#endif

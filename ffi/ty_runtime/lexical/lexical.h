/* lexical: the inverted index for lexical queries. Uses os, work, rows and scan's filter.
 *
 *   lexical.h   opening, writing, and notes of changes
 *   index.h     the index in memory, and updating it from the live rows
 *   statistics.h  how many rows there are and hold a term, of all rows or a partition's
 *   question.h  a query's terms, its lists and its ranking
 *   unknown.h   words of a question that the rows do not have
 *   passage.h   the passage of a text that fits a question best
 *   tally.h     the terms of a text; terms.h, bits.h: how they are stored
 *   labels.h    hidden terms of a row
 *   format.h    the stored form of the index
 *   builder.h   building that form
 *   runs.h      inverting in bounded memory
 *   stored_terms.h  terms that lie in the index only
 *   rebuilt.h   an index in memory, in place of a stored one that cannot be used
 *   walk.h      all terms and postings of an index
 *   bag.h       a set of terms
 */
#pragma once

#include "rows/intact.h"
#include "rows/rewrite.h"

/* The index of a collection without a base, with the default parameters. */
ty_status ty_lexical_new(ty_lexical **out, ty_error *err);
/* Opens the inverted index of lexical-*.slab, whose blocks are compared with their checksums as queries read them. A
 * damaged one, or one of another version of tokenising, is not an error, but not usable: until the base is rewritten,
 * queries by both rankings are answered by vector alone, and those by words from the rows' texts (rebuilt.h). */
ty_status ty_lexical_open(const ty_collection *c, const ty_segment *base, const ty_intact *bytes, ty_lexical **out,
                          ty_error *err);
/* The same where the file could not be opened; `why` is the error. */
ty_status ty_lexical_open_none(const ty_collection *c, const ty_error *why, ty_lexical **out, ty_error *err);
/* TY_INVALID where k1 or b is out of range. */
ty_status ty_lexical_check(double k1, double b, ty_error *err);
void ty_lexical_free(ty_env *env, ty_lexical *x);
/* A query or a change found damage that opening it did not: it is not usable from now on. */
void ty_lexical_found_damage(ty_lexical *x);
bool ty_lexical_usable(const ty_lexical *x); /* false for NULL as well */
/* TY_OK where it is usable, else TY_INDEX (damaged, missing) or TY_UNBUILT (of another way of tokenising), and why.
 */
ty_status ty_lexical_refusal(const ty_lexical *x, ty_error *err);
/* Whether ty_build_lexical was called. Where that cannot be read, k1 and b are the defaults, and it counts as called if
 * the collection's schema has `lexical`; `terms` of an unusable index is 0. */
bool ty_lexical_parameters(const ty_lexical *x, double *k1, double *b, uint64_t *terms);
/* Called under the exclusive lock when rows are added to the delta and when a row dies. Only a note: the next lexical
 * query updates the statistics, under the index's mutex, and reports a lack of memory. */
void ty_lexical_added(ty_lexical *x, uint64_t first_delta_at);
void ty_lexical_died(ty_lexical *x);
/* The delta was emptied or read again: count its rows again. */
void ty_lexical_reset(ty_lexical *x);

/* Takes the bytes front to back, some 64 KiB at a time. False: it failed and keeps the error itself; the build then
 * returns TY_IO without a message. */
typedef struct ty_lexical_sink {
  bool (*put)(void *ctx, const void *data, uint64_t bytes);
  void *ctx;
} ty_lexical_sink;
/* Writes the inverted index over a rewrite's rows in their final order. Rows of the base are taken from `r->kept` where
 * that is not NULL, else from their texts. TY_INDEX where a row of the base has terms and no text then. */
ty_status ty_lexical_encode(const ty_rebase *r, const ty_lexical_sink *sink, ty_error *err);

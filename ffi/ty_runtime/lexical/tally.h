/* How often a text has each term: for a row's stored terms, and for its part of the statistics. */
#pragma once

#include "lexical/terms.h"
#include "rows/segment.h"

typedef struct ty_tally {
  uint64_t *items; /* hash << 32 | tf; after ty_tally_end ascending, each hash once */
  uint64_t *scratch;
  uint64_t count, capacity;
  uint64_t tokens;
  bool failed; /* memory ran out */
  uint32_t texts;
  ame_token_cache *cache; /* of words, after the first few texts; NULL: none */
  ty_text_reader reader;
} ty_tally;

void ty_tally_text(ty_tally *t, const ame_kernel *k, ty_slice text); /* adds the text's tokens */
void ty_tally_term(ty_tally *t, uint32_t hash, uint32_t tf);
/* Sorts and counts. False where memory ran out or a count leaves its range. */
bool ty_tally_end(ty_tally *t);
void ty_tally_clear(ty_tally *t); /* for the next text */
void ty_tally_free(ty_tally *t);

/* A cache of words for tokenising many texts, kept in *cache. NULL for the first few texts, and where memory ran
 * out. */
ame_token_cache *ty_token_cache(ame_token_cache **cache, uint32_t *texts);

/* Whether a row's terms come from its text: it has one, and no stored terms of this version of tokenising. */
static inline bool ty_terms_are_of_text(const ty_term_reader *stored, bool has_text, const ame_kernel *k) {
  return has_text && (stored->distinct == 0 || stored->version != k->token_version());
}
/* A row's terms, sorted and counted: those of its text (ty_terms_are_of_text), or the stored ones. Not of a row of the
 * base without a text, whose terms are in the index only: stored_terms.h. */
ty_status ty_tally_row(ty_tally *t, const ame_kernel *k, ty_ref row, ty_error *err);
/* Appends the stored form of n terms: hash << 32 | tf, ascending; nothing for no term. */
void ty_terms_put(const uint64_t *items, uint64_t n, uint64_t tokens, uint32_t version, ty_buffer *out);
/* Appends a text's terms and a run of labels (labels.h) in the stored form: see terms.h. `met`, where not NULL: the
 * text's terms, hash << 32 | how often, in any order, one several times perhaps; the text is not read then. */
ty_status ty_terms_encode(ty_tally *t, const ame_kernel *k, ty_slice text, const ty_slice *met, ty_slice labels,
                          ty_buffer *out, ty_error *err);

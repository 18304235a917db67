/* Inside of replacing words that the rows searched do not have: by words one edit away (spelling.c), else by other
 * words (other_words.c), each checked by the text of a row (sample.c). */
#pragma once

#include "lexical/question.h"

/* Terms that stand for one word, at most. */
#define TY_PARTNERS_MOST 3u

typedef struct ty_partners {
  query_term items[TY_PARTNERS_MOST];
  uint32_t count;
} ty_partners;

/* For all words of one question, or chain. */
typedef struct ty_replacing {
  question *q; /* the first of the chain */
  struct ty_edits *edits;
  uint64_t text_left; /* bytes of rows' texts that may still be read as sample texts */
} ty_replacing;

/* A term by its hash may be another one: whether the rows searched have one of n terms, by the first stored text of a
 * row that has the hash. Then *t is that term, and its shown form the word of the row. False as well where the texts of
 * rows are not stored. Of a chain the collections are read one after the other. */
ty_status ty_sample_text(ty_replacing *r, query_term *t, const ty_slice *terms, uint32_t n, bool *found, ty_error *err);

/* The terms one edit from a word, the most frequent first. */
ty_status ty_spelling(ty_replacing *r, const query_term *word, ty_partners *out, ty_error *err);
void ty_spelling_free(ty_replacing *r);
/* Whether other words are searched for: not in a question with many known terms. */
bool ty_other_words_help(const question *q);
/* Other words for a word, from the kernel's tables: the best that the rows searched have. */
ty_status ty_other_words(ty_replacing *r, const query_term *word, ty_partners *out, ty_error *err);
/* Whether a word may be misspelt: not one that the table of meanings has; *edits: about how many edits it has. */
bool ty_spelling_tries(const question *q, const query_term *word, uint64_t *edits);

/* The passage of a text that fits a question best: some sentences that follow each other, scored by BM25 as if they
 * were a row. A long text has most words of most questions somewhere; the part about one question is a few
 * sentences long. */
#pragma once

#include "lexical/question.h"

/* Characters of a passage, about. Change LONG_TOKENS (statistics.c) and the sizes of sentences (passage.c) with it. */
#define TY_PASSAGE_CHARS 600u
/* A text of more characters than this is scored by a passage as well. */
#define TY_LONG_TEXT_CHARS (2 * TY_PASSAGE_CHARS)
/* Bytes of a text that show whether it has. */
#define TY_LONG_TEXT_BYTES (4 * ((uint64_t)TY_LONG_TEXT_CHARS + 1))

typedef struct ty_passage {
  uint64_t from, to; /* bytes of the text: whole sentences, or lines, or parts of very long ones */
  double score;      /* BM25 on the scale of the ranking by words; 0: none of the words is in the text */
  /* Only with details: */
  uint64_t best;         /* where the sentence of those begins that has the heaviest words of the question */
  uint64_t word;         /* where the heaviest word of that sentence stands */
  double question_share; /* share of the question's information that is in the whole text, 0 to 1 */
} ty_passage;

/* What is prepared once for all texts of a question, and scratch. All zero at first. */
typedef struct ty_passage_finder {
  const question *q;
  ty_bag terms;
  struct ty_passage_term *weights; /* by number in `terms` */
  ame_wanted wanted;               /* the terms */
  uint64_t filter[16];             /* a bit for the low bits of each hash, so that few others are looked up */
  ty_buffer sentences, matches;
} ty_passage_finder;

/* After ty_question_weigh. TY_NO_MEMORY. */
ty_status ty_passage_open(ty_passage_finder *p, const question *q, ty_error *err);
/* The best passage of a text. */
ty_status ty_passage_best(ty_passage_finder *p, ty_slice text, bool with_details, ty_passage *out, ty_error *err);
void ty_passage_close(ty_passage_finder *p);
/* An upper bound of ty_passage.score for a row whose score by words is at most `score`; its text must be plain. A
 * passage of a plain text has no term more often than the row, so if `norm` is that of the row's length:
 *
 *   tf' / (tf' + fixed)  <=  tf / (tf + norm) * (tf + norm) / (tf + fixed)  <=  tf / (tf + norm) * (1 + norm) / (1 +
 * fixed)
 *
 * for each term of the passage, tf' <= tf. After ty_question_weigh, with an index. */
double ty_passage_bound(const question *q, ty_ref row, double score);
/* Whether a text is ASCII and has a space in every 240 characters. Its sentences then end after characters that
 * separate terms, so that a sentence has no term that the text does not have there. */
bool ty_is_plain_text(ty_slice text);
/* Whether a text has more than TY_LONG_TEXT_CHARS characters. */
bool ty_is_long_text(ty_slice text);
/* Whether a stored text may have: the length of most short ones shows that they have not, and their pages are not read.
 */
static inline bool ty_may_be_long(ty_slice stored) { return stored.bytes * TY_SYMBOL_BYTES > TY_LONG_TEXT_CHARS; }

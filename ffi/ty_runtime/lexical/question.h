/* One lexical query: its terms, its lists, its ranking.
 *
 * A query of several collections is a chain of questions, one for each collection, of the same text. Their terms weigh
 * by the rows of all of them, as if these lay in one collection. A question alone is a chain of one. */
#pragma once

#include "lexical/statistics.h"

typedef struct query_term {
  uint32_t hash;
  uint32_t count; /* occurrences in the query */
  uint32_t
      bare;    /* of a word with tones: the number of its form without them, from 1; 0: none, or in the query itself */
  bool beside; /* is such a form, of a word that live rows hold */
  bool label;  /* is a label (labels.h), no term of the text */
  uint32_t added; /* number among the changed terms; TY_NO_TERM: none */
  uint32_t text_bytes;
  uint32_t word_bytes, shown_bytes; /* after the term: its word, folded, then as it was written */
  uint32_t instead;                 /* the word of `unknown` that it stands for; TY_NO_TERM: itself */
  uint64_t text;                    /* offset in question.text */
  ty_dict_entry stored;             /* df 0: the stored index does not have it */
  double idf;                       /* among the rows of the question's scope */
  double share;                     /* of the weight that its rarity gives it; 1 unless it stands for another word */
  double information;               /* idf times worth, of a substitute part of its word's: ty_passage.question_share */
  ame_bm25 part;                    /* a posting's score, in units of 2^-scale */
  uint32_t most;                    /* upper bound of a part */
} query_term;

typedef struct question {
  const ty_collection *c;
  ty_lexical *x;
  const ty_filter *filter;
  struct question *next; /* of the chain; NULL: the last one */
  ty_bag bag;            /* of the hashes in `terms`; numbers are indices, until ty_question_count */
  query_term *terms;
  uint32_t count, capacity;
  uint32_t asked;      /* distinct terms of the question's text, before ty_question_count */
  query_term *unknown; /* the first terms that the rows searched do not have, in the question's order */
  uint32_t unknown_count;
  bool weighs;        /* keep the next */
  ty_weight *weights; /* of each of the terms asked, in their order, after ty_question_count */
  ty_scope scope;     /* after ty_question_count, of this collection alone */
  uint64_t docs;      /* rows of the scopes of the whole chain */
  double mean;        /* the length that BM25 compares rows with, over the whole chain */
  double information; /* sum over all words of the question, also of those that no row has */
  uint32_t last;      /* number of the token before */
  ty_slice query;     /* the caller's */
  ty_buffer text;
  bool failed;  /* the last call failed here and not in another question of the chain */
  int scale;    /* a score is the whole number times 2^-scale */
  double drift; /* factor of the stored bounds: format.h */
} question;

/* The word of a term, folded, and as it is written. */
static inline ty_slice ty_term_word(const question *q, const query_term *t) {
  return (ty_slice){q->text.data + t->text + t->text_bytes, t->word_bytes};
}
static inline ty_slice ty_term_spelling(const question *q, const query_term *t) {
  return (ty_slice){q->text.data + t->text + t->text_bytes + t->word_bytes, t->shown_bytes};
}

/* query.c, of one question unless a chain is named */
bool ty_question_read(question *q, ty_slice query); /* false: out of memory */
/* Adds the labels of a run, `share` times their weight each. False: out of memory. */
bool ty_question_label(question *q, ty_slice labels, double share);
/* Looks the terms up. TY_INDEX where the dictionary is damaged. */
ty_status ty_question_find(question *q, ty_error *err);
/* Keeps in each question of a chain the terms that rows of the filters' scopes (statistics.h) hold, and of the others
 * the first TY_UNKNOWN_MOST. TY_INDEX where a list is damaged. */
ty_status ty_question_count(question *chain, ty_error *err);
/* Looks a term's hash up in the dictionary: its lists. */
ty_status ty_question_lists(const question *q, query_term *t, ty_error *err);
/* The same in each collection of a chain: at *df how many rows of the scopes hold it. Its lists are then those of the
 * first one. */
ty_status ty_question_look(question *chain, query_term *t, uint64_t *df, ty_error *err);
/* Adds a term after the others. False: out of memory. */
bool ty_question_add(question *q, const query_term *t);
void ty_question_weigh(question *q); /* the last step before ranking */
/* The information of a word that no row has, of full worth; after ty_question_count. */
double ty_question_unknown(const question *q);
/* All steps to here for a chain, of indexes that are usable; without one (x of a question alone NULL) all words weigh
 * as if all were equally rare. */
ty_status ty_question_prepare(question *chain, ty_slice query, ty_error *err);
void ty_question_free(question *q);

/* unknown.c, between count and weigh: terms that the rows searched have instead of those that they lack. */
#define TY_UNKNOWN_MOST 32u
ty_status ty_unknown_replace(question *chain, ty_error *err);
/* Edits to be looked up, at most. */
uint64_t ty_unknown_edits(const question *q);

/* ---- Reading a list: cursor.c ---- */
typedef struct ty_postings {
  uint32_t docs[TY_BLOCK_DOCS], tfs[TY_BLOCK_DOCS], parts[TY_BLOCK_DOCS];
} ty_postings;

/* At a block, of which the requested parts are unpacked, or after the last one (`ended`). */
typedef struct ty_cursor {
  const query_term *term;
  const ty_lexical_image *image; /* of a stored list */
  const ame_kernel *k;
  const uint32_t *lengths;         /* by position */
  const uint8_t *list, *directory; /* directory NULL: a stream alone */
  const uint8_t *at, *end;         /* of the stream */
  uint64_t limit;                  /* positions are below */
  uint64_t next;                   /* of a stream: the smallest position that can follow */
  double bound;                    /* factor from stored bounds to bounds of parts */
  uint32_t blocks, block;          /* with the rest; the current one */
  uint32_t rest;                   /* postings in the rest */
  uint32_t count;                  /* postings that are unpacked of this block; 0: none */
  uint32_t from;                   /* earlier ones were read */
  uint32_t last;                   /* of a stream: the last position that is unpacked */
  bool has_tfs, has_parts, ended;
  ty_postings *p;
} ty_cursor;

/* The term's list in the stored index, or in the delta. */
ty_status ty_cursor_open(ty_cursor *c, const question *q, const query_term *t, bool delta, ty_postings *memory,
                         ty_error *err);
/* Forward to the block that can hold `doc` or a later position. */
ty_status ty_cursor_seek(ty_cursor *c, uint64_t doc, ty_error *err);
ty_status ty_cursor_next(ty_cursor *c, ty_error *err); /* to the next block */
ty_status ty_cursor_docs(ty_cursor *c, ty_error *err);
ty_status ty_cursor_tfs(ty_cursor *c, ty_error *err);   /* and how often each has the term */
ty_status ty_cursor_parts(ty_cursor *c, ty_error *err); /* of all postings of the block */
/* The first posting of the unpacked block that is not before `doc`. */
uint32_t ty_cursor_lower(const ty_cursor *c, uint64_t doc);
/* The tf at a position of the current block, 0 where the list lacks it. */
ty_status ty_cursor_find(ty_cursor *c, uint64_t doc, uint32_t *tf, ty_error *err);
uint32_t ty_cursor_part(const ty_cursor *c, uint32_t doc, uint32_t tf); /* of one posting */
static inline uint32_t ty_cursor_last(const ty_cursor *c) {             /* of the block */
  return c->directory == NULL ? c->last : ty_load32(c->directory + 4ull * c->block);
}
/* A lower bound of the block's positions. */
static inline uint64_t ty_cursor_first(const ty_cursor *c) {
  if (c->count > 0) return c->from < c->count ? c->p->docs[c->from] : (uint64_t)ty_cursor_last(c) + 1;
  return c->block == 0 ? 0 : (uint64_t)ty_load32(c->directory + 4ull * (c->block - 1)) + 1;
}
/* An upper bound of a block's parts. */
static inline uint32_t ty_cursor_bound(const ty_cursor *c, uint32_t block) {
  if (c->directory == NULL) return c->term->most;
  double bound = c->bound * c->directory[8ull * c->blocks + block] + 2;
  return bound < c->term->most ? (uint32_t)bound : c->term->most;
}

/* ---- The best rows so far: best.c ---- */
typedef struct ty_ranked {
  uint64_t birth;
  uint32_t score;
  uint32_t at : 31;
  uint32_t delta : 1;
} ty_ranked;

/* A heap with the worst at items[0]; afterwards, best first. */
typedef struct ty_best {
  ty_ranked *items;
  uint64_t k, count;
} ty_best;
/* A row with less is not among the best; one with as much may be, by its birth. */
static inline uint32_t ty_best_need(const ty_best *b) { return b->count == b->k ? b->items[0].score : 1; }
void ty_best_offer(ty_best *b, const ty_ranked *one);
void ty_best_sort(ty_best *b);

/* rank.c: the best top_k rows, in memory that is the caller's to free. */
ty_status ty_question_rank(const question *q, uint64_t top_k, ty_best *out, ty_error *err);

/* explain.c: how often a row has a term. */
ty_status ty_question_tf(const question *q, ty_ref ref, const query_term *t, uint32_t *tf, ty_error *err);
/* Appends one ty_term for each of the query's terms that the row holds, in the query's order. The shares sum
 * to the score, exactly. */
ty_status ty_question_explain(const question *q, ty_ref ref, ty_buffer *out, ty_error *err);

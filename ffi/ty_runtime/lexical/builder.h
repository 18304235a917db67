/* Building a stored lexical index: build.c reads the rows and writes the whole, merge.c brings the postings of each
 * term together, lists.c writes the lists and the dictionary. */
#pragma once

#include "lexical/format.h"
#include "lexical/lexical.h"
#include "lexical/runs.h"

/* The part of the progress that reading the rows takes, about. */
#define TY_BUILD_ROWS_SHARE 0.85
/* Small lists are written together. */
#define TY_BUILD_OUT ((uint64_t)64 << 10)

typedef struct ty_lexical_builder {
  const ty_rebase *r;
  const ty_lexical_sink *sink;
  ty_error *err;
  ame_bm25 norms;
  ty_lexical_foot foot;
  ty_runs runs;
  ame_token_cache *cache;
  uint32_t texts;
  ty_growing lengths, fences, entries, directory;
  bool failed;    /* memory ran out */
  bool unwritten; /* the sink failed */
  /* The list that is being written. */
  uint32_t docs[TY_BLOCK_DOCS + 1], tfs[TY_BLOCK_DOCS + 1], count;
  uint64_t next, df, list;
  ty_dict_entry terms[TY_DICT_TERMS];
  uint32_t term_count;
  uint64_t length; /* of the row that is being read */
  ty_ref before;   /* the row before it */
  ty_text_reader reader;
  uint8_t out[TY_BUILD_OUT];
  uint64_t held;
} ty_lexical_builder;

/* Adds so many bytes at the end; NULL, and `failed`, where memory ran out. */
void *ty_builder_room(ty_lexical_builder *b, ty_growing *g, uint64_t bytes);
void ty_builder_put(ty_lexical_builder *b, const void *data, uint64_t bytes); /* to the sink, buffered */
void ty_builder_flush(ty_lexical_builder *b);                                 /* writes the buffer */
ty_status ty_builder_look(ty_lexical_builder *b, double part); /* progress, cancel and the sink's failure */
ty_status ty_builder_no_memory(ty_error *err);
static inline const uint32_t *ty_builder_lengths(const ty_lexical_builder *b) { return b->lengths.memory.data; }
/* Writes all lists and the dictionary's entries. */
ty_status ty_builder_merge(ty_lexical_builder *b);
/* A term's postings in ascending order, then the term. */
void ty_builder_posting(void *builder, uint64_t row, uint32_t tf);
ty_status ty_builder_term(void *builder, uint32_t hash);
void ty_builder_end(ty_lexical_builder *b); /* after the last term */

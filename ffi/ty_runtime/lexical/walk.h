/* All terms of a stored index in ascending order of hash, with their postings, as untrusted input. */
#pragma once

#include "lexical/question.h"

typedef struct ty_walk {
  const ty_collection *c;
  ty_lexical *x;
  question q; /* what a cursor reads of one */
  query_term term;
  ty_postings memory;
  ty_cursor cursor;
  ty_dict_entry entries[TY_DICT_TERMS], *entry; /* of the current block; the current term */
  uint64_t block;                               /* the next one */
  uint32_t count, at;
  uint32_t before; /* the hash before the current term's */
  bool begun;      /* the cursor's block was passed on */
  uint64_t read;   /* bytes of lists since pages were evicted */
} ty_walk;

/* `x` is usable and stays as it is during the walk. */
void ty_walk_open(ty_walk *w, const ty_collection *c, ty_lexical *x);
/* The next term, at w->entry; NULL after the last. TY_INDEX where the dictionary is damaged. */
ty_status ty_walk_term(ty_walk *w, ty_error *err);
/* To the current term's postings: the block that may hold the position `first`. */
ty_status ty_walk_list(ty_walk *w, uint64_t first, ty_error *err);
/* The next of them: *n, at memory.docs and memory.tfs; none at the end. TY_INDEX where the list is damaged. */
ty_status ty_walk_postings(ty_walk *w, uint32_t *n, ty_error *err);

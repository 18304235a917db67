/* A put's rows as operations and screening data, made on several threads where there is enough to do. */
#pragma once

#include "rows/coded.h"
#include "rows/vector.h"
#include "state/history.h"

/* What a task of ty_encode makes of its rows, but for their codes. */
typedef struct ty_ahead_part {
  ty_buffer terms;
  uint64_t term_ends[TY_CODER_ROWS];
  uint32_t sparse_bytes[TY_CODER_ROWS];
} ty_ahead_part;
/* What ty_encode makes of texts without reading rows of the collection: ahead.c. */
struct ty_ahead {
  const ty_collection *of;
  ty_collection schema; /* of it: the only part of a collection that is read until the put */
  uint64_t rows, step;  /* of a task */
  ty_coded coded;
  ty_ahead_part *parts;
  bool done;
};

typedef struct ty_encoding {
  ty_collection *c;
  const ty_put_args *args; /* checked */
  uint64_t rows;           /* distinct ids */
  const uint64_t *last;    /* of each: the index of its last row in the call */
  const ty_place *victim;  /* + 1; 0: the id is new */
  const ty_place *like;    /* + 1 of the row whose vector it gets; 0: none. NULL: none of the rows */
  const ty_past *past;     /* not NULL: each row gets the vector of args->changes in it */
  uint64_t now;            /* milliseconds since 1970 */
  ty_ahead *ahead;         /* not NULL: ty_encode fills it and no operations; or reads it if it is `done` */
  /* What ty_encode fills, rows of each. */
  ty_operation **op; /* after the unsaved operations, in the order of the rows */
  ty_coded coded;
  uint64_t resident; /* bytes of `coded` since its pages were evicted, about */
} ty_encoding;
/* Fails at the first row that cannot be stored. The caller restores the unsaved operations and frees `coded`, also
 * where it was not filled. */
ty_status ty_encode(ty_encoding *e, ty_progress *progress, ty_error *err);
/* Called for each row written or read, with its operation's bytes: pages of large calls, which lie in files, are
 * evicted. */
void ty_encoding_advance(ty_encoding *e, uint64_t bytes);
/* Moves the codes into the encoding. */
void ty_ahead_codes(ty_ahead *a, ty_encoding *e);
/* Makes room for the tasks, of `step` rows each. */
ty_status ty_ahead_parts(ty_ahead *a, uint64_t step, ty_error *err);
/* Whether a put of these distinct rows can use it. */
bool ty_ahead_fits(const ty_ahead *a, const ty_encoding *e);

/* A put's rows as operations and screening data, made on several threads where there is enough to do. */
#pragma once

#include "rows/coded.h"
#include "state/history.h"

typedef struct ty_encoding {
  ty_collection *c;
  const ty_put_args *args; /* checked */
  uint64_t rows;           /* distinct ids */
  const uint64_t *last;    /* of each: the index of its last row in the call */
  const ty_place *victim;  /* + 1; 0: the id is new */
  const ty_place *like;    /* + 1 of the row whose vector it gets; 0: none. NULL: none of the rows */
  const ty_past *past;     /* not NULL: each row gets the vector of args->changes in it */
  uint64_t now;            /* milliseconds since 1970 */
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

/* Answers: records one behind the other in the caller's buffer. */
#ifndef TY_ANSWER_H
#define TY_ANSWER_H

#include "rows/collection.h"

/* Appends one record (ty_record and its parts) to an answer; counts bytes even where the buffer is full. */
typedef struct ty_answer {
  uint8_t *out;
  uint64_t capacity, bytes, count;
} ty_answer;
void ty_answer_row(ty_answer *a, const ty_collection *c, ty_ref ref, double score, uint64_t what, ty_slice extra);
/* TY_OK, or TY_BUFFER where bytes > capacity. */
ty_status ty_answer_end(const ty_answer *a, ty_error *err);

#endif

/* Borrowed byte ranges, and a buffer that grows. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef struct ty_slice {
  const uint8_t *data;
  uint64_t bytes;
} ty_slice;

/* Grows as it is written to. */
typedef struct ty_buffer {
  uint8_t *data;
  uint64_t bytes, capacity;
  bool failed; /* memory ran out; stays set, so that callers check once at the end */
} ty_buffer;
void ty_buffer_append(ty_buffer *b, const void *data, uint64_t bytes);
void ty_buffer_align(ty_buffer *b, uint64_t alignment); /* zero bytes up to a multiple */
/* Where so many bytes can be written; who writes them adds them to `bytes`. NULL: out of memory. */
uint8_t *ty_buffer_room(ty_buffer *b, uint64_t more);
void ty_buffer_free(ty_buffer *b);

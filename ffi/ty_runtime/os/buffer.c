#include "os/buffer.h"

#include <stdlib.h>
#include <string.h>

#include "os/fail.h"

uint8_t *ty_buffer_room(ty_buffer *b, uint64_t more) {
  uint64_t need;
  if (b->failed || !ty_add(b->bytes, more, &need)) goto fail;
  if (need <= b->capacity) return b->data + b->bytes;
  uint64_t capacity = b->capacity < 64 ? 64 : b->capacity;
  while (capacity < need) {
    if (!ty_mul(capacity, 2, &capacity)) goto fail;
  }
  if (capacity > SIZE_MAX / 2) goto fail;
  uint8_t *data = realloc(b->data, (size_t)capacity);
  if (data == NULL) goto fail;
  b->data = data;
  b->capacity = capacity;
  return data + b->bytes;
fail:
  b->failed = true;
  return NULL;
}

void ty_buffer_append(ty_buffer *b, const void *data, uint64_t bytes) {
  uint8_t *at = bytes == 0 ? NULL : ty_buffer_room(b, bytes);
  if (at == NULL) return;
  memcpy(at, data, (size_t)bytes);
  b->bytes += bytes;
}

void ty_buffer_align(ty_buffer *b, uint64_t alignment) {
  uint64_t pad = (alignment - b->bytes % alignment) % alignment;
  uint8_t *at = pad == 0 ? NULL : ty_buffer_room(b, pad);
  if (at == NULL) return;
  memset(at, 0, (size_t)pad);
  b->bytes += pad;
}

void ty_buffer_free(ty_buffer *b) {
  free(b->data);
  *b = (ty_buffer){0};
}

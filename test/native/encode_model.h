/* The model that the build has made, for the tests of the sentence encoder. */
#pragma once

#include "../../ffi/ame_kernel/encode/encode.h"

#include <stdio.h>
#include <stdlib.h>

/* The bytes of a file at a multiple of 64, to be freed; NULL where there is no such file: a build without the package
 * makes no model. */
static inline uint8_t *model_read(const char *path, size_t *bytes) {
  FILE *file = path ? fopen(path, "rb") : NULL;
  if (!file) return NULL;
  if (fseek(file, 0, SEEK_END)) abort();
  const long size = ftell(file);
  rewind(file);
  uint8_t *model = size > 0 ? aligned_alloc(64, ((size_t)size + 63) / 64 * 64) : NULL;
  if (!model || fread(model, 1, (size_t)size, file) != (size_t)size) abort();
  fclose(file);
  *bytes = (size_t)size;
  return model;
}

static inline void *encode_scratch(void) {
  void *scratch = aligned_alloc(64, ame_encoder_scratch());
  if (!scratch) abort();
  return scratch;
}

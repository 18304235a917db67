/* A stand-in for the sentence encoder: a vector follows from the bytes of its text and from the model. The kernel's own
 * encoder needs a model of megabytes and has tests of its own. */
#pragma once

#include <stdbool.h>
#include <string.h>
#include "os/env.h"

#define MEANING_MODEL_BYTES 64u
/* Two models, which nothing but their bytes tells apart. */
static const uint8_t meaning_models[2][MEANING_MODEL_BYTES] __attribute__((aligned(64))) = {"first", "second"};
/* That of the environments that are opened from now on. */
static uint32_t meaning_model;

static int32_t stand_in_check(const uint8_t *model, size_t bytes) {
  return bytes != MEANING_MODEL_BYTES || (model[0] != 'f' && model[0] != 's');
}
static uint64_t stand_in_id(const uint8_t *model) { return 1000 + model[0]; }
static size_t stand_in_scratch(void) { return 64; }
static int32_t stand_in_encode(const uint8_t *model, uint32_t role, const uint8_t *text, size_t bytes, void *scratch,
                               const uint32_t *stop, ame_encoding *out) {
  if (stop != NULL && __atomic_load_n(stop, __ATOMIC_RELAXED) != 0) return 1;
  memset(scratch, 1, stand_in_scratch());
  *out = (ame_encoding){.scale = 0.01f, .gate = (uint8_t)(model[0] + role)};
  uint64_t hash = ame_kernel_table()->hash64(text, bytes, model[0]);
  for (uint32_t i = 0; i < AME_ENCODING_DIM; i++) out->codes[i] = (int8_t)((hash >> i % 57) % 255 - 127);
  return 0;
}

/* The kernel's table with the stand-in. */
static const ame_kernel *stand_in_kernel(void) {
  static ame_kernel kernel;
  if (kernel.abi != 0) return &kernel;
  ame_kernel made = *ame_kernel_table();
  made.encoder_check = stand_in_check;
  made.encoder_id = stand_in_id;
  made.encoder_scratch = stand_in_scratch;
  made.encode = stand_in_encode;
  kernel = made;
  return &kernel;
}

/* The vector of a row with this text. */
static inline ame_encoding stand_in_vector(const char *text, size_t bytes) {
  uint8_t scratch[64];
  ame_encoding out;
  stand_in_encode(meaning_models[meaning_model], AME_ENCODE_ROW, (const uint8_t *)text, bytes, scratch, NULL, &out);
  return out;
}

/* Arguments from the caller: strings side by side with their ends, and the checks of untrusted values. */
#pragma once

#include "rows/collection.h"

/* The i-th of a run of strings. */
static inline ty_slice ty_nth(const uint8_t *bytes, const uint64_t *ends, uint64_t i) {
  if (ends == NULL) return (ty_slice){NULL, 0};
  uint64_t start = i == 0 ? 0 : ends[i - 1];
  return (ty_slice){bytes == NULL ? NULL : bytes + start, ends[i] - start};
}

/* Bytes of a text up to `most`, cut between characters. */
static inline uint64_t ty_cut(ty_slice text, uint64_t most) {
  if (text.bytes <= most) return text.bytes;
  while (most > 0 && (text.data[most] & 0xc0) == 0x80) most--;
  return most;
}

/* TY_INVALID with the value that is wrong. */
ty_status ty_check_ids(const uint8_t *ids, const uint64_t *ends, uint64_t n, ty_error *err);
ty_status ty_check_texts(const uint8_t *texts, const uint64_t *ends, uint64_t n, ty_error *err);
/* `floats` numbers of vectors, of which the message names `many` or one. */
ty_status ty_check_vectors(const ty_collection *c, const float *vectors, uint64_t floats, bool many, ty_error *err);
/* Whether a model embeds texts into vectors of the collection. */
ty_status ty_check_model(const ty_collection *c, uint64_t model, ty_error *err);
ty_status ty_check_put(const ty_collection *c, const ty_put_args *a, ty_error *err);

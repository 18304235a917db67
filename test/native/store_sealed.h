/* A manifest that was edited, with a checksum that fits again. */
#pragma once

#include "../../ffi/ty_runtime/disk/seal.h"

/* Writes this text as the manifest; its checksum is made again, as an attacker would. */
static inline void write_sealed(const char *dir, const char *text) {
  ty_env kernel_only = {.kernel = ame_kernel_table()};
  ty_buffer sealed = {0};
  char path[640];
  const char *sum = text, *generation = strstr(text, "\"generation\": ");
  for (const char *at = text; (at = strstr(at, "\"crc32c\": ")) != NULL; at++) sum = at;
  ty_buffer_append(&sealed, text, (uint64_t)(sum - text));
  ty_seal(&kernel_only, strtoull(generation + 14, NULL, 10), &sealed);
  snprintf(path, sizeof path, "%s/collection.json", dir);
  FILE *out = fopen(path, "wb");
  CHECK(out != NULL && fwrite(sealed.data, 1, sealed.bytes, out) == sealed.bytes);
  if (out != NULL) fclose(out);
  ty_buffer_free(&sealed);
}

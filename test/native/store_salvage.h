/* Reading what is left of a collection: its base and its deltas, opened by name as a manifest lists them. */
#pragma once

#include "store_model.h"

#define SALVAGE_FILES 16
static uint64_t salvage_dim; /* with it the manifest is as it was written */

typedef struct salvage_names {
  char bytes[SALVAGE_FILES * 64];
  uint64_t end, sizes[SALVAGE_FILES], count;
} salvage_names;

static inline void salvage_name(salvage_names *to, const char *name, uint64_t bytes) {
  memcpy(to->bytes + to->end, name, strlen(name) + 1);
  to->end += strlen(name) + 1;
  to->sizes[to->count++] = bytes;
}

static inline int salvage_is_rows(const struct dirent *e) {
  return strncmp(e->d_name, "base-", 5) == 0 || strncmp(e->d_name, "delta-", 6) == 0;
}

/* The base and the deltas of a directory, with the bytes that they have now. */
static inline salvage_names salvage_list(const char *dir) {
  salvage_names out = {.count = 0};
  struct dirent **found;
  int n = scandir(dir, &found, salvage_is_rows, alphasort);
  if (n < 1 || strncmp(found[0]->d_name, "base-", 5) != 0) salvage_name(&out, "", 0);
  for (int i = 0; i < n; i++) {
    char path[640];
    struct stat seen = {0};
    snprintf(path, sizeof path, "%s/%s", dir, found[i]->d_name);
    if (out.count < SALVAGE_FILES && stat(path, &seen) == 0)
      salvage_name(&out, found[i]->d_name, (uint64_t)seen.st_size);
    free(found[i]);
  }
  if (n >= 0) free(found);
  return out;
}

static inline ty_status salvage_open(ty_env *env, const char *dir, const salvage_names *names, uint64_t dim,
                                     ty_salvage **out, ty_error *err) {
  uint64_t dtype = strcmp(model_dtype, "f32") == 0    ? TY_F32
                   : strcmp(model_dtype, "f16") == 0  ? TY_F16
                   : strcmp(model_dtype, "int8") == 0 ? TY_INT8
                                                      : TY_INT4;
  ty_salvage_open_args args = {.dir = dir,
                               .n = names->count,
                               .names = names->bytes,
                               .sizes = names->sizes,
                               .dim = dim,
                               .dtype = dtype,
                               .columns = 2,
                               .written = dim == salvage_dim};
  return ty_salvage_open(env, &args, out, err);
}

/* Reads all that a directory holds, of any bytes; `dim` may be another one than its rows have. */
static inline void salvage_all(ty_env *env, const char *dir, uint64_t dim) {
  static uint8_t out[1 << 20];
  const salvage_names names = salvage_list(dir);
  ty_salvage *s = NULL;
  ty_error err;
  uint64_t items = 0;
  salvage_dim = rng() % 2 == 0 ? dim : 0;
  if (!CHECK(salvage_open(env, dir, &names, dim, &s, &err) == TY_OK)) return;
  for (ty_salvage_row_args row; ty_salvage_next(s, &row, &err) == TY_OK && row.kind != TY_SALVAGE_END; items++) {
    if (items == 200000) break; /* a damaged number of rows may be as large as any */
    row.out = out;
    row.out_capacity = rng() % 8 == 0 ? 64 : sizeof out;
    ty_status status = ty_salvage_read(s, &row, &err);
    CHECK_MESSAGE(status == TY_OK || status == TY_BUFFER, "%s", err.message);
    if (rng() % 8 != 0) continue;
    row.at = rng() % 2 == 0 ? rng() : row.at + rng() % 256;
    row.file = rng() % 4;
    status = ty_salvage_read(s, &row, &err);
    CHECK(status == TY_OK || status == TY_BUFFER || (status == TY_INVALID && row.file >= names.count));
  }
  ty_salvage_close(s);
}

/* A collection with a file of every kind. */
#pragma once

#include "store_files.h"

/* A collection with a file of every kind, which are read into `files`. */
static inline void make_all_kinds(ty_env *env, char dir[320]) {
  ty_error err;
  fresh_dir(dir);
  model m = {0};
  ty_collection *c = open_new(env, dir);
  ty_lexical_args lexical = {1.2, 0.75};
  ty_ivf_args ivf = {.min_rows = 4, .target_recall = 0.9};
  static batch b;
  b.n = 0;
  for (uint32_t i = 0; i < IDS; i++) batch_add(&b, i, 1 + i);
  for (uint32_t i = 0; i < IDS * DIM; i++) /* much in common: the base has a coding */
    b.vectors[i] = (float)(i % DIM * 7919 % 101) - 50 + b.vectors[i] / 100;
  ty_put_args args = batch_args(&b, TY_ADD);
  CHECK(ty_begin(c, &err) == TY_OK && ty_put(c, &args, NULL, &err) == TY_OK);
  CHECK(ty_build_lexical(c, &lexical, NULL, &err) == TY_OK);
  put_versions(c, &m, 0, 6, 100); /* which the history gets */
  CHECK(ty_origin(c, (const uint8_t *)"{\"client\":\"a\"}", 14, &err) == TY_OK && ty_save(c, &err) == TY_OK);
  CHECK(ty_begin(c, &err) == TY_OK && ty_build_ivf(c, &ivf, NULL, &err) == TY_OK && ivf.built > 0);
  put_versions(c, &m, 5, 3, 50);
  CHECK(ty_origin(c, (const uint8_t *)"{\"client\":\"b\"}", 14, &err) == TY_OK && ty_save(c, &err) == TY_OK);
  close_checked(c);
  read_files(dir);
}

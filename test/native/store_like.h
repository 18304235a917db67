/* Puts of rows that get the stored vectors of others, beside puts that embed the same texts. */
#ifndef STORE_LIKE_H
#define STORE_LIKE_H

#include "store_embed.h"

/* The rows of a batch again, under ids of another first letter; `likes` are the ids that they had. */
static ty_put_args like_args(embed_batch *b, uint8_t *likes, bool like) {
  ty_put_args args = embed_args(b, true);
  if (!like) return args;
  args.likes = likes;
  args.like_ends = b->id_ends;
  args.embed_most = 0; /* what is embedded is a row of zeros */
  return args;
}

static void put_saved(ty_collection *c, ty_put_args args) {
  CHECK_MESSAGE(ty_begin(c, &err) == TY_OK && ty_put(c, &args, NULL, &err) == TY_OK, "%s", err.message);
  CHECK_MESSAGE(ty_save(c, &err) == TY_OK, "%s", err.message);
}

static void test_like_rows(void) {
  static const struct {
    const char *dtype, *metric;
  } cases[] = {{"f32", "inner_product"}, {"f32", "cosine"},         {"f32", "l2"},
               {"f16", "inner_product"}, {"int8", "inner_product"}, {"int8", "cosine"},
               {"int8", "l2"},           {"int4", "cosine"},        {"int4", "l2"},
               {"int4", "inner_product"}};
  embed_batch b = embed_rows();
  uint64_t id_bytes = b.id_ends[b.n - 1];
  uint8_t *likes = malloc(id_bytes);
  memcpy(likes, b.ids, id_bytes);
  for (uint32_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
    char dirs[2][320];
    ty_collection *by[2];
    ty_compact_args compact;
    for (int k = 0; k < 2; k++) {
      by[k] = embed_collection(cases[i / 2].dtype, cases[i / 2].metric, true, dirs[k]);
      memcpy(b.ids, likes, id_bytes);
      put_saved(by[k], embed_args(&b, true));
      if (i % 2 == 0) CHECK(ty_begin(by[k], &err) == TY_OK && ty_compact(by[k], &compact, NULL, &err) == TY_OK);
      for (uint64_t row = 0; row < b.n; row++) b.ids[row == 0 ? 0 : b.id_ends[row - 1]] = 'f';
      put_saved(by[k], like_args(&b, likes, k == 1));
    }
    CHECK_MESSAGE(by[0]->delta.count > EMBED_ROWS / 2 && embed_equal(by[0], by[1]),
                  "%s %s: rows like others are not the same", cases[i / 2].dtype, cases[i / 2].metric);
    /* No row of that id, and no id: the text is embedded. A given vector stays without one too. */
    for (int k = 0; k < 2; k++) {
      for (uint64_t row = 0; row < b.n; row++) b.ids[row == 0 ? 0 : b.id_ends[row - 1]] = 'g';
      ty_put_args args = embed_args(&b, k == 1);
      uint64_t none[EMBED_ROWS] = {0}, *ends = k == 1 ? b.id_ends : none;
      args.likes = (const uint8_t *)b.ids;
      args.like_ends = ends;
      put_saved(by[k], args);
    }
    CHECK(embed_equal(by[0], by[1]));
    for (int k = 0; k < 2; k++) close_checked(by[k]);
  }
  free(likes);
  free(b.texts);
  free(b.vectors);
}

/* Ids that cannot be right are refused before anything is read. */
static void test_like_refused(void) {
  embed_batch b = embed_rows();
  char dir[320];
  ty_collection *c = embed_collection("int4", "inner_product", true, dir);
  ty_put_args args = embed_args(&b, true);
  uint64_t ends[EMBED_ROWS] = {5, 3};
  args.likes = (const uint8_t *)b.ids;
  args.like_ends = ends;
  CHECK(ty_begin(c, &err) == TY_OK);
  CHECK(ty_put(c, &args, NULL, &err) == TY_INVALID && strstr(err.message, "like rows are not ascending") != NULL);
  args.likes = NULL;
  args.like_ends = b.id_ends;
  CHECK(ty_put(c, &args, NULL, &err) == TY_INVALID && c->delta.count == 0 && c->store->ops == 0);
  ty_rollback(c);
  close_checked(c);
  free(b.texts);
  free(b.vectors);
}

#endif

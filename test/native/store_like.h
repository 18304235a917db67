/* Puts of rows that get the stored vectors of others, beside puts that embed the same texts. */
#pragma once

#include "store_embed.h"

/* The rows of a batch again, under ids of another first letter; `likes` are the ids that they had. Where no text is
 * kept, rows that are like others have other texts, which must not be looked at. */
static ty_put_args like_args(embed_batch *b, uint8_t *likes, bool like, uint64_t flags, const uint8_t *others) {
  ty_put_args args = embed_args(b, true);
  args.flags = flags;
  if (!like) return args;
  if (flags & TY_PUT_DROP_TEXT) args.texts = others;
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
  uint8_t *likes = malloc(id_bytes), *others = malloc(b.text_ends[b.n - 1]);
  memcpy(likes, b.ids, id_bytes);
  memset(others, 'z', b.text_ends[b.n - 1]);
  for (uint32_t i = 0; i < 4 * sizeof cases / sizeof *cases; i += stride) {
    uint64_t flags = i % 4 < 2 ? 0 : TY_PUT_DROP_TEXT;
    char dirs[2][320];
    ty_collection *by[2];
    ty_compact_args compact = {0};
    for (int k = 0; k < 2; k++) {
      by[k] = embed_collection(cases[i / 4].dtype, cases[i / 4].metric, true, dirs[k]);
      memcpy(b.ids, likes, id_bytes);
      put_saved(by[k], like_args(&b, likes, false, flags, others));
      if (i % 2 == 0) CHECK(ty_begin(by[k], &err) == TY_OK && ty_compact(by[k], &compact, NULL, &err) == TY_OK);
      for (uint64_t row = 0; row < b.n; row++) b.ids[row == 0 ? 0 : b.id_ends[row - 1]] = 'f';
      put_saved(by[k], like_args(&b, likes, k == 1, flags, others));
    }
    CHECK_MESSAGE(by[0]->delta.count > EMBED_ROWS / 2 && embed_equal(by[0], by[1]),
                  "%s %s: rows like others are not the same", cases[i / 4].dtype, cases[i / 4].metric);
    /* No row of that id, and no id: the text is embedded. A given vector stays without one too. */
    for (int k = 0; k < 2; k++) {
      for (uint64_t row = 0; row < b.n; row++) b.ids[row == 0 ? 0 : b.id_ends[row - 1]] = 'g';
      ty_put_args args = embed_args(&b, k == 1);
      uint64_t none[EMBED_ROWS] = {0}, *ends = k == 1 ? b.id_ends : none;
      args.likes = (const uint8_t *)b.ids;
      args.like_ends = ends;
      args.flags = flags;
      put_saved(by[k], args);
    }
    CHECK(embed_equal(by[0], by[1]));
    for (int k = 0; k < 2; k++) close_checked(by[k]);
  }
  free(likes);
  free(others);
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
}

/* A base's bytes are not checked when it is opened: what is damaged there is not copied. */
static void test_like_damaged(void) {
  embed_batch b = embed_rows();
  char dir[320];
  ty_compact_args compact = {0};
  ty_collection *c = embed_collection("f16", "inner_product", true, dir);
  put_saved(c, embed_args(&b, true));
  CHECK(ty_begin(c, &err) == TY_OK && ty_compact(c, &compact, NULL, &err) == TY_OK);
  ty_put_args args = embed_args(&b, true);
  uint64_t bytes = c->base.count * ty_vector_bytes(c), likes[EMBED_ROWS];
  uint8_t *nan = malloc(bytes);
  memset(nan, 0xff, bytes);
  const uint8_t *whole = c->base.vectors;
  for (uint32_t i = 0; i < b.n; i++) likes[i] = i < 400 ? 0 : 2;
  args.likes = (const uint8_t *)"e0";
  args.like_ends = likes;
  c->base.vectors = nan;
  CHECK(ty_begin(c, &err) == TY_OK);
  CHECK(ty_put(c, &args, NULL, &err) == TY_CORRUPT && strstr(err.message, "which another gets") != NULL);
  CHECK(c->delta.count == 0 && c->store->ops == 0);
  c->base.vectors = whole;
  CHECK_MESSAGE(ty_put(c, &args, NULL, &err) == TY_OK, "%s", err.message);
  CHECK(ty_save(c, &err) == TY_OK);
  close_checked(c);
  free(nan);
}

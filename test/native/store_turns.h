/* The call for the turns beside rows: its records, their cut texts, and what it refuses. */
#pragma once

#include "store_model.h"

/* Puts rows k0 .. k2, of which two are turns 0 and 1 of a session. */
static ty_status put_turns(ty_collection *c) {
  static batch b;
  uint64_t at = 0;
  for (uint32_t i = b.n = 0; i < 3; i++) batch_add(&b, i, 1);
  for (uint32_t i = 0; i < b.n; i++) {
    if (i < 2) at += (uint64_t)sprintf(b.metas + at, "{\"session\":\"s\",\"turn\":%u}", i);
    b.meta_ends[i] = at;
  }
  ty_put_args put = batch_args(&b, TY_ADD);
  return ty_put(c, &put, NULL, &err);
}

/* Whether records follow each other in `answer`: of each id with so many bytes of text, and of each "" without. */
static bool turns_are(const ty_neighbours_args *a, const char *const ids[], uint64_t n, uint64_t text_bytes) {
  uint64_t at = 0;
  for (uint64_t i = 0; i < n; i++) {
    ty_record r;
    memcpy(&r, answer + at, sizeof r);
    uint64_t bytes = strlen(ids[i]), text = bytes == 0 ? 0 : text_bytes;
    if (r.found != (bytes > 0) || r.id_bytes != bytes || memcmp(answer + at + sizeof r, ids[i], bytes) != 0)
      return false;
    if (r.text_bytes != (bytes > 0 ? text : TY_ABSENT)) return false;
    at += sizeof r + padded(bytes) + padded(text);
  }
  return at == a->out_bytes;
}

static void test_turns(void) {
  static const char *const found[] = {"", "k1", "k0", "", "", "", "", "", "k0", ""};
  FRESH_DIR(dir);
  uint64_t ends[5] = {2, 4, 6, 9, 11};
  char text[64];
  ty_collection *c = open_new(env, dir);
  CHECK(ty_begin(c, &err) == TY_OK && put_turns(c) == TY_OK && ty_save(c, &err) == TY_OK);
  ty_neighbours_args args = {
      .n = 5, .ids = (const uint8_t *)"k0k1k2k99k1", .id_ends = ends, .what = TY_WITH_TEXT, ANSWER_IN(answer)};
  CHECK(ty_neighbours(c, &args, &err) == TY_OK && turns_are(&args, found, 10, content_text(1, text)));
  args.text_most = 5;
  CHECK(ty_neighbours(c, &args, &err) == TY_OK && turns_are(&args, found, 10, 5));
  uint64_t needed = args.out_bytes;
  args.out_capacity = needed - 8;
  CHECK(ty_neighbours(c, &args, &err) == TY_BUFFER && args.out_bytes == needed);
  args.n = 0;
  CHECK(ty_neighbours(c, &args, &err) == TY_OK && args.out_bytes == 0);
  args.n = 2;
  ends[1] = 1;
  CHECK(ty_neighbours(c, &args, &err) == TY_INVALID);
  close_checked(c);
}

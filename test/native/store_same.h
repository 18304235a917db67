/* Which rows have texts of a call, beside a comparison of all with all; and rows that are put back with their vectors.
 */
#pragma once

#include <inttypes.h>

#include "../../ffi/ty_runtime/calls/arguments.h"
#include "store_like.h"

static ty_slice embed_text(const embed_batch *b, uint64_t i) { return ty_nth(b->texts, b->text_ends, i); }

static bool embed_same(const embed_batch *b, uint64_t i, uint64_t j) {
  ty_slice x = embed_text(b, i), y = embed_text(b, j);
  return x.bytes == y.bytes && memcmp(x.data, y.data, (size_t)x.bytes) == 0;
}

/* Whether the answer for the texts of the batch has, of each text that a live row has, one such row, and no other. */
static bool same_right(ty_collection *c, const embed_batch *b, const bool *live) {
  static uint8_t out[EMBED_ROWS * 128] __attribute__((aligned(8)));
  ty_same_args args = {
      .n = b->n, .texts = b->texts, .text_ends = b->text_ends, .most = 1, .out = out, .out_capacity = sizeof out};
  if (ty_same(c, &args, &err) != TY_OK) return false;
  bool found[EMBED_ROWS] = {0}, right = true;
  uint64_t at = 0;
  for (uint64_t k = 0; k < args.out_count && right; k++) {
    ty_record r;
    memcpy(&r, out + at, sizeof r);
    uint64_t text = (uint64_t)r.score, row = 0;
    sscanf((const char *)out + at + sizeof r, "e%" SCNu64, &row);
    at += sizeof r + padded(r.id_bytes);
    if (row + 1 < b->n && (row + 1) % 11 == 10) row++; /* the later one of an id */
    right = text < b->n && row < b->n && live[row] && !found[text] && embed_same(b, text, row);
    if (right) found[text] = true;
  }
  for (uint64_t i = 0; i < b->n && right; i++) {
    bool some = false;
    for (uint64_t j = 0; j < b->n && !some; j++) some = live[j] && embed_same(b, i, j);
    right = some == found[i];
  }
  return right && at == args.out_bytes;
}

static void test_same_texts(void) {
  embed_batch b = embed_rows();
  bool live[EMBED_ROWS], none[EMBED_ROWS] = {0};
  char dir[320];
  ty_collection *c = embed_collection("f32", "inner_product", false, dir);
  CHECK(same_right(c, &b, none));
  put_saved(c, embed_args(&b, true));
  for (uint32_t i = 0; i < b.n; i++) live[i] = i % 11 != 9 || i + 1 == b.n;
  CHECK(same_right(c, &b, live));
  for (int step = 0; step < 3; step++) {
    ty_compact_args compact = {0};
    CHECK(ty_begin(c, &err) == TY_OK && ty_compact(c, &compact, NULL, &err) == TY_OK);
    CHECK_MESSAGE(same_right(c, &b, live), "step %d: in the base", step);
    /* Some die in the base, one is put into the delta. */
    char ids[64];
    uint32_t first = 40 + 33 * (uint32_t)step;
    uint64_t ends[2] = {0};
    ends[0] = (uint64_t)sprintf(ids, "e%u", first);
    ends[1] = ends[0] + (uint64_t)sprintf(ids + ends[0], "e%u", first + 1);
    ty_delete_args del = {.n = 2, .ids = (const uint8_t *)ids, .id_ends = ends};
    CHECK(ty_begin(c, &err) == TY_OK && ty_delete(c, &del, &err) == TY_OK && del.removed == 2);
    live[first] = live[first + 1] = false;
    CHECK(same_right(c, &b, live));
    ty_put_args one = embed_args(&b, true);
    uint64_t id_end = ends[0], key_end = 0, text_end = embed_text(&b, first).bytes;
    one.n = 1, one.ids = (const uint8_t *)ids, one.id_ends = &id_end, one.key_ends = &key_end;
    one.texts = embed_text(&b, first).data, one.text_ends = &text_end;
    CHECK_MESSAGE(ty_put(c, &one, NULL, &err) == TY_OK, "%s", err.message);
    live[first] = true;
    CHECK(same_right(c, &b, live)); /* unsaved too */
    CHECK(ty_save(c, &err) == TY_OK);
    CHECK_MESSAGE(same_right(c, &b, live), "step %d: in both", step);
  }
  uint64_t wrong[2] = {5, 3};
  ty_same_args args = {.n = 2, .texts = b.texts, .text_ends = wrong, .most = 1};
  CHECK(ty_same(c, &args, &err) == TY_INVALID && strstr(err.message, "texts are not ascending") != NULL);
  args = (ty_same_args){0};
  CHECK(ty_same(c, &args, &err) == TY_OK && args.out_count == 0);
  close_checked(c);
}

/* Put back from the history, deleted rows are those that their texts are embedded into. */
static void test_undone_rows(void) {
  static const char *const dtypes[] = {"f32", "f16", "int8", "int4"}, *const metrics[] = {"inner_product", "cosine",
                                                                                          "l2"};
  embed_batch b = embed_rows();
  uint64_t *changes = calloc(b.n, sizeof *changes);
  for (uint32_t i = 0; i < 24; i += stride) {
    const char *dtype = dtypes[i % 4], *metric = metrics[i / 4 % 3];
    char dirs[2][320];
    ty_collection *by[2];
    for (int k = 0; k < 2; k++) {
      by[k] = embed_collection(dtype, metric, true, dirs[k]);
      put_saved(by[k], embed_args(&b, true));
      ty_compact_args compact = {.keep = 1};
      if (i < 12) CHECK(ty_begin(by[k], &err) == TY_OK && ty_compact(by[k], &compact, NULL, &err) == TY_OK);
      ty_delete_args del = {.n = b.n, .ids = (const uint8_t *)b.ids, .id_ends = b.id_ends};
      CHECK(ty_begin(by[k], &err) == TY_OK && ty_delete(by[k], &del, &err) == TY_OK && ty_save(by[k], &err) == TY_OK);
      if (i < 12) CHECK(ty_begin(by[k], &err) == TY_OK && ty_compact(by[k], &compact, NULL, &err) == TY_OK);
      ty_put_args args = embed_args(&b, k == 0);
      for (uint32_t j = 0; j < b.n; j++) {
        const uint64_t from = j == 0 ? 0 : b.id_ends[j - 1];
        changes[j] = last_change(by[k], (const char *)b.ids + from, b.id_ends[j] - from);
      }
      if (k == 1) args.flags = TY_PUT_CHANGES, args.vectors = NULL, args.changes = changes;
      put_saved(by[k], args);
    }
    CHECK_MESSAGE(by[0]->delta.count > EMBED_ROWS / 2 && embed_equal(by[0], by[1]),
                  "%s %s: rows that were put back are not the same", dtype, metric);
    for (int k = 0; k < 2; k++) close_checked(by[k]);
  }
  free(changes);
}

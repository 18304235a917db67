/* What a query costs the thread that it runs on: a bound that can be set, and no waiting for writers. */
#pragma once

#include <stdatomic.h>

/* ---- Saves that come faster than they can be followed ---------------------------------------------------------------
 */
static ty_os unmoved;
static const char *moved_manifest;
static uint32_t openings;

/* As beside a writer that has just replaced the file, again and again. */
static int open_moved(ty_os *os, const char *path, int flags, int mode) {
  if (strstr(path, ".slab") == NULL || (flags & O_CREAT)) return unmoved.open(os, path, flags, mode);
  struct timespec times[2] = {{.tv_nsec = UTIME_NOW}, {.tv_sec = ++openings}};
  utimensat(AT_FDCWD, moved_manifest, times, 0);
  return -ENOENT;
}

static void test_follow_is_bounded(void) {
  char dir[320], manifest[400];
  fresh_dir(dir);
  snprintf(manifest, sizeof manifest, "%s/collection.json", dir);
  model m = {0};
  ty_collection *a = open_new(env, dir), *none = NULL;
  put_versions(a, &m, 0, 20, 1);
  CHECK(ty_save(a, &err) == TY_OK);
  ty_collection *b = open_saved(env, dir);
  ty_compact_args compact = {0};
  CHECK(ty_begin(b, &err) == TY_OK && ty_compact(b, &compact, NULL, &err) == TY_OK);
  unmoved = env->os;
  env->os.open = open_moved;
  moved_manifest = manifest;
  ty_stats_args stats;
  CHECK_MESSAGE(ty_stats(a, &stats, &err) == TY_BUSY, "%s", err.message);
  CHECK(openings > 3 && openings < 50);
  CHECK(ty_begin(a, &err) == TY_BUSY);
  CHECK(ty_collection_open(env, dir, &none, &err) == TY_BUSY && none == NULL);
  env->os.open = unmoved.open;
  CHECK(model_equal(a, &m));
  close_checked(a);
  close_checked(b);
}

/* ---- Questions that are too large for a thread ----------------------------------------------------------------------
 */
typedef struct bound {
  const char *key;   /* of the partition; NULL: all rows */
  const char *under; /* of the other column; NULL: no such condition */
  uint64_t column, weighted;
} bound;

static ty_status search_within(ty_collection *c, bound b, uint64_t most) {
  float query[DIM] = {1};
  ty_ask_args args = {.by = TY_BY_VECTOR,
                      .vector = query,
                      .top_k = 3,
                      .column = b.key == NULL ? TY_NO_FILTER : b.column,
                      .key = (const uint8_t *)b.key,
                      .key_bytes = b.key == NULL ? 0 : strlen(b.key),
                      .under_column = 1,
                      .under = (const uint8_t *)b.under,
                      .under_bytes = b.under == NULL ? 0 : strlen(b.under),
                      .target_recall = 1,
                      .weighted = b.weighted,
                      .most_bytes = most,
                      ANSWER_IN(answer)};
  return ty_ask(c, &args, &err);
}

static ty_status lexical_within(ty_collection *c, const char *query, uint64_t bytes, uint64_t most) {
  ty_ask_args args = {.by = TY_BY_WORDS,
                      .text = (const uint8_t *)query,
                      .text_bytes = bytes,
                      .top_k = 3,
                      .column = TY_NO_FILTER,
                      .most_bytes = most,
                      ANSWER_IN(answer)};
  return ty_ask(c, &args, &err);
}

/* Of vertical codes a question reads the dimensions that it has: of 32 rows three bytes each, with four bits half. */
static void test_bounded_dimensions(void) {
  static const char *const dtypes[] = {"f32", "int4"};
  float query[DIM] = {[2] = 1, [5] = -3, [19] = 0.5f};
  for (uint64_t i = 0; i < 2; i++) {
    FRESH_DIR(dir);
    model m = {0};
    set_vertical(env, true);
    model_dtype = dtypes[i];
    model_codes = ALL_CODES;
    ty_collection *c = open_new(env, dir);
    put_versions(c, &m, 0, 32, 4);
    CHECK(ty_save(c, &err) == TY_OK && c->base.vertical.lines != NULL);
    ty_ask_args args = {
        .by = TY_BY_VECTOR, .vector = query, .top_k = 3, EXACTLY, .most_bytes = i == 0 ? 96 : 64, ANSWER_IN(answer)};
    CHECK(ty_ask(c, &args, &err) == TY_OK && args.screened_rows == 32);
    args.most_bytes--;
    CHECK(ty_ask(c, &args, &err) == TY_LARGE);
    close_checked(c);
  }
  set_vertical(env, false);
  model_dtype = "f32";
  model_codes = NO_CODES;
}

/* The rows that a question reads are those that its bound is held against, whatever was asked before. */
static void test_bounded_questions(void) {
  FRESH_DIR(dir);
  model m = {0};
  ty_collection *c = open_new(env, dir);
  put_versions(c, &m, 0, 32, 4); /* p0, p1, p2 and the empty key: 8 rows each */
  CHECK(ty_save(c, &err) == TY_OK);
  const bound all = {0}, part = {.key = "p1"}, none = {.key = "p9"}, other = {.key = "k1", .column = 1},
              weighted = {.weighted = 1}, under = {.under = "k1"}, nowhere = {.under = "k"};
  ty_stats_args stats;
  for (int round = 0; round < 2; round++) {                 /* in the base, then with rows in the delta */
    uint64_t delta = round == 0 ? 0 : 4, rows = 32 + delta; /* those of the delta are dead, and read all the same */
    CHECK(search_within(c, all, rows * DIM) == TY_OK);
    CHECK(search_within(c, all, rows * DIM - 1) == TY_LARGE && strstr(err.message, "worker") != NULL);
    CHECK(search_within(c, all, 0) == TY_OK);
    CHECK(search_within(c, part, 8 * DIM + delta * (DIM + 4)) == TY_OK);
    CHECK(search_within(c, part, 8 * DIM - 1) == TY_LARGE);
    CHECK(search_within(c, none, 1) == TY_OK);
    CHECK(search_within(c, other, 16 * DIM + 4 * rows) == TY_OK);
    CHECK(search_within(c, other, 16 * DIM - 1) == TY_LARGE);
    CHECK(search_within(c, under, 16 * DIM + 4 * rows) == TY_OK);
    CHECK(search_within(c, under, 16 * DIM - 1) == TY_LARGE);
    CHECK(search_within(c, nowhere, 1) == TY_OK);
    CHECK(ty_stats(c, &stats, &err) == TY_OK);
    uint64_t before = stats.values[TY_STAT_SEARCHES];
    CHECK(search_within(c, all, 1) == TY_LARGE);
    CHECK(ty_stats(c, &stats, &err) == TY_OK && stats.values[TY_STAT_SEARCHES] == before);
    if (round > 0) break;
    put_versions(c, &m, 32, 4, 36); /* one row more in each partition */
    uint64_t ids = 0;
    char id[64 * 4];
    uint64_t ends[4];
    for (uint32_t i = 0; i < 4; i++) ends[i] = ids += content_id(i, id + ids), m.version[i] = 0;
    ty_delete_args gone = {.n = 4, .ids = (uint8_t *)id, .id_ends = ends};
    CHECK(ty_delete(c, &gone, &err) == TY_OK && gone.removed == 4 && ty_save(c, &err) == TY_OK);
  }
  /* Rows that a weighted question has to count first are part of its cost, once. */
  CHECK(search_within(c, weighted, 100 * DIM) == TY_LARGE);
  CHECK(search_within(c, weighted, 0) == TY_OK);
  CHECK(search_within(c, weighted, 100 * DIM) == TY_OK);

  CHECK(lexical_within(c, "text", 4, 100) == TY_UNBUILT);
  ty_lexical_args lexical = {1.2, 0.75};
  CHECK(ty_begin(c, &err) == TY_OK && ty_build_lexical(c, &lexical, NULL, &err) == TY_OK);
  CHECK(lexical_within(c, "text", 4, 32 * 32) == TY_OK); /* 32 rows have the word */
  CHECK(lexical_within(c, "text", 4, 32 * 32 - 1) == TY_LARGE);
  CHECK(lexical_within(c, "zzq", 3, 1) == TY_OK);
  CHECK(lexical_within(c, "nowherez", 8, 1000000) == TY_LARGE); /* a word that may be misspelt */
  CHECK(lexical_within(c, "nowherez", 8, 10000000) == TY_OK);
  static char longer[70000];
  memset(longer, ' ', sizeof longer);
  memcpy(longer, "text", 4);
  CHECK(lexical_within(c, longer, sizeof longer, UINT64_MAX - 1) == TY_LARGE);
  CHECK(lexical_within(c, longer, sizeof longer, 0) == TY_OK);
  put_versions(c, &m, 36, 2, 80);
  CHECK(ty_save(c, &err) == TY_OK);
  CHECK(lexical_within(c, "zzq", 3, 100 * 32) == TY_LARGE); /* new rows have to be counted first */
  CHECK(lexical_within(c, "zzq", 3, 0) == TY_OK);
  CHECK(lexical_within(c, "zzq", 3, 100 * 32) == TY_OK);
  close_checked(c);
}

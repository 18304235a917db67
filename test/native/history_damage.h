/* Damage of a history: bits, ends, files that are missing or others. The live rows and saves go on; what is answered is
 * right, or says that it is lost, a row or all of it; a check names it; and what a rewrite leaves is whole. For
 * history_test.c. */

enum { NOTHING_LOST, ROW_LOST, ALL_LOST, ANY_LOST };

static model damaged_rows;

/* A collection with a history of additions, replaced and deleted rows and origins, and a delta after it. */
static void make_damaged(char dir[320]) {
  fresh_dir(dir);
  next_version = 1;
  model_clock = 1000000;
  damaged_rows = (model){0};
  past_begin(&history);
  ty_collection *c = open_new(env, dir);
  const char *rule = "{\"days\":4000000}"; /* the clock may go on by years */
  history.days = 4000000;
  for (int i = 0; i < 8; i++) {
    const model before = damaged_rows;
    CHECK(ty_begin(c, &err) == TY_OK);
    random_changes(c, &damaged_rows, 5);
    for (uint32_t id = 1; id < 4 && i < 2; id++, next_version++) { /* the history has rows whatever chance does */
      CHECK(put_version(c, id, next_version, 0) == TY_OK);
      model_put(&damaged_rows, id, next_version);
    }
    if (i == 0) CHECK(ty_note(c, (const uint8_t *)"history", 7, (const uint8_t *)rule, strlen(rule), &err) == TY_OK);
    const char *origin = set_origin(c);
    end_change(c, &before, &damaged_rows, &history, i == 5 ? BY_COMPACT : BY_SAVE, origin);
  }
  CHECK(history_equal(c, &history));
  close_checked(c);
  read_files(dir);
}

static bool is_named(const ty_damage *damages, uint64_t n) {
  bool named = n > 0;
  for (uint64_t i = 0; i < n; i++) named &= damages[i].part == TY_PART_HISTORY;
  return named;
}

/* What is answered about a collection, and what it noted. */
static int lost_of(ty_collection *c, const char *what) {
  static ty_damage damages[256];
  ty_damages_args noted = {.out = (uint8_t *)damages, .out_capacity = sizeof damages};
  ty_saves_args saves = {.out = answer, .out_capacity = sizeof answer};
  ty_changes_args changes = {.to = UINT64_MAX, ANSWER_IN(past_answer)};
  ty_status status = ty_saves(c, &saves, &err), other = ty_changes(c, &changes, &err);
  CHECK_MESSAGE(status == other && (status == TY_OK || status == TY_CORRUPT), "%s: %s", what, err.message);
  if (status == TY_CORRUPT) {
    CHECK_MESSAGE(strstr(err.message, "history-") != NULL, "%s: %s", what, err.message);
    CHECK_MESSAGE(ty_damages(c, &noted, &err) == TY_OK && is_named(damages, noted.out_count), "%s: not noted", what);
    return ALL_LOST;
  }
  past_may_lose = true;
  past_offset[0] = 0;
  CHECK_MESSAGE(saves_equal(c, &history) && changes_equal(c, &history), "%s: another history", what);
  past_may_lose = false;
  return past_lost > 0 ? ROW_LOST : NOTHING_LOST;
}

/* Opens the damaged collection, which loses as much as that; all goes on. */
static void check_damaged(const char *dir, int expected, const char *what) {
  static ty_damage damages[256];
  ty_collection *c = NULL;
  ty_check_args check = {.out = (uint8_t *)damages, .out_capacity = sizeof damages};
  ty_compact_args compact = {.keep = 1};
  if (!CHECK_MESSAGE(ty_collection_open(env, dir, &c, &err) == TY_OK, "%s: %s", what, err.message)) return;
  const int lost = lost_of(c, what);
  CHECK_MESSAGE(expected == ANY_LOST || lost == expected, "%s: loses %d, not %d", what, lost, expected);
  CHECK_MESSAGE(model_equal(c, &damaged_rows), "%s: other rows", what);
  CHECK_MESSAGE(ty_check(c, &check, NULL, &err) == TY_OK, "%s: %s", what, err.message);
  /* A row of which the vector only is damaged, and the checksums of blocks, lose nothing here. */
  const bool found = is_named(damages, check.found);
  CHECK_MESSAGE(found || (lost == NOTHING_LOST && check.found == 0), "%s: not found by a check", what);
  CHECK_MESSAGE((ty_verify(c, NULL, &err) == TY_OK) == (check.found == 0), "%s: verified: %s", what, err.message);
  CHECK_MESSAGE(ty_begin(c, &err) == TY_OK && put_version(c, 0, damaged_rows.version[0], 0) == TY_OK, "%s", what);
  CHECK_MESSAGE(ty_save(c, &err) == TY_OK, "%s: saved: %s", what, err.message);
  const uint64_t since = c->store->blocks; /* the saves that the file does not have */
  CHECK_MESSAGE(ty_begin(c, &err) == TY_OK && ty_compact(c, &compact, NULL, &err) == TY_OK, "%s: %s", what,
                err.message);
  CHECK_MESSAGE(ty_verify(c, NULL, &err) == TY_OK, "%s: rewritten: %s", what, err.message);
  ty_saves_args saves = {.out = answer, .out_capacity = sizeof answer};
  CHECK_MESSAGE(ty_saves(c, &saves, &err) == TY_OK && saves.out_count > 0 &&
                    (saves.out_count <= since) == (lost == ALL_LOST),
                "%s: rewritten", what);
  ty_collection_close(c);
}

/* ---- Without checksums that fit
 * --------------------------------------------------------------------------------------
 */
static void flip_history(const char *dir, uint64_t at, int expected, const char *where) {
  const file *f = by_prefix("history-");
  char what[128];
  snprintf(what, sizeof what, "%s, bit at %llu", where, (unsigned long long)at);
  f->data[at] ^= (uint8_t)(1u << at % 8);
  write_file(dir, f->name, f->data, f->bytes);
  check_damaged(dir, expected, what);
  f->data[at] ^= (uint8_t)(1u << at % 8);
  restore_files(dir);
}

static void test_flipped(const char *dir) {
  const file *f = by_prefix("history-");
  ty_slab_header h;
  memcpy(&h, f->data, sizeof h);
  const uint64_t table = sizeof h + h.sections * sizeof(ty_slab_section);
  for (uint64_t at = rng() % 5; at < table; at += 5 * stride) flip_history(dir, at, ALL_LOST, "header or table");
  for (uint32_t i = 0; i < h.sections; i++) {
    ty_slab_section s;
    char where[32];
    memcpy(&s, f->data + sizeof h + i * sizeof s, sizeof s);
    snprintf(where, sizeof where, "section %u", s.id);
    const int expected = s.id == TY_HISTORY_ROWS ? ROW_LOST : s.id == TY_SECTION_SUMS ? NOTHING_LOST : ALL_LOST;
    for (uint64_t at = rng() % (s.bytes / 8 + 1); at < s.bytes; at += (s.bytes / 8 + 1) * stride)
      flip_history(dir, s.offset + at, expected, where);
  }
}

/* Other files in its place. */
static void test_other_files(const char *dir) {
  char path[640], other[320];
  const file f = *by_prefix("history-");
  static uint8_t copy[1 << 20];
  memcpy(copy, f.data, f.bytes);
  for (uint64_t i = 0; i < 4; i++) {
    write_file(dir, f.name, f.data, f.bytes * i / 4);
    check_damaged(dir, ALL_LOST, "a part of it");
    restore_files(dir);
  }
  snprintf(path, sizeof path, "%s/%s", dir, f.name);
  CHECK(unlink(path) == 0);
  check_damaged(dir, ALL_LOST, "missing");
  restore_files(dir);
  CHECK(unlink(path) == 0 && mkdir(path, 0700) == 0);
  ty_collection *c = open_saved(env, dir);
  CHECK(lost_of(c, "a directory") == ALL_LOST && model_equal(c, &damaged_rows));
  ty_collection_close(c);
  CHECK(rmdir(path) == 0);
  restore_files(dir);
  fresh_dir(other); /* another collection's, of the same name */
  c = open_new(env, other);
  const uint64_t generation = strtoull(f.name + strlen("history-"), NULL, 16);
  for (uint64_t i = 1; i < generation; i++) {
    CHECK(ty_begin(c, &err) == TY_OK && put_version(c, 1, (uint32_t)i, 0) == TY_OK && ty_save(c, &err) == TY_OK);
  }
  ty_compact_args compact = {.keep = 1};
  CHECK(ty_begin(c, &err) == TY_OK && ty_compact(c, &compact, NULL, &err) == TY_OK);
  close_checked(c);
  snprintf(path, sizeof path, "%s/%s", other, f.name);
  FILE *in = fopen(path, "rb");
  if (CHECK_MESSAGE(in != NULL, "there is no %s", path)) {
    write_file(dir, f.name, copy, fread(copy, 1, sizeof copy, in));
    fclose(in);
    check_damaged(dir, ALL_LOST, "another collection's");
  }
  restore_files(dir);
}

#include "history_forged.h"

static void test_damaged_history(uint64_t seed) {
  static const char *const dtypes[] = {"f32", "f32", "int8", "int4", "f16"};
  rng_state = seed;
  model_damaged = true;
  for (uint32_t i = stride > 1; i < 5; i += stride > 1 ? 2 : 1) {
    char dir[320];
    model_dtype = dtypes[i];
    model_codes = i == 1 || i == 2 ? ALL_CODES : NO_CODES;
    model_sparse = true;
    make_damaged(dir);
    test_flipped(dir);
    test_other_files(dir);
    for (size_t k = i % stride; k < sizeof forgeries / sizeof *forgeries; k += stride) forge(dir, &forgeries[k]);
    for (size_t k = 0; k < sizeof forged_rows / sizeof *forged_rows; k++) forge(dir, &forged_rows[k]);
    forge_vectors(dir);
    free_files();
  }
  model_damaged = model_sparse = false;
  model_dtype = "f32";
  model_codes = NO_CODES;
}

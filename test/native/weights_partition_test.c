/* The weights of a partition's rows alone: a collection that holds other rows beside them answers as one that holds
 * none, to the bit, at every size around the bounds; wrong stored sums; partitions that are kept and those that are
 * not. */
#include "../../ffi/ty_runtime/rows/weights_state.h"
#include "weights_truth.h"

/* ---- As if it were alone --------------------------------------------------------------------------------------------
 */
/* Adds rows of partition p0, whose versions are multiples of KEYS, or of others; ids follow the versions. */
static void put_rows(ty_collection *c, uint32_t from, uint32_t n, bool others) {
  static batch b;
  for (uint32_t done = 0; done < n;) {
    b.n = 0;
    for (; done < n && b.n < IDS; done++) {
      uint32_t version = (from + done) * KEYS + (others ? 1 + (from + done) % (KEYS - 1) : 0);
      batch_add(&b, version, version);
    }
    ty_put_args args = batch_args(&b, TY_ADD);
    CHECK_MESSAGE(ty_put(c, &args, NULL, &err) == TY_OK, "%s", err.message);
  }
}

static void delete_row(ty_collection *c, uint32_t number) {
  char text[64];
  uint64_t end = content_id(number * KEYS, text);
  ty_delete_args gone = {.n = 1, .ids = (uint8_t *)text, .id_ends = &end};
  CHECK(ty_delete(c, &gone, &err) == TY_OK && gone.removed == 1);
}

static void begin(ty_collection *c) { CHECK_MESSAGE(ty_begin(c, &err) == TY_OK, "%s", err.message); }
static void save(ty_collection *c) { CHECK_MESSAGE(ty_save(c, &err) == TY_OK, "%s", err.message); }
static void compact(ty_collection *c) {
  ty_compact_args args = {0};
  begin(c);
  CHECK_MESSAGE(ty_compact(c, &args, NULL, &err) == TY_OK, "%s", err.message);
}

/* The best rows of p0 with weights; of the other collection the same, to the bit. */
static void same(ty_collection *alone, ty_collection *among, const char *when, uint32_t rows) {
  hits a, b;
  float query[DIM];
  model_query(query);
  CHECK(ask_of(alone, query, 1, 0, &a) == TY_OK && ask_of(among, query, 1, 0, &b) == TY_OK);
  CHECK_MESSAGE(memcmp(&a, &b, sizeof a) == 0 && a.count > 0, "%s, %u rows: rows outside move the scores", when, rows);
}

/* Whether the rows are weighed at all. */
static bool is_weighed(ty_collection *c) {
  float query[DIM], scratch[DIM];
  ty_weighing w;
  bool is = false;
  model_query(query);
  if (!CHECK(ty_enter(c, &err) == TY_OK)) return false;
  if (CHECK(ty_weights_open(c, ty_dict_find(&c->dicts[0], c->env->kernel, (ty_slice){(const uint8_t *)"p0", 2}), &w,
                            &err) == TY_OK)) {
    ty_query_prepare(c, query, &w, scratch);
    is = w.factor != NULL;
    ty_weights_close(&w);
  }
  CHECK(ty_leave(c, TY_OK, &err) == TY_OK);
  return is;
}

static void test_alone(uint32_t rows) {
  char dirs[2][320];
  ty_collection *c[2];
  for (int i = 0; i < 2; i++) {
    fresh_dir(dirs[i]);
    c[i] = open_new(env, dirs[i]);
    begin(c[i]);
    if (i == 1) put_rows(c[i], 1, 700, true);
    put_rows(c[i], 1, rows, false);
  }
  same(c[0], c[1], "unsaved", rows);
  for (int i = 0; i < 2; i++) save(c[i]);
  same(c[0], c[1], "saved", rows);
  CHECK_MESSAGE(is_weighed(c[1]) == (rows >= TY_WEIGHED_FROM), "%u rows", rows);
  compact(c[1]);
  same(c[0], c[1], "in the base", rows);
  CHECK_MESSAGE((c[1]->base.span_squares != NULL) == (rows >= TY_SUMMED_FROM), "%u rows: their sums are stored", rows);
  compact(c[0]);
  for (int i = 0; i < 2; i++) { /* others die and come, then some of these */
    begin(c[i]);
    if (i == 1) put_rows(c[i], 1000, 50, true);
    if (rows > 1) delete_row(c[i], 1);
    put_rows(c[i], 2000, 3, false);
    save(c[i]);
  }
  same(c[0], c[1], "after changes", rows);
  begin(c[1]);
  put_rows(c[1], 3000, 40, false);
  if (rows > 2) delete_row(c[1], 2);
  hits unsaved;
  float query[DIM];
  model_query(query);
  CHECK(ask_of(c[1], query, 1, 0, &unsaved) == TY_OK);
  ty_rollback(c[1]);
  same(c[0], c[1], "after a rollback", rows);
  compact(c[0]);
  same(c[0], c[1], "after a compaction", rows);
  for (int i = 0; i < 2; i++) {
    close_checked(c[i]);
    c[i] = open_saved(env, dirs[i]);
  }
  same(c[0], c[1], "opened again", rows);
  for (int i = 0; i < 2; i++) close_checked(c[i]);
}

/* ---- Wrong stored sums ----------------------------------------------------------------------------------------------
 */
static void test_wrong(void) {
  char dir[320], base[64];
  hits h;
  float query[DIM];
  model_query(query);
  fresh_dir(dir);
  ty_collection *c = open_new(env, dir);
  begin(c);
  put_rows(c, 1, TY_SUMMED_FROM, false);
  save(c);
  compact(c);
  snprintf(base, sizeof base, "%s", c->store->files.base.name);
  ty_collection_close(c);
  patch_base(dir, base, TY_SECTION_SPAN_SQUARES, TY_SUMMED_FROM * (uint64_t)TY_WEIGHTS_ONE + 1);
  c = open_saved(env, dir);
  CHECK(ask_of(c, query, 1, ALL_KEYS, &h) == TY_OK); /* reads others */
  for (int i = 0; i < 2; i++) CHECK(ask_of(c, query, 1, 0, &h) == TY_CORRUPT && c->weights->scoped_count == 0);
  CHECK(ty_verify(c, NULL, &err) == TY_OK); /* the checksums were made to fit */
  CHECK(ty_validate(c, &err) == TY_CORRUPT && strstr(err.message, "of a partition") != NULL);
  compact(c); /* counts again */
  CHECK(ask_of(c, query, 1, 0, &h) == TY_OK);
  close_checked(c);
}

/* ---- Kept partitions ------------------------------------------------------------------------------------------------
 */
/* Memory stays bounded, and what was dropped is counted again. */
static void test_kept(void) {
  FRESH_DIR(dir);
  hits first[KEYS - 1], again;
  float query[DIM];
  model_query(query);
  env->weighed_from = 1;
  ty_collection *c = open_new(env, dir);
  begin(c);
  put_rows(c, 1, 200, true);
  put_rows(c, 1, 90, false);
  save(c);
  for (uint32_t room = 0; room < 3; room++) {
    env->weighed_bytes = room == 0 ? 1 : room == 1 ? 1200 : TY_WEIGHED_BYTES;
    for (uint32_t i = 0; i < 12; i++) {
      uint32_t key = i * 7 / 3 % (KEYS - 1);
      CHECK(ask_of(c, query, 1, key, room == 0 && i < 9 ? &first[key] : &again) == TY_OK);
      CHECK_MESSAGE(c->weights->scoped_count > 0 && c->weights->scoped_count <= room + 1, "%u of key %u in room %u",
                    c->weights->scoped_count, key, room);
      if (room > 0) CHECK(memcmp(&first[key], &again, sizeof again) == 0);
      CHECK(whole(c));
    }
  }
  CHECK(c->weights->scoped_count == KEYS - 1);
  /* One of many dimensions that a query holds outlives its place. */
  ty_weighing held;
  CHECK(ty_enter(c, &err) == TY_OK && ty_weights_open(c, c->weights->scoped[0].code, &held, &err) == TY_OK);
  double kept = held.factor[0];
  env->weighed_bytes = 1;
  CHECK(ty_leave(c, TY_OK, &err) == TY_OK);
  begin(c);
  put_rows(c, 4000, 5, true);
  save(c);
  for (uint32_t key = 0; key < KEYS - 1; key++) CHECK(ask_of(c, query, 1, key, &again) == TY_OK);
  CHECK(held.factor[0] == kept);
  ty_weights_close(&held);
  close_checked(c);
}

int main(int argc, char **argv) {
  static const uint32_t sizes[] = {1, 2, TY_WEIGHED_FROM - 1, TY_WEIGHED_FROM, TY_SUMMED_FROM - 1, TY_SUMMED_FROM, 900};
  static const char *const dtypes[] = {"f32", "f16", "int8", "int4"};
  uint64_t seed;
  if (!program_begin(argc, argv, "weights-partition-test", 2, &seed, &env)) return 2;
  rng_state = seed;
  model_tilted = true;
  for (uint32_t kind = 0; kind < 6; kind++) {
    set_vertical(env, kind >= 3);
    model_dtype = kind == 5 ? "f32" : dtypes[kind % 4];
    model_codes = kind >= 3 ? ALL_CODES : NO_CODES;
    for (uint32_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
      if (kind % 3 == 0 || i % 2 == kind % 2) test_alone(sizes[i]);
    test_wrong();
  }
  test_kept();
  return program_end(env);
}

/* Weighted queries against a naive recomputation: random changes seen through two handles, rewrites that change
 * nothing, bases with wrong sums, and queries beside changes. */
#include <math.h>
#include <pthread.h>

#include "weights_truth.h"

/* ---- Lives ----------------------------------------------------------------------------------------------------------
 */
static int base_sums_are(const ty_collection *c, const model *m) {
  uint64_t sums[DIM], rows;
  naive_sums(m, ALL_KEYS, sums, &rows);
  return c->base.squares != NULL && c->base.count == rows && memcmp(c->base.squares, sums, sizeof sums) == 0;
}

/* A rewrite changes no bit of a weighted answer. */
static void check_rewrite(ty_collection *c, const model *m, int what) {
  hits before[KEYS], after[KEYS];
  float query[DIM];
  ty_compact_args compact = {0};
  ty_ivf_args ivf = {.min_rows = 4, .target_recall = 0.9};
  const uint32_t keys[KEYS] = {0, 1, 2, ALL_KEYS};
  model_query(query);
  for (uint32_t i = 0; i < KEYS; i++) CHECK(ask_of(c, query, 1, keys[i], &before[i]) == TY_OK);
  CHECK(ty_begin(c, &err) == TY_OK);
  ty_status status = what == 0 ? ty_compact(c, &compact, NULL, &err) : ty_build_ivf(c, &ivf, NULL, &err);
  CHECK_MESSAGE(status == TY_OK, "%s", err.message);
  for (uint32_t i = 0; i < KEYS; i++) CHECK(ask_of(c, query, 1, keys[i], &after[i]) == TY_OK);
  CHECK_MESSAGE(memcmp(before, after, sizeof before) == 0, "a rewrite moved a weighted score");
  CHECK_MESSAGE(base_sums_are(c, m), "the base's sums are wrong");
}

static void test_life(uint64_t seed) {
  FRESH_DIR(dir);
  rng_state = seed;
  /* Partitions have ten rows: some of them have no weights, some no stored sums, and every second life no room. */
  env->weighed_from = 2 + rng() % 8;
  env->summed_from = 4 + rng() % 10;
  env->weighed_bytes = rng() % 2 ? 1 : TY_WEIGHED_BYTES;
  model m = {0};
  ty_collection *a = open_new(env, dir), *b;
  CHECK(weighs(a, &m));
  CHECK(ty_begin(a, &err) == TY_OK && ty_save(a, &err) == TY_OK);
  CHECK(weighs(a, &m));
  b = open_saved(env, dir);
  for (int i = 0; i < 60; i++) {
    ty_collection *writer = rng() % 2 ? a : b, *other = writer == a ? b : a;
    model before = m;
    CHECK_MESSAGE(ty_begin(writer, &err) == TY_OK, "begin: %s", err.message);
    random_changes(writer, &m, 1 + (uint32_t)(rng() % 20));
    if (rng() % 2) CHECK_MESSAGE(weighs(writer, &m), "%s, step %d: unsaved", model_dtype, i);
    CHECK_MESSAGE(weighs(other, &before), "%s, step %d: the other handle, before the save", model_dtype, i);
    if (rng() % 4 == 0) {
      ty_rollback(writer);
      m = before;
      if (rng() % 2) { /* other rows at the places of those that are gone */
        CHECK(ty_begin(writer, &err) == TY_OK);
        random_changes(writer, &m, 10);
        CHECK(ty_save(writer, &err) == TY_OK);
      }
    } else {
      CHECK_MESSAGE(ty_save(writer, &err) == TY_OK, "save: %s", err.message);
    }
    if (rng() % 2) CHECK_MESSAGE(weighs(writer, &m), "%s, step %d: saved", model_dtype, i);
    if (rng() % 2) CHECK_MESSAGE(weighs(other, &m), "%s, step %d: the other handle", model_dtype, i);
    if (rng() % 6 == 0) check_rewrite(rng() % 2 ? a : b, &m, (int)(rng() % 2));
    if (rng() % 6 == 0) {
      close_checked(b);
      b = open_saved(env, dir);
    }
  }
  CHECK(weighs(a, &m) && weighs(b, &m));
  CHECK_MESSAGE(ty_verify(a, NULL, &err) == TY_OK, "%s", err.message);
  close_checked(a);
  close_checked(b);
}

/* ---- Edges ----------------------------------------------------------------------------------------------------------
 */
static void test_edges(void) {
  FRESH_DIR(dir);
  hits h, plain;
  float query[DIM], zero[DIM] = {0}, huge[DIM];
  static batch b;
  ty_collection *c = open_new(env, dir);
  model_query(query);
  for (uint32_t i = 0; i < DIM; i++) huge[i] = i % 2 ? 3.4e38f : 0x1p-149f;
  CHECK(ask(c, query, 1, &h) == TY_OK && h.count == 0);
  CHECK(ask(c, query, 2, &h) == TY_INVALID);
  b.n = 0;
  batch_add(&b, 1, 7);
  batch_add(&b, 2, 8);
  memset(b.vectors, 0, sizeof b.vectors);
  ty_put_args args = batch_args(&b, TY_ADD);
  CHECK(ty_begin(c, &err) == TY_OK && ty_put(c, &args, NULL, &err) == TY_OK && ty_save(c, &err) == TY_OK);
  CHECK(ask(c, query, 1, &h) == TY_OK && h.count == 2 && h.scores[0] == 0); /* rows that hold nothing */
  b.vectors[3] = 0.5f;
  b.vectors[DIM + 4] = 3;
  args.mode = TY_UPSERT;
  CHECK(ty_begin(c, &err) == TY_OK && ty_put(c, &args, NULL, &err) == TY_OK && ty_save(c, &err) == TY_OK);
  CHECK(ask(c, zero, 1, &h) == TY_OK && h.count == 2 && h.scores[0] == 0 && h.scores[1] == 0);
  CHECK(ask(c, huge, 1, &h) == TY_OK && h.count == 2 && isfinite(h.scores[0]) && isfinite(h.scores[1]) &&
        h.scores[0] > 0);
  CHECK(ask(c, query, 0, &plain) == TY_OK && ask(c, query, 1, &h) == TY_OK && h.scores[0] != plain.scores[0]);
  close_checked(c);
  const char *const others[] = {"cosine", "l2"};
  for (int i = 0; i < 2; i++) {
    model m = {0};
    model_metric = others[i];
    fresh_dir(dir);
    c = open_new(env, dir);
    CHECK(ty_begin(c, &err) == TY_OK);
    random_changes(c, &m, 10);
    CHECK(ty_save(c, &err) == TY_OK && c->base.squares == NULL);
    CHECK(ask(c, query, 1, &h) == TY_INVALID && ask(c, query, 0, &h) == TY_OK);
    close_checked(c);
  }
  model_metric = "inner_product";
}

/* ---- Wrong sums -----------------------------------------------------------------------------------------------------
 */
static void test_wrong_sums(void) {
  char dir[320], base[64];
  model m = {0};
  fresh_dir(dir);
  ty_collection *c = open_new(env, dir);
  CHECK(ty_begin(c, &err) == TY_OK);
  for (int i = 0; i < 4; i++) random_changes(c, &m, 30);
  CHECK(ty_save(c, &err) == TY_OK && base_sums_are(c, &m));
  snprintf(base, sizeof base, "%s", c->store->files.base.name);
  uint64_t rows = c->base.count;
  close_checked(c);
  /* More than rows can hold. */
  patch_base(dir, base, TY_SECTION_SQUARES, rows * TY_WEIGHTS_ONE + 1);
  CHECK(ty_collection_open(env, dir, &c, &err) == TY_CORRUPT && strstr(err.message, "sums of squares") != NULL);
  /* Less than they hold: an account that goes below zero when they die still gives numbers. */
  patch_base(dir, base, TY_SECTION_SQUARES, 0);
  c = open_saved(env, dir);
  hits h;
  float query[DIM];
  model_query(query);
  for (uint32_t id = 0; id < IDS; id++) {
    char text[64];
    uint64_t end = content_id(id, text);
    ty_delete_args gone = {.n = 1, .ids = (uint8_t *)text, .id_ends = &end};
    CHECK(ty_begin(c, &err) == TY_OK && ty_delete(c, &gone, &err) == TY_OK && ty_save(c, &err) == TY_OK);
    CHECK(ask(c, query, 1, &h) == TY_OK);
    for (uint64_t i = 0; i < h.count; i++) CHECK(isfinite(h.scores[i]));
  }
  ty_collection_close(c);
}

/* ---- Beside changes -------------------------------------------------------------------------------------------------
 */
static _Atomic int stop, bad; /* CHECK is for one thread */

static void *ask_on(void *arg) {
  hits h;
  float query[DIM];
  model_query(query);
  for (uint32_t i = 0; !atomic_load(&stop); i++) {
    if (ask_of(arg, query, 1, i % 5 == 4 ? ALL_KEYS : i % 3, &h) != TY_OK) atomic_store(&bad, 1);
    for (uint64_t i = 0; i < h.count; i++) {
      if (!isfinite(h.scores[i]) || (i > 0 && h.scores[i - 1] < h.scores[i])) atomic_store(&bad, 1);
    }
  }
  return NULL;
}

static void test_beside(void) {
  FRESH_DIR(dir);
  model m = {0};
  pthread_t threads[3];
  ty_collection *c = open_new(env, dir);
  CHECK(ty_begin(c, &err) == TY_OK && ty_save(c, &err) == TY_OK);
  ty_collection *reader = open_saved(env, dir);
  atomic_store(&stop, 0);
  for (int i = 0; i < 3; i++) CHECK(pthread_create(&threads[i], NULL, ask_on, i == 2 ? reader : c) == 0);
  for (int i = 0; i < 60; i++) {
    model before = m;
    ty_compact_args compact = {0};
    CHECK(ty_begin(c, &err) == TY_OK);
    random_changes(c, &m, 15);
    if (i % 5 == 2) ty_rollback(c), m = before;
    else if (i % 10 == 9) CHECK(ty_compact(c, &compact, NULL, &err) == TY_OK);
    else CHECK(ty_save(c, &err) == TY_OK);
  }
  atomic_store(&stop, 1);
  for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
  CHECK(atomic_load(&bad) == 0 && weighs(c, &m) && weighs(reader, &m));
  close_checked(reader);
  close_checked(c);
}

int main(int argc, char **argv) {
  static const char *const dtypes[] = {"f32", "f16", "int8", "int4"};
  uint64_t seed;
  if (!program_begin(argc, argv, "weights-test", 2, &seed, &env)) return 2;
  for (int i = 0; i < 12; i++) {
    int kind = i % 6;
    set_vertical(env, i >= 6);
    model_dtype = dtypes[kind % 4];
    model_tilted = kind > 0;
    model_codes = kind < 4 ? NO_CODES : kind == 4 ? ALL_CODES : MOST_CODES;
    if (kind == 5) model_dtype = "f32";
    test_life(seed + (uint64_t)i);
  }
  set_vertical(env, false);
  model_dtype = "f32";
  model_tilted = true;
  env->weighed_from = env->summed_from = 2;
  env->weighed_bytes = 1500; /* of three partitions two or fewer */
  test_wrong_sums();
  model_codes = NO_CODES;
  test_edges();
  test_beside();
  return program_end(env);
}

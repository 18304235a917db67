/* Weighted queries against a naive recomputation: random changes seen through two handles, rewrites that change
 * nothing, bases with wrong sums, and queries beside changes. */
#include <math.h>
#include <pthread.h>

#include "../../ffi/ty_runtime/state/state.h"
#include "../../ffi/ty_runtime/rows/weights.h"
#include "store_model.h"

static ty_env *env;
static ty_error err;

/* ---- The naive answer -----------------------------------------------------------------------------------------------
 */
/* Of all rows in the model, as they are stored. */
static void naive_sums(const model *m, uint64_t *sums, uint64_t *rows) {
  float row[DIM];
  memset(sums, 0, DIM * sizeof *sums);
  *rows = 0;
  for (uint32_t id = 0; id < IDS; id++) {
    if (m->version[id] == 0) continue;
    stored_vector(m->version[id], row);
    ++*rows;
    for (uint32_t i = 0; i < DIM; i++) sums[i] += (uint64_t)floor(fmin((double)row[i] * (double)row[i], 1) * 0x1p31);
  }
}

static void naive_weigh(const model *m, const float *asked, float *out) {
  uint64_t sums[DIM], n;
  double mean = 0, length = 0, weighed[DIM];
  naive_sums(m, sums, &n);
  memcpy(out, asked, DIM * sizeof *out);
  for (uint32_t i = 0; i < DIM; i++) mean += (double)sums[i] * 0x1p-31 / DIM / (double)(n == 0 ? 1 : n);
  if (mean == 0) return;
  for (uint32_t i = 0; i < DIM; i++) {
    weighed[i] = (double)asked[i] / (((double)sums[i] * 0x1p-31 + 20 * mean) / ((double)n + 20) + 2 * mean);
    length += weighed[i] * weighed[i];
  }
  for (uint32_t i = 0; i < DIM && length > 0; i++) out[i] = (float)(weighed[i] / sqrt(length));
}

typedef struct hits {
  uint64_t count;
  double scores[IDS];
  char ids[IDS][64];
} hits;

static ty_status ask(ty_collection *c, const float *query, uint64_t weighted, hits *h) {
  static _Thread_local uint8_t out[1 << 16] __attribute__((aligned(8)));
  ty_error e;
  ty_ask_args a = {.by = TY_BY_VECTOR,
                   .vector = query,
                   .top_k = IDS,
                   .column = TY_NO_FILTER,
                   .target_recall = 1,
                   .weighted = weighted,
                   .out = out,
                   .out_capacity = sizeof out};
  memset(h, 0, sizeof *h);
  ty_status status = ty_ask(c, &a, &e);
  if (status != TY_OK) return status;
  uint64_t at = 0;
  h->count = a.out_count;
  for (uint64_t i = 0; i < a.out_count; i++) {
    ty_record r;
    memcpy(&r, out + at, sizeof r);
    h->scores[i] = r.score;
    memcpy(h->ids[i], out + at + sizeof r, r.id_bytes < 63 ? r.id_bytes : 63);
    at += sizeof r + padded(r.id_bytes);
  }
  return TY_OK;
}

/* The scores are those of the weighted question with every row, and those of search_many the same. */
static int weighs(ty_collection *c, const model *m) {
  hits h;
  float query[DIM], weighed[DIM], wanted[IDS], row[DIM];
  uint32_t live = 0;
  int good = 1;
  model_query(query);
  naive_weigh(m, query, weighed);
  for (uint32_t id = 0; id < IDS; id++) {
    if (m->version[id] == 0) continue;
    float score;
    stored_vector(m->version[id], row);
    ame_kernel_table()->dot_f32(weighed, row, 1, DIM, &score);
    uint32_t at = live++;
    for (; at > 0 && wanted[at - 1] < score; at--) wanted[at] = wanted[at - 1];
    wanted[at] = score;
  }
  if (!CHECK_MESSAGE(ask(c, query, 1, &h) == TY_OK && h.count == live, "%llu of %u", (unsigned long long)h.count, live))
    return 0;
  for (uint32_t i = 0; i < live; i++)
    good &= fabs(h.scores[i] - (double)wanted[i]) <= 1e-5 * (1 + fabs((double)wanted[i]));
  /* Both calls, to the bit. */
  static uint8_t out[1 << 16] __attribute__((aligned(8)));
  float queries[3 * DIM];
  uint64_t counts[3], at = 0;
  for (int q = 0; q < 3; q++) memcpy(queries + q * DIM, query, sizeof query);
  ty_search_many_args many = {.queries = queries,
                              .n = 3,
                              .top_k = IDS,
                              .column = TY_NO_FILTER,
                              .target_recall = 1,
                              .weighted = 1,
                              .counts = counts,
                              .out = out,
                              .out_capacity = sizeof out};
  good &= ty_search_many(c, &many, NULL, &err) == TY_OK;
  for (uint64_t i = 0; good && i < 3 * live; i++) {
    ty_record r;
    memcpy(&r, out + at, sizeof r);
    good &= r.score == h.scores[i % live];
    at += sizeof r + padded(r.id_bytes);
  }
  return good;
}

/* ---- Lives ----------------------------------------------------------------------------------------------------------
 */
static int base_sums_are(const ty_collection *c, const model *m) {
  uint64_t sums[DIM], rows;
  naive_sums(m, sums, &rows);
  return c->base.squares != NULL && c->base.count == rows && memcmp(c->base.squares, sums, sizeof sums) == 0;
}

/* A rewrite changes no bit of a weighted answer. */
static void check_rewrite(ty_collection *c, const model *m, int what) {
  hits before, after;
  float query[DIM];
  ty_compact_args compact;
  ty_ivf_args ivf = {.min_rows = 4, .target_recall = 0.9};
  model_query(query);
  CHECK(ask(c, query, 1, &before) == TY_OK);
  CHECK(ty_begin(c, &err) == TY_OK);
  ty_status status = what == 0 ? ty_compact(c, &compact, NULL, &err) : ty_build_ivf(c, &ivf, NULL, &err);
  CHECK_MESSAGE(status == TY_OK, "%s", err.message);
  CHECK(ask(c, query, 1, &after) == TY_OK);
  CHECK_MESSAGE(memcmp(before.scores, after.scores, sizeof before.scores) == 0, "a rewrite moved a weighted score");
  CHECK_MESSAGE(base_sums_are(c, m), "the base's sums are wrong");
}

static void test_life(uint64_t seed) {
  char dir[320];
  fresh_dir(dir);
  rng_state = seed;
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
  char dir[320];
  hits h, plain;
  float query[DIM], zero[DIM] = {0}, huge[DIM];
  static batch b;
  fresh_dir(dir);
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
static uint8_t file[1 << 20] __attribute__((aligned(64)));

static uint64_t read_whole(const char *path) {
  FILE *in = fopen(path, "rb");
  uint64_t bytes = in == NULL ? 0 : fread(file, 1, sizeof file - 1, in);
  if (in != NULL) fclose(in);
  file[bytes] = 0;
  return bytes;
}

static void write_whole(const char *path, const void *data, uint64_t bytes) {
  FILE *to = fopen(path, "wb");
  CHECK(to != NULL && fwrite(data, 1, bytes, to) == bytes);
  if (to != NULL) fclose(to);
}

/* Gives one of the sums another value, and makes all checksums fit. */
static void patch_base(const char *dir, const char *base, uint64_t sum) {
  const ame_kernel *k = ame_kernel_table();
  static char text[1 << 16];
  char path[640], old[64], fresh[64];
  snprintf(path, sizeof path, "%s/%s", dir, base);
  uint64_t bytes = read_whole(path);
  ty_slab_header *h = (ty_slab_header *)(void *)file;
  ty_slab_section *s = (ty_slab_section *)(void *)(file + sizeof *h);
  uint64_t table = h->sections * sizeof *s;
  uint32_t before = k->crc32c(0, file, sizeof *h + table), found = 0;
  for (uint32_t i = 0; i < h->sections; i++) {
    if (s[i].id != TY_SECTION_SQUARES) continue;
    found++;
    memcpy(file + s[i].offset + 8, &sum, sizeof sum);
    s[i].crc = k->crc32c(0, file + s[i].offset, s[i].bytes);
  }
  CHECK(found == 1);
  h->table_crc = k->crc32c(0, s, table);
  h->crc = k->crc32c(0, h, sizeof *h - sizeof h->crc);
  snprintf(old, sizeof old, "\"crc32c\": %u}", before);
  snprintf(fresh, sizeof fresh, "\"crc32c\": %u}", k->crc32c(0, file, sizeof *h + table));
  write_whole(path, file, bytes);
  snprintf(path, sizeof path, "%s/" TY_MANIFEST_NAME, dir);
  read_whole(path);
  char *at = strstr((char *)file, old);
  if (!CHECK(at != NULL)) return;
  int length = snprintf(text, sizeof text, "%.*s%s%s", (int)(at - (char *)file), (char *)file, fresh, at + strlen(old));
  write_whole(path, text, (uint64_t)length);
}

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
  patch_base(dir, base, rows * TY_WEIGHTS_ONE + 1);
  CHECK(ty_collection_open(env, dir, &c, &err) == TY_CORRUPT && strstr(err.message, "sums of squares") != NULL);
  /* Less than they hold: an account that goes below zero when they die still gives numbers. */
  patch_base(dir, base, 0);
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
  while (!atomic_load(&stop)) {
    if (ask(arg, query, 1, &h) != TY_OK) atomic_store(&bad, 1);
    for (uint64_t i = 0; i < h.count; i++) {
      if (!isfinite(h.scores[i]) || (i > 0 && h.scores[i - 1] < h.scores[i])) atomic_store(&bad, 1);
    }
  }
  return NULL;
}

static void test_beside(void) {
  char dir[320];
  model m = {0};
  pthread_t threads[3];
  fresh_dir(dir);
  ty_collection *c = open_new(env, dir);
  CHECK(ty_begin(c, &err) == TY_OK && ty_save(c, &err) == TY_OK);
  ty_collection *reader = open_saved(env, dir);
  atomic_store(&stop, 0);
  for (int i = 0; i < 3; i++) CHECK(pthread_create(&threads[i], NULL, ask_on, i == 2 ? reader : c) == 0);
  for (int i = 0; i < 60; i++) {
    model before = m;
    ty_compact_args compact;
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
  test_wrong_sums();
  model_codes = NO_CODES;
  test_edges();
  test_beside();
  return program_end(env);
}

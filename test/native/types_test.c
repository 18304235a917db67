/* Element types and metrics on disk: random changes of a collection of each, stored forms that are no such, other types
 * than the manifest says, and bases that lack a section. */
#include <math.h>

#include "../../ffi/ty_runtime/disk/format.h"
#include "../../ffi/ty_runtime/rows/vector.h"
#include "../../ffi/ty_runtime/state/state.h"
#include "store_model.h"
#include "store_sealed.h"

static ty_env *env;
static ty_error err;

static const char *const dtypes[] = {"f32", "f16", "int8", "int4"};
static const char *const metrics[] = {"inner_product", "cosine", "l2"};

/* Changes, saves, roll-backs, rewrites and reopenings. */
static void test_life(uint64_t seed) {
  FRESH_DIR(dir);
  rng_state = seed;
  model m = {0};
  ty_collection *c = open_new(env, dir);
  for (int i = 0; i < 25; i++) {
    model before = m;
    CHECK_MESSAGE(ty_begin(c, &err) == TY_OK, "begin: %s", err.message);
    random_changes(c, &m, 1 + (uint32_t)(rng() % 20));
    CHECK_MESSAGE(model_equal(c, &m), "%s %s, step %d: unsaved", model_dtype, model_metric, i);
    uint64_t what = rng() % 6;
    ty_compact_args compact = {0};
    ty_ivf_args ivf = {.min_rows = 4, .target_recall = 0.9};
    ty_status status = TY_OK;
    if (what == 0) ty_rollback(c), m = before;
    else if (what == 1) status = ty_compact(c, &compact, NULL, &err);
    else if (what == 2) status = ty_build_ivf(c, &ivf, NULL, &err);
    else status = ty_save(c, &err);
    CHECK_MESSAGE(status == TY_OK, "%s %s, step %d: %s", model_dtype, model_metric, i, err.message);
    CHECK_MESSAGE(model_equal(c, &m), "%s %s, step %d: after %d", model_dtype, model_metric, i, (int)what);
    if (c->generation > 0)
      CHECK_MESSAGE(saved_equal(env, dir, &m), "%s %s, step %d: reopened", model_dtype, model_metric, i);
    if (what == 1 || what == 2) {
      bool wanted = model_is("f16");
      for (uint32_t k = 0; k < IDS && model_is("f32"); k++)
        wanted |= m.version[k] != 0 && (model_is("cosine") || !content_is_codes(m.version[k]));
      /* A row that was scaled to unit length may happen to be its codes: several hardly all are. */
      bool sure = c->base.count > (model_is("f32") && model_is("cosine") ? 3 : 0);
      CHECK_MESSAGE(!sure || (c->base.vectors != NULL) == wanted, "%s %s, step %d: vectors are %s", model_dtype,
                    model_metric, i, wanted ? "missing" : "stored");
    }
    float sample[IDS * DIM];
    ty_sample_args some = {.n = IDS, .seed = seed, .out = sample};
    CHECK(ty_sample(c, &some, &err) == TY_OK && some.out_count == c->base.live + c->delta.live);
  }
  CHECK_MESSAGE(ty_verify(c, NULL, &err) == TY_OK, "verify: %s", err.message);
  close_checked(c);
}

/* ---- Exactness on many rows -----------------------------------------------------------------------------------------
 */
#define WIDE 97u
#define MANY 2500u

/* Makes a row of what its 8-bit codes say, with a scale of 17 bits. */
static void snap(float *row) {
  float largest = 0;
  int exponent;
  for (uint32_t i = 0; i < WIDE; i++) largest = fmaxf(largest, fabsf(row[i]));
  if (largest == 0) return;
  double part = frexp((double)largest / 127, &exponent);
  float scale = (float)ldexp(floor(part * 0x1p17), exponent - 17);
  for (uint32_t i = 0; i < WIDE; i++) {
    double code = fmin(127, fmax(-127, nearbyint((double)row[i] / (double)scale)));
    row[i] = scale * (float)(code + 0.0); /* no -0, which no code stands for */
  }
}

static float random_float(void) { return (float)(rng() >> 40) * 0x1p-23f - 1.0f; }

/* Half of the rows lie close together, so that bounds have to tell neighbours apart; some are far off the others in
 * size. */
static void wide_rows(float *out) {
  float centre[WIDE];
  for (uint32_t i = 0; i < WIDE; i++) centre[i] = random_float();
  for (uint32_t row = 0; row < MANY; row++) {
    float size = row % 50 == 7 ? 30.0f : row % 50 == 8 ? 1e-3f : 1.0f;
    for (uint32_t i = 0; i < WIDE; i++)
      out[row * WIDE + i] = size * (row % 2 ? centre[i] + 0.01f * random_float() : random_float());
    if (row % 100 == 5) memset(out + row * WIDE, 0, WIDE * sizeof *out);
    if (model_codes == ALL_CODES) snap(out + row * WIDE);
  }
}

static ty_status put_wide(ty_collection *c, const float *rows, uint32_t first, uint32_t n) {
  static char ids[MANY * 8];
  static uint64_t id_ends[MANY], key_ends[MANY];
  for (uint64_t i = 0, at = 0; i < n; i++) id_ends[i] = at += (uint64_t)sprintf(ids + at, "%u", first + (uint32_t)i);
  ty_put_args args = {.n = n,
                      .mode = TY_UPSERT,
                      .vectors = rows + first * WIDE,
                      .ids = (uint8_t *)ids,
                      .id_ends = id_ends,
                      .key_ends = key_ends};
  ty_status status = ty_begin(c, &err);
  if (status == TY_OK) status = ty_put(c, &args, NULL, &err);
  return status == TY_OK ? ty_save(c, &err) : status;
}

/* Vectors of all live rows as they are returned. */
static uint32_t stored_rows(ty_collection *c, float *out) {
  static uint8_t all[MANY * (sizeof(ty_record) + 16 + (WIDE + 1) * sizeof(float))] __attribute__((aligned(8)));
  ty_ids_args ids = {.column = TY_NO_FILTER, .what = TY_WITH_VECTOR, .out = all, .out_capacity = sizeof all};
  CHECK_MESSAGE(ty_ids(c, &ids, &err) == TY_OK, "%s", err.message);
  uint64_t at = 0;
  for (uint32_t i = 0; i < ids.out_count; i++) {
    ty_record r;
    memcpy(&r, all + at, sizeof r);
    at += sizeof r + padded(r.id_bytes);
    memcpy(out + i * WIDE, all + at, WIDE * sizeof *out);
    at += padded(r.vector_bytes);
  }
  return (uint32_t)ids.out_count;
}

static int descending(const void *a, const void *b) {
  float x, y;
  memcpy(&x, a, sizeof x);
  memcpy(&y, b, sizeof y);
  return (x < y) - (x > y);
}

/* Every CPU path gives the answer that is in `answer`, to the last bit: machines with other CPUs answer alike. */
static void check_paths(ty_collection *c, const ty_ask_args *asked, const char *when) {
  static uint8_t other[sizeof answer] __attribute__((aligned(8)));
  const char *active = ame_isa_active();
  for (uint32_t i = 0; i < ame_isa_count(); i++) {
    if (ame_isa_force(ame_isa_name(i)) != 0) continue;
    ty_ask_args again = *asked;
    again.out = other;
    CHECK(ty_ask(c, &again, &err) == TY_OK);
    CHECK_MESSAGE(again.out_bytes == asked->out_bytes && memcmp(other, answer, (size_t)again.out_bytes) == 0,
                  "%s %s, %s: %s answers otherwise", model_dtype, model_metric, when, ame_isa_name(i));
  }
  CHECK(ame_isa_force(active) == 0);
}

/* The best scores are those of a look at every row, to the last bit; few rows are scored for them. */
static void check_wide(ty_collection *c, const float *rows, const char *when) {
  const ame_kernel *k = ame_kernel_table();
  static float stored[MANY * WIDE], scores[MANY];
  uint32_t n = stored_rows(c, stored);
  uint64_t scored = 0;
  for (uint32_t q = 0; q < 12; q++) {
    float asked[WIDE], query[WIDE];
    for (uint32_t i = 0; i < WIDE; i++)
      asked[i] = q < 4 ? (i % 25 == q ? 3 : 0) : rows[(q * 37 + 1) * WIDE + i] + 0.02f * random_float();
    memcpy(query, asked, sizeof query);
    if (model_is("cosine")) k->normalize(query, 1, WIDE);
    for (uint32_t i = 0; i < n; i++) {
      if (model_is("l2")) k->sq_l2(query, stored + i * WIDE, 1, WIDE, &scores[i]), scores[i] = 0 - scores[i];
      else k->dot_f32(query, stored + i * WIDE, 1, WIDE, &scores[i]);
      if (model_is("cosine")) scores[i] = fminf(1, fmaxf(-1, scores[i]));
    }
    qsort(scores, n, sizeof *scores, descending);
    ty_ask_args search = {.by = TY_BY_VECTOR, .vector = asked, .top_k = 10, EXACTLY, ANSWER_IN(answer)};
    CHECK_MESSAGE(ty_ask(c, &search, &err) == TY_OK && search.out_count == 10, "%s", err.message);
    scored += search.scored_rows;
    check_paths(c, &search, when);
    uint64_t at = 0;
    for (uint32_t i = 0; i < 10; i++) {
      ty_record r;
      memcpy(&r, answer + at, sizeof r);
      at += sizeof r + padded(r.id_bytes);
      CHECK_MESSAGE((float)r.score == scores[i], "%s %s, %s: query %u, hit %u scores %.9g instead of %.9g", model_dtype,
                    model_metric, when, q, i, r.score, (double)scores[i]);
    }
  }
  CHECK_MESSAGE(scored < (uint64_t)n * 12 / 2, "%s %s, %s: %llu rows were scored", model_dtype, model_metric, when,
                (unsigned long long)scored);
}

/* Of f32 a delta's rows that are codes are stored as such: all that were made so, and zero rows. */
static void check_coded(const ty_collection *c) {
  const ty_segment *s = &c->delta;
  uint64_t bytes = 0, coded = 0;
  for (uint64_t at = 0; at < s->count; at++) {
    bool wanted = model_is("f32") && (model_codes == ALL_CODES || s->info[at].scale == 0);
    bool may = model_codes == ALL_CODES && model_is("cosine"); /* some are codes at unit length too */
    CHECK_MESSAGE(may || s->payload[at].coded == wanted, "%s %s: row %llu is%s stored as codes", model_dtype,
                  model_metric, (unsigned long long)at, wanted ? " not" : "");
    coded += s->payload[at].coded;
    bytes += ty_payload_bytes(c, &s->payload[at]);
  }
  uint64_t more = c->store->files.deltas[0].bytes - bytes;
  CHECK_MESSAGE(coded > 0 || !model_is("f32"), "no row is stored as codes");
  CHECK_MESSAGE(more < s->count * (sizeof(ty_operation) + 96), "the delta holds %llu bytes beside the vectors",
                (unsigned long long)more);
}

static void test_exact(uint64_t seed) {
  static float rows[MANY * WIDE];
  char dir[320], schema[512];
  ty_collection *c = NULL;
  rng_state = seed;
  wide_rows(rows);
  fresh_dir(dir);
  int bytes = snprintf(schema, sizeof schema,
                       "{\"name\":\"wide\",\"dim\":%u,\"dtype\":\"%s\",\"key_name\":\"s\",\"filter_columns\":[\"s\"],"
                       "\"telys_version\":\"1\",\"default_target_recall\":1,\"applied_tuner\":null,\"lexical\":false,"
                       "\"embedder_profile\":{\"distance\":\"%s\"}}",
                       WIDE, model_dtype, model_metric);
  CHECK(ty_collection_new(env, dir, (uint8_t *)schema, (uint64_t)bytes, &c, &err) == TY_OK);
  CHECK_MESSAGE(put_wide(c, rows, 0, MANY - 700) == TY_OK, "%s", err.message);
  check_wide(c, rows, "in a base");
  CHECK_MESSAGE(put_wide(c, rows, MANY - 900, 900) == TY_OK, "%s", err.message);
  check_wide(c, rows, "in base and delta");
  check_coded(c);
  close_checked(c);
  c = open_saved(env, dir);
  check_wide(c, rows, "opened again");
  check_coded(c);
  ty_compact_args compact = {0};
  CHECK(ty_begin(c, &err) == TY_OK && ty_compact(c, &compact, NULL, &err) == TY_OK && compact.reclaimed_rows == 200);
  check_wide(c, rows, "compacted");
  if (model_is("f32") && !model_is("cosine")) CHECK((c->base.vectors == NULL) == (model_codes == ALL_CODES));
  close_checked(c);
}

/* ---- Files that are made to fit again -------------------------------------------------------------------------------
 */
static uint8_t file[1 << 20] __attribute__((aligned(64)));
static uint64_t file_bytes;

static void read_whole(const char *dir, const char *prefix, char name[64]) {
  DIR *d = opendir(dir);
  struct dirent *e;
  char path[640];
  name[0] = 0;
  while (d != NULL && (e = readdir(d)) != NULL) {
    if (strncmp(e->d_name, prefix, strlen(prefix)) == 0) snprintf(name, 64, "%.63s", e->d_name);
  }
  if (d != NULL) closedir(d);
  snprintf(path, sizeof path, "%s/%s", dir, name);
  FILE *in = fopen(path, "rb");
  file_bytes = in == NULL ? 0 : fread(file, 1, sizeof file - 1, in);
  file[file_bytes] = 0;
  CHECK(file_bytes > 0);
  if (in != NULL) fclose(in);
}

static void write_whole(const char *dir, const char *name, const void *data, uint64_t bytes) {
  char path[640];
  snprintf(path, sizeof path, "%s/%s", dir, name);
  FILE *out = fopen(path, "wb");
  CHECK(out != NULL && fwrite(data, 1, bytes, out) == bytes);
  if (out != NULL) fclose(out);
}

/* Replaces the first occurrence of `old` after `after` in the manifest. */
static void patch_manifest(const char *dir, const char *after, const char *old, const char *fresh) {
  char name[64];
  static char text[1 << 16];
  read_whole(dir, TY_MANIFEST_NAME, name);
  char *at = strstr((char *)file, after);
  char *found = at == NULL ? NULL : strstr(at, old);
  if (!CHECK(found != NULL)) return;
  size_t head = (size_t)(found - (char *)file);
  snprintf(text, sizeof text, "%.*s%s%s", (int)head, (char *)file, fresh, found + strlen(old));
  write_sealed(dir, text);
}

static void patch_sum(const char *dir, const char *name, uint32_t before, uint32_t after) {
  char old[64], fresh[64];
  snprintf(old, sizeof old, "\"crc32c\": %u}", before);
  snprintf(fresh, sizeof fresh, "\"crc32c\": %u}", after);
  patch_manifest(dir, name, old, fresh);
}

/* Takes a section from the base: it gets an unknown number. */
static void strip_section(const char *dir, uint32_t id) {
  const ame_kernel *k = ame_kernel_table();
  char name[64];
  read_whole(dir, "base-", name);
  ty_slab_header *h = (ty_slab_header *)(void *)file;
  ty_slab_section *s = (ty_slab_section *)(void *)(file + sizeof *h);
  uint64_t table = h->sections * sizeof *s;
  uint32_t before = k->crc32c(0, file, sizeof *h + table), found = 0;
  for (uint32_t i = 0; i < h->sections; i++) {
    if (s[i].id == id) s[i].id = 4000, found++;
  }
  CHECK(found == 1);
  h->table_crc = k->crc32c(0, s, table);
  h->crc = k->crc32c(0, h, sizeof *h - sizeof h->crc);
  uint32_t after = k->crc32c(0, file, sizeof *h + table);
  write_whole(dir, name, file, file_bytes);
  patch_sum(dir, name, before, after);
}

static void test_without_section(void) {
  static const uint32_t sections[] = {TY_SECTION_BLOCKS, TY_SECTION_CODING, TY_SECTION_SQUARES};
  char dir[320], said[32];
  model_metric = "inner_product";
  for (int i = 0; i < 12; i++) {
    model_dtype = dtypes[i % 4];
    fresh_dir(dir);
    model m = {0};
    ty_collection *c = open_new(env, dir);
    CHECK(ty_begin(c, &err) == TY_OK);
    random_changes(c, &m, 30);
    CHECK(ty_save(c, &err) == TY_OK);
    close_checked(c);
    strip_section(dir, sections[i / 4]);
    snprintf(said, sizeof said, "no section %u", sections[i / 4]);
    CHECK(ty_collection_open(env, dir, &c, &err) == TY_CORRUPT && strstr(err.message, said) != NULL);
  }
}

/* ---- Bases whose codes are their rows -------------------------------------------------------------------------------
 */
static void put_one(ty_collection *c, uint32_t id, const float *vector) {
  static batch b;
  b.n = 0;
  batch_add(&b, id, id + 1);
  memcpy(b.vectors, vector, DIM * sizeof *vector);
  ty_put_args args = batch_args(&b, TY_ADD);
  CHECK(ty_begin(c, &err) == TY_OK);
  CHECK_MESSAGE(ty_put(c, &args, NULL, &err) == TY_OK && ty_save(c, &err) == TY_OK, "%s", err.message);
}

static void delete_one(ty_collection *c, uint32_t id) {
  char text[64];
  uint64_t end = content_id(id, text);
  ty_delete_args gone = {.n = 1, .ids = (uint8_t *)text, .id_ends = &end};
  CHECK(ty_begin(c, &err) == TY_OK && ty_delete(c, &gone, &err) == TY_OK && gone.removed == 1 &&
        ty_save(c, &err) == TY_OK);
}

static void compact_now(ty_collection *c) {
  ty_compact_args compact = {0};
  CHECK(ty_begin(c, &err) == TY_OK);
  CHECK_MESSAGE(ty_compact(c, &compact, NULL, &err) == TY_OK, "%s", err.message);
}

static void check_vector(ty_collection *c, uint32_t id, const float *vector) {
  char text[64];
  uint64_t end = content_id(id, text);
  ty_get_args get = {.n = 1, .ids = (uint8_t *)text, .id_ends = &end, .what = TY_WITH_VECTOR, ANSWER_IN(answer)};
  ty_record r;
  CHECK(ty_get(c, &get, &err) == TY_OK);
  memcpy(&r, answer, sizeof r);
  CHECK_MESSAGE(memcmp(answer + sizeof r + padded(r.id_bytes), vector, DIM * sizeof *vector) == 0,
                "row %u has other bits", id);
}

/* One row that its codes do not say makes all of them be stored, and its deletion makes the base small again. */
static void test_one_ordinary_row(void) {
  float rows[8][DIM], odd[5][DIM];
  char dir[320];
  model_dtype = "f32";
  model_codes = ALL_CODES;
  for (uint32_t i = 0; i < 8; i++) content_vector(i + 1, rows[i]);
  memset(rows[7], 0, sizeof rows[7]); /* a zero row is its codes */
  for (uint32_t i = 0; i < 5; i++) memcpy(odd[i], rows[3], sizeof odd[i]);
  odd[0][4] = nextafterf(odd[0][4], 1000);
  for (uint32_t i = 0; i < DIM; i++) odd[1][i] = 0;
  odd[1][9] = -0.0f;
  for (uint32_t i = 0; i < DIM; i++) odd[2][i] = i == 0 ? 0x1p-149f : 0; /* its 127th part is not a float */
  for (uint32_t i = 0; i < DIM; i++) odd[3][i] *= 0x1.234566p-3f;        /* a scale of 24 bits and more */
  for (uint32_t i = 0; i < DIM; i++) odd[4][i] = content_scale(3) * (float)((int)(i * 12) - 114); /* no code of 127 */
  fresh_dir(dir);
  ty_collection *c = open_new(env, dir);
  for (uint32_t i = 0; i < 8; i++) put_one(c, i, rows[i]);
  compact_now(c);
  CHECK(c->base.vectors == NULL && c->base.count == 8);
  uint64_t small = c->store->files.base.bytes;
  for (uint32_t k = 0; k < 5; k++) {
    put_one(c, 20, odd[k]);
    check_vector(c, 20, odd[k]);
    compact_now(c);
    CHECK_MESSAGE(c->base.vectors != NULL && c->base.count == 9, "odd row %u was not stored", k);
    for (uint32_t i = 0; i < 8; i++) check_vector(c, i, rows[i]);
    check_vector(c, 20, odd[k]);
    CHECK_MESSAGE(ty_verify(c, NULL, &err) == TY_OK, "%s", err.message);
    delete_one(c, 20);
    compact_now(c);
    CHECK(c->base.vectors == NULL && c->base.count == 8 && c->store->files.base.bytes == small);
    close_checked(c);
    c = open_saved(env, dir);
    CHECK(c->base.vectors == NULL);
    for (uint32_t i = 0; i < 8; i++) check_vector(c, i, rows[i]);
    CHECK_MESSAGE(ty_verify(c, NULL, &err) == TY_OK, "%s", err.message);
  }
  close_checked(c);
  model_codes = NO_CODES;
}

/* ---- Invalid stored forms -------------------------------------------------------------------------------------------
 */
static void small_delta(const char *dir, model *m) {
  ty_collection *c = open_new(env, dir);
  CHECK(ty_begin(c, &err) == TY_OK);
  CHECK(ty_save(c, &err) == TY_OK);
  static batch b;
  b.n = 0;
  batch_add(&b, 1, 7);
  model_put(m, 1, 7);
  ty_put_args args = batch_args(&b, TY_ADD);
  CHECK(ty_begin(c, &err) == TY_OK && ty_put(c, &args, NULL, &err) == TY_OK && ty_save(c, &err) == TY_OK);
  close_checked(c);
}

static void patch_delta(const char *dir, uint64_t at, const void *data, uint64_t bytes) {
  const ame_kernel *k = ame_kernel_table();
  char name[64];
  read_whole(dir, "delta-", name);
  uint32_t before = k->crc32c(0, file, file_bytes);
  ty_block_header *b = (ty_block_header *)(void *)(file + sizeof(ty_slab_header));
  memcpy(file + sizeof(ty_slab_header) + sizeof *b + at, data, bytes); /* from the first operation on */
  b->payload_crc = k->crc32c(0, b + 1, b->payload_bytes);
  b->crc = k->crc32c(0, b, sizeof *b - sizeof b->crc);
  uint32_t after = k->crc32c(0, file, file_bytes);
  write_whole(dir, name, file, file_bytes);
  patch_sum(dir, name, before, after);
}

static void test_malformed(void) {
  static const struct {
    const char *dtype;
    uint64_t at;
    uint32_t bits, bytes;
    bool codes;
  } cases[] = {
      {"f32", 12, 0x7fc00000u, 4, false}, {"f32", 0, 0xff800000u, 4, false},  {"f16", 6, 0x7c00u, 2, false},
      {"f16", 38, 0xfe00u, 2, false},     {"int8", 0, 0x7f800000u, 4, false}, {"int8", 0, 0x7fc00000u, 4, false},
      {"int8", 0, 0x7f7fffffu, 4, false}, {"int8", 4 + 5, 0x80u, 1, false},   {"int4", 0, 0x7fc00000u, 4, false},
      {"int4", 4, 0xff800000u, 4, false}, {"int4", 0, 0x7f7fffffu, 4, false}, {"int4", 8 + 8, 0x10u, 1, false},
      {"f32", 0, 0x7f800000u, 4, true},   {"f32", 0, 0x7fc00000u, 4, true},   {"f32", 0, 0x7f7fffffu, 4, true},
      {"f32", 4 + 5, 0x80u, 1, true},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char dir[320];
    model m = {0};
    ty_collection *c = NULL;
    model_dtype = cases[i].dtype;
    model_codes = cases[i].codes ? ALL_CODES : NO_CODES;
    fresh_dir(dir);
    small_delta(dir, &m);
    CHECK(saved_equal(env, dir, &m));
    patch_delta(dir, sizeof(ty_operation) + cases[i].at, &cases[i].bits, cases[i].bytes);
    ty_status status = ty_collection_open(env, dir, &c, &err);
    CHECK_MESSAGE(status == TY_CORRUPT && strstr(err.message, "a row's vector is malformed at offset 128") != NULL,
                  "case %d: status %d, %s", (int)i, (int)status, err.message);
    if (status == TY_OK) close_checked(c);
  }
  model_codes = NO_CODES;
  /* Only f32 has rows stored as codes. */
  for (int i = 0; i < 4; i++) {
    char dir[320];
    model m = {0};
    ty_collection *c = NULL;
    uint32_t flags = TY_HAS_META | TY_HAS_TEXT | TY_AS_CODES;
    model_dtype = dtypes[i];
    fresh_dir(dir);
    small_delta(dir, &m);
    patch_delta(dir, offsetof(ty_operation, flags), &flags, sizeof flags);
    ty_status status = ty_collection_open(env, dir, &c, &err);
    CHECK_MESSAGE(status == TY_CORRUPT && strstr(err.message, "is malformed at offset 128") != NULL, "%s: %d, %s",
                  model_dtype, (int)status, err.message);
    if (status == TY_OK) close_checked(c);
  }
  /* Levels beyond what the bound is proved for, though finite: the row is found by looking at it. */
  FRESH_DIR(dir);
  model m = {0};
  float big = 0x1p110f, query[DIM];
  model_dtype = "int4";
  small_delta(dir, &m);
  patch_delta(dir, sizeof(ty_operation), &big, sizeof big);
  ty_collection *c = open_saved(env, dir);
  model_query(query);
  ty_ask_args search = {.by = TY_BY_VECTOR, .vector = query, .top_k = 1, EXACTLY, ANSWER_IN(answer)};
  CHECK(ty_ask(c, &search, &err) == TY_OK && search.out_count == 1 && search.scored_rows == 1);
  close_checked(c);
}

/* Changes one byte of the operation of a row whose vector is without zeros, which is refused then. */
static void refuse_sparse(const char *dtype, uint64_t at, uint8_t byte, uint64_t bytes, const char *what) {
  char dir[320];
  model m = {0};
  ty_collection *c = NULL;
  uint8_t to[8] = {byte};
  model_dtype = dtype;
  model_codes = ALL_CODES;
  model_sparse = true;
  fresh_dir(dir);
  small_delta(dir, &m);
  CHECK(saved_equal(env, dir, &m));
  patch_delta(dir, at, to, bytes);
  ty_status status = ty_collection_open(env, dir, &c, &err);
  CHECK_MESSAGE(status == TY_CORRUPT && strstr(err.message, "is malformed at offset 128") != NULL,
                "%s, %s: status %d, %s", dtype, what, (int)status, err.message);
  if (status == TY_OK) close_checked(c);
  model_codes = NO_CODES;
  model_sparse = false;
}

static void test_damaged_sparse(void) {
  const uint64_t bits = sizeof(ty_operation) + sizeof(float), codes = bits + (DIM + 7) / 8;
  const uint64_t length = offsetof(ty_operation, sparse_bytes);
  for (int i = 0; i < 2; i++) {
    const char *dtype = i == 0 ? "f32" : "int8";
    refuse_sparse(dtype, bits, 0, 1, "fewer bits than codes");
    refuse_sparse(dtype, bits, 0xff, 1, "more bits than codes");
    refuse_sparse(dtype, codes - 1, 0xff, 1, "bits of dimensions that are not there");
    refuse_sparse(dtype, codes, 0, 1, "a code of 0");
    refuse_sparse(dtype, codes, 0x80, 1, "a code that no writer writes");
    refuse_sparse(dtype, sizeof(ty_operation) + 3, 0x7f, 1, "a scale that is too large");
    refuse_sparse(dtype, length, 0, 4, "no length");
    refuse_sparse(dtype, length, sizeof(float), 4, "a length without bits");
    refuse_sparse(dtype, length, sizeof(float) + DIM, 4, "the length of a vector with zeros");
    refuse_sparse(dtype, offsetof(ty_operation, flags), TY_HAS_META | TY_HAS_TEXT | (i == 0 ? TY_AS_CODES : 0), 1,
                  "a length without its flag");
  }
  refuse_sparse("f32", offsetof(ty_operation, flags), TY_HAS_META | TY_HAS_TEXT | TY_PUT_SPARSE, 1,
                "floats without zeros");
}

/* A manifest with another type than the files were written in. */
static void test_other_type(void) {
  for (int i = 0; i < 4; i++) {
    for (int k = 0; k < 4; k++) {
      char dir[320], fresh[16], old[16];
      model m = {0};
      ty_collection *c = NULL;
      model_dtype = dtypes[i];
      fresh_dir(dir);
      small_delta(dir, &m);
      snprintf(old, sizeof old, "\"%s\"", dtypes[i]);
      snprintf(fresh, sizeof fresh, "\"%s\"", dtypes[k]);
      patch_manifest(dir, "\"dtype\"", old, fresh);
      ty_status status = ty_collection_open(env, dir, &c, &err);
      CHECK_MESSAGE(status == (i == k ? TY_OK : TY_CORRUPT), "%s as %s: %d, %s", dtypes[i], dtypes[k], (int)status,
                    err.message);
      if (status == TY_OK) close_checked(c);
    }
  }
  model_dtype = "f32";
  FRESH_DIR(dir);
  model m = {0};
  ty_collection *c = NULL;
  small_delta(dir, &m);
  patch_manifest(dir, "\"dtype\"", "\"f32\"", "\"f64\"");
  CHECK(ty_collection_open(env, dir, &c, &err) == TY_CORRUPT && strstr(err.message, "dtype") != NULL);
}

/* The base knows its metric: rows that were scaled or have a bias are not taken for others. */
static void test_metric_of_the_base(void) {
  FRESH_DIR(dir);
  model m = {0};
  model_metric = "l2";
  small_delta(dir, &m);
  patch_manifest(dir, "\"distance\"", "\"l2\"", "\"other\"");
  CHECK(saved_equal(env, dir, &m));
  /* Another process saves a collection of this name with another metric. */
  fresh_dir(dir);
  ty_collection *mine = open_new(env, dir);
  model_metric = "cosine";
  ty_collection *theirs = open_new(env, dir);
  CHECK(ty_begin(theirs, &err) == TY_OK && ty_save(theirs, &err) == TY_OK);
  CHECK(ty_begin(mine, &err) == TY_INVALID && strstr(err.message, "another metric") != NULL);
  ty_collection_close(mine);
  close_checked(theirs);
  model_metric = "inner_product";
}

/* ---- What cannot be stored ------------------------------------------------------------------------------------------
 */
static void test_too_large(void) {
  static const struct {
    const char *dtype;
    float value;
    const char *message; /* NULL: it can */
  } cases[] = {
      {"f16", 65519.0f, NULL},
      {"f16", 65520.0f,
       "vectors[1][3] is 65520, which f16 cannot hold (65504 at most): scale the vectors or "
       "use dtype f32"},
      {"f16", -70000.0f, "vectors[1][3] is -70000, which f16"},
      {"int8", 0x1.fffffep127f, NULL},
      {"int8", 0x1p-149f, NULL},
      {"int4", 0x1p100f, NULL},
      {"int4", 0x1p-120f, NULL},
      {"int4", 0x1p101f, "vectors[1][3] is 2.5353012e+30, which int4 cannot hold"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    FRESH_DIR(dir);
    static batch b;
    model_dtype = cases[i].dtype;
    ty_collection *c = open_new(env, dir);
    b.n = 0;
    batch_add(&b, 1, 1);
    batch_add(&b, 2, 2);
    for (uint32_t k = 0; k < DIM; k++) b.vectors[DIM + k] = 0;
    b.vectors[DIM + 3] = cases[i].value;
    ty_put_args args = batch_args(&b, TY_ADD);
    CHECK(ty_begin(c, &err) == TY_OK);
    ty_status status = ty_put(c, &args, NULL, &err);
    if (cases[i].message == NULL)
      CHECK_MESSAGE(status == TY_OK && c->delta.live == 2, "case %d: %s", (int)i, err.message);
    else
      CHECK_MESSAGE(status == TY_INVALID && strstr(err.message, cases[i].message) != NULL && c->delta.live == 0,
                    "case %d: %d, %s", (int)i, (int)status, err.message);
    CHECK_MESSAGE(ty_save(c, &err) == TY_OK, "%s", err.message);
    close_checked(c);
    c = open_saved(env, dir);
    close_checked(c);
  }
}

int main(int argc, char **argv) {
  uint64_t seed;
  if (!program_begin(argc, argv, "types-test", 2, &seed, &env)) return 2;
  for (int i = 0; i < 24; i++) {
    set_vertical(env, i >= 12);
    model_dtype = dtypes[i / 3 % 4];
    model_metric = metrics[i % 3];
    test_life(seed + (uint64_t)i);
    test_exact(seed + (uint64_t)i);
  }
  model_dtype = "f32";
  for (int i = 0; i < 12; i++) {
    set_vertical(env, i >= 6);
    model_metric = metrics[i % 3];
    model_codes = i % 6 < 3 ? ALL_CODES : MOST_CODES;
    test_life(seed + (uint64_t)i);
    test_exact(seed + (uint64_t)i);
  }
  set_vertical(env, false);
  model_codes = NO_CODES;
  model_metric = "inner_product";
  test_one_ordinary_row();
  test_without_section();
  test_malformed();
  test_damaged_sparse();
  test_other_type();
  test_metric_of_the_base();
  test_too_large();
  return program_end(env);
}

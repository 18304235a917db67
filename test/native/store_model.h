/* An in-memory model of a collection, and the comparison of a real one with it. A row's content follows from its
 * version; the model keeps that, its birth and its times. */
#pragma once

#include <math.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "rows/vertical.h"
#include "scan/scanner.h"
#include "../../ffi/ty_runtime/state/ids.h"
#include "../../ffi/ty_runtime/state/meanings.h"
#include "validate/validate.h"
#include "check.h"
#include "meaning_encoder.h"
#include "random.h"

#define DIM  20u
#define IDS  40u
#define KEYS 4u /* p0 .. p2, and the empty one */

/* Members of arguments: the true answers of all rows; the text that is asked for; and where the answer goes. */
#define EXACTLY          .column = TY_NO_FILTER, .target_recall = 1
#define TEXT_OF(literal) .text = (const uint8_t *)(literal), .text_bytes = sizeof(literal) - 1
#define ANSWER_IN(room)  .out = (room), .out_capacity = sizeof(room)

typedef struct model {
  uint32_t version[IDS]; /* 0: not live */
  uint64_t birth[IDS];
  ty_times times[IDS];
  uint64_t births;
} model;

/* ---- What the collection is ----------------------------------------------------------------------------------------
 */
/* Of every collection that is made and every comparison, until changed. */
static const char *model_dtype = "f32", *model_metric = "inner_product";

static bool model_is(const char *value) { return strcmp(value, model_dtype) == 0 || strcmp(value, model_metric) == 0; }

/* Which versions have vectors that are a scale times 8-bit codes, as the text embedder's: none, all, or most. */
static enum { NO_CODES, ALL_CODES, MOST_CODES } model_codes;
static bool content_is_codes(uint32_t version) {
  return model_codes == ALL_CODES || (model_codes == MOST_CODES && version % 16 != 5);
}
static bool model_sparse;         /* these have mostly zeros */
static bool model_vertical;       /* see set_vertical */
static bool model_meaning = true; /* random rows get vectors of meaning, some of them */
static bool model_labelled;       /* rows are put with labels, and their texts are not kept */
/* Whether elements of ordinary versions are below 1, and some dimensions smaller than others; else they are up to 50.
 */
static bool model_tilted;
/* A scale of 17 bits. */
static float content_scale(uint32_t version) {
  return (float)ldexp(65536 + version * 7919 % 65536, -20 - (int)(version % 5));
}

/* ---- Content by version ---------------------------------------------------------------------------------------------
 */
static void content_vector(uint32_t version, float *out) {
  if (content_is_codes(version)) {
    for (uint32_t i = 0; i < DIM; i++)
      out[i] = content_scale(version) * (float)((int)((version * 31 + i * 17) % 255) - 127);
    for (uint32_t i = 0; i < DIM && model_sparse; i++) out[i] = (version + i) % 3 == 0 ? out[i] : 0;
    out[version % DIM] = content_scale(version) * (version % 2 ? 127.0f : -127.0f);
    return;
  }
  for (uint32_t i = 0; i < DIM; i++) {
    out[i] = (float)((version * 31 + i * 17) % 101) - 50.0f;
    if (model_tilted) out[i] *= (float)(1 + i % 7) / 400;
  }
}
static size_t content_id(uint32_t id, char *out) {
  return (size_t)sprintf(out, id % 7 == 3 ? "a-much-longer-identifier-for-this-row-number-%u" : "k%u", id);
}
static size_t content_meta(uint32_t version, char *out) {
  if (version % 5 == 0) return 0;
  if (version % 5 == 1) return (size_t)sprintf(out, "{\"session\":%u,\"turn\":%u}", version % 3, version);
  return (size_t)sprintf(out, "{\"v\":%u}", version);
}
static size_t content_text(uint32_t version, char *out) {
  return (size_t)sprintf(out, "the text of version %u with words", version);
}
static size_t content_labels(uint32_t version, char *out) {
  return version % 3 == 0 ? 0 : 1 + (size_t)sprintf(out, "l%u%cL", version % 6, 0);
}
static size_t content_key(uint32_t version, char *out) {
  return version % KEYS == 3 ? 0 : (size_t)sprintf(out, "p%u", version % KEYS);
}

/* The vector as it is stored, and comes back. */
static void stored_vector(uint32_t version, float *out) {
  const ame_kernel *k = ame_kernel_table();
  uint16_t halves[DIM];
  int8_t codes[AME_CODE_STRIDE(DIM)];
  uint8_t packed[AME_I4_BYTES(DIM)];
  ame_code_info info;
  ame_i4_info levels;
  content_vector(version, out);
  if (model_is("cosine")) k->normalize(out, 1, DIM);
  if (model_is("f16")) {
    k->f32_to_f16(out, DIM, halves);
    k->f16_to_f32(halves, DIM, out);
  } else if (model_is("int8")) {
    k->quantize_i8(out, 1, DIM, codes, &info);
    int64_t squares = 0;
    for (uint32_t i = 0; i < DIM; i++) squares += (int64_t)codes[i] * codes[i];
    if (model_is("cosine") && squares > 0) info.scale = (float)(1 / sqrt((double)squares));
    for (uint32_t i = 0; i < DIM; i++) out[i] = info.scale * (float)codes[i];
  } else if (model_is("int4")) {
    k->quantize_i4(out, 1, DIM, packed, &levels);
    k->dequantize_i4(packed, &levels, DIM, out);
    double length = 0;
    for (uint32_t i = 0; i < DIM; i++) length += (double)out[i] * (double)out[i];
    if (model_is("cosine") && length > 0) {
      levels.scale = (float)((double)levels.scale / sqrt(length));
      levels.offset = (float)((double)levels.offset / sqrt(length));
      k->dequantize_i4(packed, &levels, DIM, out);
    }
  }
}

static size_t test_schema(char *out, size_t room) {
  return (size_t)snprintf(out, room,
                          "{\"name\":\"notes\",\"dim\":20,\"dtype\":\"%s\",\"key_name\":\"scope\",\"filter_columns\":["
                          "\"scope\",\"kind\"],\"telys_version\":\"1.0.0\","
                          "\"default_target_recall\":1.0,\"applied_tuner\":null,\"lexical\":true,\"embedder_profile\":{"
                          "\"provider\":\"%s\",\"distance\":\"%s\"}}",
                          model_dtype, model_vertical ? "svc" : "other", model_metric);
}

/* The clock of the environments here. It stands still until `tick`, which may set it back. */
static uint64_t model_clock = 1000000;
static uint64_t model_now(ty_os *os) {
  (void)os;
  return model_clock;
}
static void tick(void) {
  uint64_t by = rng() % 1000;
  if (rng() % 40 == 0) by <<= 23; /* years */
  if (rng() % 5 == 0 && model_clock > 1000000 + by) model_clock -= by;
  else model_clock += by;
}

/* ---- Arguments ------------------------------------------------------------------------------------------------------
 */
typedef struct batch {
  uint32_t n;
  float vectors[IDS * DIM];
  char ids[IDS * 64], metas[IDS * 32], texts[IDS * 64], keys[IDS * 16], labels[IDS * 8];
  uint64_t id_ends[IDS], meta_ends[IDS], text_ends[IDS], key_ends[IDS * 2], label_ends[IDS];
} batch;

static uint32_t next_version = 1;

static void batch_add(batch *b, uint32_t id, uint32_t version) {
  uint32_t n = b->n++;
  content_vector(version, b->vectors + n * DIM);
  uint64_t at = n ? b->id_ends[n - 1] : 0;
  b->id_ends[n] = at + content_id(id, b->ids + at);
  at = n ? b->meta_ends[n - 1] : 0;
  b->meta_ends[n] = at + content_meta(version, b->metas + at);
  at = n ? b->text_ends[n - 1] : 0;
  b->text_ends[n] = at + content_text(version, b->texts + at);
  at = n ? b->label_ends[n - 1] : 0;
  b->label_ends[n] = at + content_labels(version, b->labels + at);
  at = n ? b->key_ends[2 * n - 1] : 0;
  b->key_ends[2 * n] = at + content_key(version, b->keys + at);
  at = b->key_ends[2 * n];
  b->key_ends[2 * n + 1] = at + (size_t)sprintf(b->keys + at, "k%u", version % 2);
}

static ty_put_args batch_args(batch *b, uint64_t mode) {
  return (ty_put_args){.n = b->n,
                       .mode = mode,
                       .flags = model_labelled ? TY_PUT_DROP_TEXT : 0,
                       .labels = model_labelled ? (uint8_t *)b->labels : NULL,
                       .label_ends = model_labelled ? b->label_ends : NULL,
                       .vectors = b->vectors,
                       .ids = (uint8_t *)b->ids,
                       .id_ends = b->id_ends,
                       .metas = (uint8_t *)b->metas,
                       .meta_ends = b->meta_ends,
                       .texts = (uint8_t *)b->texts,
                       .text_ends = b->text_ends,
                       .keys = (uint8_t *)b->keys,
                       .key_ends = b->key_ends};
}

static void model_put(model *m, uint32_t id, uint32_t version) {
  if (m->version[id] == 0) m->birth[id] = ++m->births, m->times[id].created = model_clock;
  m->times[id].updated = model_clock > m->times[id].created ? model_clock : m->times[id].created;
  m->version[id] = version;
}

/* A few random changes to both. */
static inline void random_changes(ty_collection *c, model *m, uint32_t most) {
  ty_error err;
  for (uint64_t step = 1 + rng() % 3; step > 0; step--) {
    static batch b;
    b.n = 0;
    uint32_t n = 1 + (uint32_t)(rng() % most);
    bool seen[IDS] = {false};
    if (rng() % 3 == 0) { /* delete, unknown ids among them */
      uint64_t expected = 0;
      for (uint32_t i = 0; i < n; i++) {
        uint32_t id = (uint32_t)(rng() % IDS);
        batch_add(&b, id, 1);
        expected += m->version[id] != 0;
        m->version[id] = 0;
      }
      ty_delete_args args = {.n = n, .ids = (uint8_t *)b.ids, .id_ends = b.id_ends};
      CHECK(ty_delete(c, &args, &err) == TY_OK);
      CHECK(args.removed == expected);
      continue;
    }
    tick();
    uint64_t inserted = 0, replaced = 0;
    for (uint32_t i = 0; i < n; i++) {
      uint32_t id = (uint32_t)(rng() % IDS), version = next_version++;
      batch_add(&b, id, version);
      if (!seen[id]) inserted += m->version[id] == 0, replaced += m->version[id] != 0;
      seen[id] = true;
      model_put(m, id, version);
    }
    ty_put_args args = batch_args(&b, TY_UPSERT);
    if (model_meaning && next_version % 2) args.flags |= TY_PUT_MEANING;
    CHECK_MESSAGE(ty_put(c, &args, NULL, &err) == TY_OK, "put: %s", err.message);
    CHECK(args.inserted == inserted && args.replaced == replaced);
  }
}

/* ---- Comparison: 1 where the collection is the model, whole ---------------------------------------------------------
 */
static uint8_t answer[1 << 20] __attribute__((aligned(8)));

static uint64_t padded(uint64_t n) { return (n + 7) & ~(uint64_t)7; }

static int row_equal(const uint8_t *at, const model *m, uint32_t id, uint64_t *length) {
  uint32_t version = m->version[id];
  ty_record r;
  char want[64];
  float vector[DIM];
  memcpy(&r, at, sizeof r);
  const uint8_t *p = at + sizeof r;
  int same = r.found == 1 && r.id_bytes == content_id(id, want) && memcmp(p, want, r.id_bytes) == 0;
  p += padded(r.id_bytes);
  size_t n = content_meta(version, want);
  same &= n == 0 ? r.meta_bytes == TY_ABSENT : r.meta_bytes == n && memcmp(p, want, n) == 0;
  p += r.meta_bytes == TY_ABSENT ? 0 : padded(r.meta_bytes);
  n = content_text(version, want);
  same &= model_labelled ? r.text_bytes == TY_ABSENT : r.text_bytes == n && memcmp(p, want, n) == 0;
  p += r.text_bytes == TY_ABSENT ? 0 : padded(r.text_bytes);
  stored_vector(version, vector);
  same &= r.vector_bytes == sizeof vector && memcmp(p, vector, sizeof vector) == 0;
  p += padded(r.vector_bytes);
  same &= r.extra_bytes == sizeof(ty_times) && memcmp(p, &m->times[id], sizeof(ty_times)) == 0;
  *length = (uint64_t)(p + r.extra_bytes - at);
  return same;
}

static void model_query(float *out) {
  for (uint32_t i = 0; i < DIM; i++) out[i] = (float)(i * 7 % 11) - 4.5f;
}

static float model_score(const float *query, uint32_t version) {
  const ame_kernel *k = ame_kernel_table();
  float row[DIM], score;
  float asked[DIM];
  memcpy(asked, query, sizeof asked);
  if (model_is("cosine")) k->normalize(asked, 1, DIM);
  stored_vector(version, row);
  if (model_is("l2")) k->sq_l2(asked, row, 1, DIM, &score);
  else k->dot_f32(asked, row, 1, DIM, &score);
  if (model_is("cosine")) score = score > 1 ? 1 : score < -1 ? -1 : score;
  return model_is("l2") ? 0 - score : score;
}

/* The best rows are those of a look at every one, with the same bits. Rows of one score may stand in any order here. */
static int search_equal(ty_collection *c, const model *m) {
  ty_error err;
  float query[DIM], scores[IDS];
  uint32_t live = 0;
  model_query(query);
  for (uint32_t i = 0; i < IDS; i++) {
    if (m->version[i] == 0) continue;
    float score = model_score(query, m->version[i]);
    uint32_t at = live++;
    for (; at > 0 && scores[at - 1] < score; at--) scores[at] = scores[at - 1];
    scores[at] = score;
  }
  ty_ask_args search = {.by = TY_BY_VECTOR, .vector = query, .top_k = 7, EXACTLY, ANSWER_IN(answer)};
  if (ty_ask(c, &search, &err) != TY_OK || search.out_count != (live < 7 ? live : 7)) return 0;
  uint64_t at = 0;
  for (uint32_t i = 0; i < search.out_count; i++) {
    ty_record r;
    memcpy(&r, answer + at, sizeof r);
    if ((float)r.score != scores[i]) return 0;
    at += sizeof r + padded(r.id_bytes);
  }
  return 1;
}

/* Whether the collection's invariants hold; what does not is said, unless the files were damaged on purpose. */
static bool model_damaged;
static int whole(ty_collection *c) {
  ty_error err;
  if (ty_validate(c, &err) == TY_OK) return 1;
  if (!model_damaged) fprintf(stderr, "%s\n", err.message);
  return 0;
}

/* How a test ends with a collection: with the complete check. */
#define close_checked(c) close_at(c, __FILE__, __LINE__)
static inline void close_at(ty_collection *c, const char *file, int line) {
  ty_error err;
  if (c != NULL) check_at(ty_verify(c, NULL, &err) == TY_OK, file, line, "at the end: %s", err.message);
  ty_collection_close(c);
}

/* Whether every vector of meaning is that of its row's text. With `has`: exactly these rows have one. */
static int vectors_equal(ty_collection *c, const model *m, const bool has[IDS]) {
  ty_error err;
  char id[64], text[64];
  if (ty_enter(c, &err) != TY_OK) return 0;
  const ty_meaning_view view = ty_meaning_view_of(c);
  int same = 1;
  for (uint32_t i = 0; i < IDS && same; i++) {
    ty_ref row;
    bool found;
    if (m->version[i] == 0) continue;
    same = ty_find(c, (ty_slice){(uint8_t *)id, content_id(i, id)}, &row, &found, &err) == TY_OK && found;
    const ame_encoding *vector = same ? ty_meaning_of(&view, ty_place_of(c, row)) : NULL;
    const ame_encoding want = stand_in_vector(text, content_text(m->version[i], text));
    if (vector != NULL) same &= memcmp(vector, &want, sizeof want) == 0;
    if (has != NULL) same &= has[i] == (vector != NULL);
  }
  return ty_leave(c, TY_OK, &err) == TY_OK && same;
}

static int model_equal(ty_collection *c, const model *m) {
  ty_error err;
  uint32_t order[IDS], live = 0;
  for (uint32_t i = 0; i < IDS; i++) {
    if (m->version[i] == 0) continue;
    uint32_t at = live++;
    for (; at > 0 && m->birth[order[at - 1]] > m->birth[i]; at--) order[at] = order[at - 1];
    order[at] = i;
  }
  ty_ids_args ids = {.column = TY_NO_FILTER,
                     .what = TY_WITH_META | TY_WITH_TEXT | TY_WITH_VECTOR | TY_WITH_TIMES,
                     .out = answer,
                     .out_capacity = sizeof answer};
  if (ty_ids(c, &ids, &err) != TY_OK || ids.out_count != live) return 0;
  uint64_t at = 0, length;
  for (uint32_t i = 0; i < live; i++, at += length) {
    if (!row_equal(answer + at, m, order[i], &length)) return 0;
  }
  if (at != ids.out_bytes) return 0;
  for (uint32_t k = 0; k < KEYS; k++) {
    char key[16];
    uint64_t want = 0;
    for (uint32_t i = 0; i < IDS; i++) want += m->version[i] != 0 && m->version[i] % KEYS == k && k != 3;
    ty_count_args count = {.column = 0, .key = (uint8_t *)key, .key_bytes = content_key(k, key)};
    if (ty_count(c, &count, &err) != TY_OK || count.count != want) return 0;
  }
  uint32_t parts = 0;
  for (uint32_t k = 0; k < KEYS; k++) {
    bool held = false;
    for (uint32_t i = 0; i < IDS; i++) held |= m->version[i] != 0 && m->version[i] % KEYS == k;
    parts += held;
  }
  ty_stats_args stats;
  if (ty_stats(c, &stats, &err) != TY_OK || stats.values[TY_STAT_PARTITIONS] != parts) return 0;
  for (uint32_t k = 0; k < 2; k++) {
    uint64_t want = 0;
    for (uint32_t i = 0; i < IDS; i++) want += m->version[i] != 0 && m->version[i] % 2 == k;
    ty_count_args count = {.column = 1, .key = (const uint8_t *)(k == 0 ? "k0" : "k1"), .key_bytes = 2};
    if (ty_count(c, &count, &err) != TY_OK || count.count != want) return 0;
  }
  char id[64];
  for (uint32_t i = 0; i < IDS; i++) {
    uint64_t end = content_id(i, id);
    ty_get_args get = {.n = 1, .ids = (uint8_t *)id, .id_ends = &end, .what = ids.what, ANSWER_IN(answer)};
    ty_record r;
    if (ty_get(c, &get, &err) != TY_OK) return 0;
    memcpy(&r, answer, sizeof r);
    if (m->version[i] == 0 ? r.found != 0 || r.extra_bytes != 0 : !row_equal(answer, m, i, &length)) return 0;
  }
  return search_equal(c, m) && vectors_equal(c, m, NULL) && whole(c);
}

/* ---- Directories and files ------------------------------------------------------------------------------------------
 */
static char root[256];
static void fresh_dir(char out[320]) {
  static int counter;
  snprintf(out, 320, "%s/c%d", root, counter++);
}
#define FRESH_DIR(name)                                                                                                \
  char name[320];                                                                                                      \
  fresh_dir(name)
static void remove_tree(const char *dir) {
  DIR *d = opendir(dir);
  struct dirent *e;
  char path[640];
  while (d != NULL && (e = readdir(d)) != NULL) {
    if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
    snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
    if (unlink(path) != 0) remove_tree(path);
  }
  if (d != NULL) closedir(d);
  rmdir(dir);
}

/* With a second argument `spill` nearly all that grows with the rows is in files, however little it is. */
/* Rows of collections made from now on are vertical where their metric and dtype allow it, however few and dense. */
static inline void set_vertical(ty_env *env, bool on) {
  model_vertical = on;
  env->vertical_least = on ? 1 : TY_VERTICAL_LEAST;
  env->parted_least = on ? 0 : TY_PARTED_LEAST;
  env->expected_least = on ? 0 : TY_EXPECTED_LEAST;
  env->vertical_density = on ? 1 : TY_VERTICAL_DENSITY;
}

/* Runs a test with each dtype and metric: rows that are codes and rows that are not, sparse ones, side by side and
 * vertical. */
static uint32_t stride;
static inline void each_kind(ty_env *env, uint64_t seed, int amount, void (*run)(uint64_t seed, int amount)) {
  static const char *const dtypes[] = {"f32", "f16", "int8", "int4"}, *const metrics[] = {"inner_product", "cosine",
                                                                                          "l2"};
  for (uint32_t i = 0; i < 24; i += stride) {
    model_dtype = dtypes[i % 4];
    model_metric = metrics[i / 4 % 3];
    model_codes = i % 8 < 4 ? NO_CODES : i % 3 == 0 ? ALL_CODES : MOST_CODES;
    model_sparse = i % 2 == 0;
    set_vertical(env, i >= 12 && i / 4 % 3 < 2);
    run(seed + i, amount);
  }
  model_dtype = "f32";
  model_metric = "inner_product";
  model_codes = NO_CODES;
  model_sparse = false;
  set_vertical(env, false);
}

static uint64_t spill_from = TY_SPILL_FROM;
/* Loops over many cases take each stride-th: all, or with `few` every fifth. `npm run test:native` takes all. */
static uint32_t stride = 1;
static int env_open(uint32_t threads, ty_env **env) {
  ty_error err;
  if (ty_env_open(stand_in_kernel(), threads, env, &err) != TY_OK) return 0;
  if (ty_env_model(*env, meaning_models[meaning_model], MEANING_MODEL_BYTES, &err) != TY_OK) return 0;
  (*env)->spill_from = spill_from;
  if (spill_from < TY_SPILL_FROM) (*env)->run_memory = (*env)->run_chunk = 2000, (*env)->rewrite_resident = 0;
  (*env)->spill_leave = 0;
  (*env)->coded_from = 1;
  (*env)->os.now = model_now;
  return 1;
}

/* What a program of these tests begins with: its seed, the first argument or a new one (-), printed; a directory; an
 * environment. False: it cannot run here. */
static int program_begin(int argc, char **argv, const char *name, uint32_t threads, uint64_t *seed, ty_env **env) {
  const char *temporary = getenv("TMPDIR");
  if (argc > 2 && strcmp(argv[2], "spill") == 0) spill_from = 1000;
  if (argc > 3 && strcmp(argv[3], "few") == 0) stride = 5;
  *seed = argc > 1 && strcmp(argv[1], "-") != 0 ? strtoull(argv[1], NULL, 10) : (uint64_t)getpid() * 7919;
  printf("seed %llu\n", (unsigned long long)*seed);
  snprintf(root, sizeof root, "%s/%s-XXXXXX", temporary != NULL ? temporary : "/tmp", name);
  return mkdtemp(root) != NULL && env_open(threads, env);
}

/* And ends with: the directory is removed where nothing failed. Returns its exit status. */
static int program_end(ty_env *env) {
  ty_env_close(env);
  if (check_failed == 0) remove_tree(root);
  else printf("left for inspection: %s\n", root);
  return check_report();
}

static inline ty_collection *open_new(ty_env *env, const char *dir) {
  ty_error err;
  ty_collection *c = NULL;
  char schema[512];
  size_t bytes = test_schema(schema, sizeof schema);
  CHECK(ty_collection_new(env, dir, (const uint8_t *)schema, bytes, &c, &err) == TY_OK);
  return c;
}
static ty_collection *open_saved(ty_env *env, const char *dir) {
  ty_error err;
  ty_collection *c = NULL;
  CHECK_MESSAGE(ty_collection_open(env, dir, &c, &err) == TY_OK, "open: %s", err.message);
  return c;
}
/* Opens again and compares. */
static inline int saved_equal(ty_env *env, const char *dir, const model *m) {
  ty_collection *c = open_saved(env, dir);
  int same = c != NULL && model_equal(c, m);
  ty_collection_close(c); /* after a failed save id_map.npy, which is never read, may be older */
  return same;
}
/* Begins a change and puts n rows of ascending ids and versions. */
static inline void put_versions(ty_collection *c, model *m, uint32_t first, uint32_t n, uint32_t version) {
  static batch b;
  ty_error err;
  b.n = 0;
  tick();
  for (uint32_t i = 0; i < n; i++) batch_add(&b, first + i, version + i), model_put(m, first + i, version + i);
  ty_put_args args = batch_args(&b, TY_UPSERT);
  CHECK(ty_begin(c, &err) == TY_OK && ty_put(c, &args, NULL, &err) == TY_OK);
}

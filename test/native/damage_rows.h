/* The collection of damage_test.c, what is asked of it, and whether answers are as those of the undamaged one. */
#pragma once

#include "slab_sums.h"
#include "store_model.h"

enum { ROWS = 1500, WIDTH = 64, PARTS = 3, QUESTIONS = 6, WEIGHTED_FROM = 4 };
/* Every tenth row is deleted after the base was written. */
static bool is_dead(uint32_t row) { return row % 10 == 3; }

static ty_error err;
static bool with_texts;

/* Kinds of collections, and which of them is made next. */
static const struct damage_kind {
  const char *dtype, *metric;
  bool codes, lines;
} damage_kinds[] = {{"f32", "inner_product", false, false},  {"f32", "l2", true, false},
                    {"f16", "cosine", false, false},         {"int8", "inner_product", true, false},
                    {"int4", "inner_product", false, false}, {"f32", "inner_product", true, true},
                    {"int8", "cosine", true, true},          {"int4", "inner_product", true, true}};
static void set_kind(ty_env *env, const struct damage_kind *kind, bool texts) {
  model_dtype = kind->dtype;
  model_metric = kind->metric;
  model_codes = kind->codes ? ALL_CODES : NO_CODES;
  with_texts = texts;
  set_vertical(env, kind->lines);
}
static uint8_t room[4 << 20] __attribute__((aligned(8)));

static uint64_t hash_of(uint64_t x) {
  x = (x ^ x >> 31) * 0xbf58476d1ce4e5b9u;
  return x ^ x >> 29;
}

/* A multiple of 2^-7 by a code, of which one is the largest: f32 rows are their codes then. */
static void row_vector(uint32_t row, float *out) {
  for (uint32_t d = 0; d < WIDTH; d++) {
    int code = (int)(hash_of(row * 1000003ull + d * 7919) % 255) - 127;
    out[d] = model_codes == ALL_CODES ? (float)code / 128 : (float)code / 100 + (float)(row % 7) / 1000;
  }
  out[row % WIDTH] = model_codes == ALL_CODES ? 127.0f / 128 : 1.27f;
}

/* Distinct bytes, which packed strings cannot share. */
static size_t row_meta(uint32_t row, char *out) {
  size_t n = (size_t)sprintf(out, "{\"m\":\"");
  for (uint32_t i = 0; i < 6; i++)
    n += (size_t)sprintf(out + n, "%016llx", (unsigned long long)hash_of(row * 31ull + i * 977));
  return n + (size_t)sprintf(out + n, "\"}");
}
static size_t row_text(uint32_t row, char *out) {
  size_t n = 0;
  for (uint32_t i = 0; i < 9; i++)
    n += (size_t)sprintf(out + n, "%llx ", (unsigned long long)hash_of(row * 131ull + i * 5077));
  return n;
}

/* How much older than the clock ids are that rows are added for. */
static uint64_t rows_older;

static void put_rows(ty_collection *c, uint32_t first, uint32_t n, uint64_t mode) {
  static float vectors[ROWS * WIDTH];
  static uint8_t ids[ROWS * 8], metas[ROWS * 128], texts[ROWS * 192], keys[ROWS * 8];
  static uint64_t id_ends[ROWS], meta_ends[ROWS], text_ends[ROWS], key_ends[2 * ROWS], created[ROWS], updated[ROWS];
  uint64_t at[4] = {0};
  for (uint32_t i = 0; i < n; i++) {
    const uint32_t row = first + i;
    row_vector(row, vectors + i * WIDTH);
    created[i] = model_clock - rows_older;
    updated[i] = model_clock;
    id_ends[i] = at[0] += (uint64_t)sprintf((char *)ids + at[0], "r%u", row);
    meta_ends[i] = at[1] += row_meta(row, (char *)metas + at[1]);
    text_ends[i] = at[2] += row_text(row, (char *)texts + at[2]);
    key_ends[2 * i] = at[3] += (uint64_t)sprintf((char *)keys + at[3], "p%u", row % PARTS);
    key_ends[2 * i + 1] = at[3] += (uint64_t)sprintf((char *)keys + at[3], "k%u", row % 5);
  }
  ty_put_args put = {.n = n,
                     .mode = mode,
                     .vectors = vectors,
                     .ids = ids,
                     .id_ends = id_ends,
                     .metas = metas,
                     .meta_ends = meta_ends,
                     .texts = with_texts ? texts : NULL,
                     .text_ends = with_texts ? text_ends : NULL,
                     .keys = keys,
                     .key_ends = key_ends,
                     .created = rows_older > 0 ? created : NULL,
                     .updated = rows_older > 0 ? updated : NULL};
  CHECK(ty_begin(c, &err) == TY_OK);
  CHECK_MESSAGE(ty_put(c, &put, NULL, &err) == TY_OK && ty_save(c, &err) == TY_OK, "%s", err.message);
}

static ty_collection *make_rows(ty_env *env, const char *dir) {
  char schema[512];
  ty_collection *c = NULL;
  int n = snprintf(schema, sizeof schema,
                   "{\"name\":\"rows\",\"dim\":%d,\"dtype\":\"%s\",\"key_name\":\"part\",\"filter_columns\":[\"part\","
                   "\"kind\"],\"telys_version\":\"1.0.0\",\"default_target_recall\":1.0,\"applied_tuner\":null,"
                   "\"lexical\":false,\"embedder_profile\":{\"provider\":\"%s\",\"distance\":\"%s\"}}",
                   WIDTH, model_dtype, model_vertical ? "svc" : "vectors", model_metric);
  CHECK(ty_collection_new(env, dir, (const uint8_t *)schema, (uint64_t)n, &c, &err) == TY_OK);
  put_rows(c, 0, ROWS, TY_ADD);
  CHECK(ty_begin(c, &err) == TY_OK);
  for (uint32_t i = 0; i < ROWS; i++) {
    char id[16];
    uint64_t end = (uint64_t)sprintf(id, "r%u", i);
    ty_delete_args gone = {.n = 1, .ids = (uint8_t *)id, .id_ends = &end};
    if (is_dead(i)) CHECK(ty_delete(c, &gone, &err) == TY_OK && gone.removed == 1);
  }
  CHECK_MESSAGE(ty_save(c, &err) == TY_OK, "%s", err.message);
  return c;
}

/* ---- Questions ------------------------------------------------------------------------------------------------------
 */
typedef struct hit {
  uint32_t row;
  double score;
} hit;
typedef struct hits {
  ty_status status;
  uint64_t count, trouble;
  hit of[ROWS];
} hits;

/* All rows; the first ones; of a value; in a partition; weighted; weighted in a partition. */
static void ask_rows(ty_collection *c, uint32_t which, hits *out) {
  float query[WIDTH];
  for (uint32_t d = 0; d < WIDTH; d++) query[d] = (float)(hash_of(77 + d) % 200) / 100 - 1;
  if (which == 1) memset(query + 1, 0, sizeof query - sizeof *query);
  bool weighs = strcmp(model_metric, "inner_product") == 0 && which >= WEIGHTED_FROM;
  ty_ask_args ask = {.by = TY_BY_VECTOR,
                     .vector = query,
                     .top_k = which == 0 || which == 3 ? ROWS : 20,
                     .column = which == 2                 ? 1
                               : which == 3 || which == 5 ? 0
                                                          : TY_NO_FILTER,
                     .key = (const uint8_t *)(which == 2 ? "k1" : "p1"),
                     .key_bytes = 2,
                     .target_recall = 1,
                     .weighted = weighs,
                     ANSWER_IN(room)};
  out->status = ty_ask(c, &ask, &err);
  out->trouble = ask.trouble;
  out->count = out->status == TY_OK ? ask.out_count : 0;
  const uint8_t *at = room;
  for (uint64_t i = 0; i < out->count; i++) {
    ty_record r;
    memcpy(&r, at, sizeof r);
    out->of[i] = (hit){(uint32_t)strtoul((const char *)at + sizeof r + 1, NULL, 10), r.score};
    at += sizeof r + padded(r.id_bytes);
  }
}

/* Gets a row with all its parts. TY_OK only where all are as they were put. */
static inline ty_status get_row(ty_collection *c, uint32_t row) {
  char id[16], text[256];
  uint64_t end = (uint64_t)sprintf(id, "r%u", row);
  ty_get_args get = {
      .n = 1, .ids = (uint8_t *)id, .id_ends = &end, .what = TY_WITH_META | TY_WITH_TEXT, ANSWER_IN(room)};
  ty_status status = ty_get(c, &get, &err);
  if (status != TY_OK) return status;
  ty_record r;
  memcpy(&r, room, sizeof r);
  const uint8_t *at = room + sizeof r + padded(r.id_bytes);
  size_t n = row_meta(row, text);
  bool same = r.found == 1 && r.meta_bytes == n && memcmp(at, text, n) == 0;
  at += padded(r.meta_bytes);
  n = row_text(row, text);
  same = same && (with_texts ? r.text_bytes == n && memcmp(at, text, n) == 0 : r.text_bytes == TY_ABSENT);
  CHECK_MESSAGE(same, "row %u comes back as another", row);
  return TY_OK;
}

/* Whether a row of the base lies in a damaged place that is known. */
static bool is_known_damaged(const ty_collection *c, uint32_t row) {
  static ty_damage found[TY_DAMAGES_KEPT];
  uint64_t n = ty_damage_copy(c, found, TY_DAMAGES_KEPT), at = 0;
  char id[16];
  size_t bytes = (size_t)sprintf(id, "r%u", row);
  ty_unpack u;
  ty_unpack_init(&u);
  for (; at < c->base.count; at++) {
    ty_slice own = ty_row_id(&c->base, at, &u);
    if (own.bytes == bytes && memcmp(own.data, id, bytes) == 0) break;
  }
  for (uint64_t i = 0; i < n; i++) {
    if (at >= found[i].first && at - found[i].first < found[i].rows) return true;
    if (found[i].section == TY_SECTION_INFO || found[i].section == TY_SECTION_LEVELS) return true;
  }
  return false;
}

/* An answer is the true one, or lacks rows of damaged places that have texts and says so, or is an error that names
 * rows without a text. Weights lack damaged rows without a text too: where the query is zero in the damaged dimension,
 * its search never reads that run, and only the weights do. */
static inline void check_hits(ty_collection *c, const hits *truth, uint32_t which, bool rows_may_be_lost,
                              const char *what) {
  static hits got;
  ask_rows(c, which, &got);
  if (got.status != TY_OK) {
    CHECK_MESSAGE(got.status == TY_CORRUPT && rows_may_be_lost && !with_texts && strstr(err.message, "base-") != NULL &&
                      strstr(err.message, "rows 'r") != NULL,
                  "%s, question %u: %s", what, which, err.message);
    return;
  }
  bool lacks = (got.trouble & TY_TROUBLE_ROWS) != 0;
  CHECK_MESSAGE(!lacks || (rows_may_be_lost && (with_texts || which >= WEIGHTED_FROM)), "%s, question %u lacks rows",
                what, which);
  uint64_t at = 0;
  for (uint64_t i = 0; i < got.count; i++) CHECK_MESSAGE(!is_dead(got.of[i].row), "%s: a dead row", what);
  if (lacks && which >= WEIGHTED_FROM) return; /* the weights lack these rows too */
  for (uint64_t i = 0; i < truth->count && at < got.count; i++) {
    bool same = got.of[at].row == truth->of[i].row && got.of[at].score == truth->of[i].score;
    at += same;
    if (same || (lacks && is_known_damaged(c, truth->of[i].row))) continue;
    CHECK_MESSAGE(false, "%s, question %u: place %llu is row %u, not %u", what, which, (unsigned long long)at,
                  got.of[at].row, truth->of[i].row);
    return;
  }
  CHECK_MESSAGE(lacks || (at == truth->count && got.count == truth->count), "%s, question %u: %llu of %llu rows", what,
                which, (unsigned long long)got.count, (unsigned long long)truth->count);
}

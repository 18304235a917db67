/* A collection of lines_test.c beside a list of its rows, and its answers beside those of a look at every row: the same
 * rows in the same order, with the same scores to the bit. */
#pragma once

#include "../../ffi/ty_runtime/rows/weights.h"
#include "lines_rows.h"

static ty_error err;

typedef struct line_row {
  bool live;
  uint64_t birth;
} line_row;
static line_row rows[MOST_ROWS];
static uint32_t row_count, births;
static float *stored; /* of each row as the delta keeps it, MOST_ROWS x dim or fewer */

static const char *part_of(uint32_t id) { return id % 53 == 7 ? "few" : id % 4 == 1 ? "some" : "most"; }
static const char *kind_of(uint32_t id) { return id % 37 == 5 ? "folder/few" : "folder/most"; }

static ty_collection *lines_new(ty_env *env, const char *dir) {
  char schema[512];
  ty_collection *c = NULL;
  int bytes = snprintf(schema, sizeof schema,
                       "{\"name\":\"lines\",\"dim\":%u,\"dtype\":\"%s\",\"key_name\":\"part\",\"filter_columns\":"
                       "[\"part\",\"kind\",\"whole\"],\"telys_version\":\"1.0.0\",\"default_target_recall\":1.0,"
                       "\"applied_tuner\":null,\"lexical\":false,\"embedder_profile\":{\"provider\":\"svc\","
                       "\"distance\":\"%s\"}}",
                       shape.dim, model_dtype, model_metric);
  CHECK(ty_collection_new(env, dir, (const uint8_t *)schema, (uint64_t)bytes, &c, &err) == TY_OK);
  memset(rows, 0, sizeof rows);
  row_count = births = 0;
  return c;
}

/* Puts n rows with the ids from `first` on and remembers how they are stored. */
static void put_lines(ty_collection *c, uint32_t first, uint32_t n, const float *vectors) {
  static uint8_t ids[MOST_ROWS * 8], keys[MOST_ROWS * 24];
  static uint64_t id_ends[MOST_ROWS], key_ends[MOST_ROWS * 3];
  static uint8_t out[1 << 19] __attribute__((aligned(8)));
  uint64_t at = 0, key_at = 0;
  for (uint32_t i = 0; i < n; i++) {
    const char *values[] = {part_of(first + i), kind_of(first + i), "all"};
    id_ends[i] = at += (uint64_t)sprintf((char *)ids + at, "%u", first + i);
    for (uint32_t k = 0; k < 3; k++)
      key_ends[i * 3 + k] = key_at += (uint64_t)sprintf((char *)keys + key_at, "%s", values[k]);
  }
  ty_put_args put = {.n = n,
                     .mode = TY_UPSERT,
                     .vectors = vectors,
                     .ids = ids,
                     .id_ends = id_ends,
                     .keys = keys,
                     .key_ends = key_ends};
  if (!CHECK_MESSAGE(ty_put(c, &put, NULL, &err) == TY_OK, "put: %s", err.message)) return;
  for (uint32_t i = 0; i < n; i++) {
    line_row *row = &rows[first + i];
    uint64_t from = i == 0 ? 0 : id_ends[i - 1], end = id_ends[i] - from;
    ty_get_args get = {.n = 1, .ids = ids + from, .id_ends = &end, .what = TY_WITH_VECTOR, ANSWER_IN(out)};
    ty_record r = {0};
    CHECK(ty_get(c, &get, &err) == TY_OK);
    memcpy(&r, out, sizeof r);
    float *kept = stored + (uint64_t)(first + i) * shape.dim;
    if (CHECK(r.found && r.vector_bytes == shape.dim * sizeof *kept))
      memcpy(kept, out + sizeof r + padded(r.id_bytes), r.vector_bytes);
    if (is_f32() && strcmp(model_metric, "cosine") != 0)
      CHECK_MESSAGE(memcmp(kept, vectors + (uint64_t)i * shape.dim, r.vector_bytes) == 0, "row %u is another",
                    first + i);
    if (!row->live) row->birth = ++births;
    row->live = true;
  }
  if (row_count < first + n) row_count = first + n;
}

/* A row's record and its vector, until the next call. */
static const uint8_t *vector_of(ty_collection *c, uint32_t id, ty_record *r) {
  static uint8_t out[1 << 19] __attribute__((aligned(8)));
  char text[16];
  uint64_t end = (uint64_t)sprintf(text, "%u", id);
  ty_get_args get = {.n = 1, .ids = (const uint8_t *)text, .id_ends = &end, .what = TY_WITH_VECTOR, ANSWER_IN(out)};
  CHECK(ty_get(c, &get, &err) == TY_OK);
  memcpy(r, out, sizeof *r);
  return out + sizeof *r + padded(r->id_bytes);
}

/* Every live row is decoded to the same bits as when it was put. */
static void decoded_equal(ty_collection *c) {
  for (uint32_t id = 0; id < row_count; id++) {
    ty_record r;
    const uint8_t *vector = vector_of(c, id, &r);
    if (!CHECK((r.found != 0) == rows[id].live) || !rows[id].live) continue;
    CHECK_MESSAGE(memcmp(vector, stored + (uint64_t)id * shape.dim, r.vector_bytes) == 0,
                  "row %u comes back as another", id);
  }
}

/* ---- The truth ------------------------------------------------------------------------------------------------------
 */
typedef struct truth {
  uint32_t count, order[MOST_ROWS];
  float scores[MOST_ROWS]; /* by id */
} truth;

static const truth *sorted;
static int by_score(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  if (sorted->scores[x] != sorted->scores[y]) return sorted->scores[x] > sorted->scores[y] ? -1 : 1;
  return rows[x].birth < rows[y].birth ? -1 : 1;
}

/* `part`: the partition whose weights it has; NULL: those of all. */
static void find_truth(const ty_collection *c, const float *query, bool weighted, const char *part, truth *t) {
  const ame_kernel *k = ame_kernel_table();
  float *scratch = malloc(shape.dim * sizeof *scratch);
  ty_weighing w = {0};
  uint32_t code = TY_NO_CODE;
  if (part != NULL) code = ty_dict_find(&c->dicts[0], k, (ty_slice){(const uint8_t *)part, strlen(part)});
  if (part != NULL && code == TY_NO_CODE) code = 0;
  if (weighted) CHECK(ty_weights_open(c, code, &w, &err) == TY_OK);
  const float *q = ty_query_prepare(c, query, weighted ? &w : NULL, scratch);
  t->count = 0;
  for (uint32_t id = 0; id < row_count; id++) {
    if (!rows[id].live) continue;
    const float *row = stored + (uint64_t)id * shape.dim;
    float score;
    k->dot_f32(q, row, 1, shape.dim, &score);
    if (!isfinite(score)) { /* as scan_score says */
      double sum = 0;
      for (uint32_t i = 0; i < shape.dim; i++) sum += (double)q[i] * (double)row[i];
      score = sum > FLT_MAX ? FLT_MAX : sum < -FLT_MAX ? -FLT_MAX : (float)sum;
    }
    t->scores[id] = score;
    t->order[t->count++] = id;
  }
  sorted = t;
  qsort(t->order, t->count, sizeof *t->order, by_score);
  ty_weights_close(&w);
  free(scratch);
}

/* ---- Answers --------------------------------------------------------------------------------------------------------
 */
typedef struct condition {
  uint64_t column;
  const char *key, *under; /* `under` in column 1; NULL: no such condition */
} condition;
static const condition conditions[] = {
    {TY_NO_FILTER, NULL, NULL}, {0, "few", NULL},    {0, "some", NULL}, {0, "most", NULL},
    {1, "folder/few", NULL},    {2, "all", NULL},    {2, "none", NULL}, {TY_NO_FILTER, NULL, "folder"},
    {0, "some", "folder/few"},  {2, "all", "folder"}};
#define CONDITIONS (sizeof conditions / sizeof *conditions)

static bool allows(const condition *f, uint32_t id) {
  const char *values[] = {part_of(id), kind_of(id), "all"};
  if (f->key != NULL && strcmp(values[f->column], f->key) != 0) return false;
  return f->under == NULL || strcmp(f->under, "folder") == 0 || strcmp(f->under, kind_of(id)) == 0;
}

static const char *asked_of; /* what a message says of the case */

/* The records from *at on are the best top_k. */
static void check_answer(const truth *t, const condition *f, uint64_t top_k, uint64_t count, const uint8_t **at,
                         const char *what) {
  uint64_t found = 0;
  bool cosine = strcmp(model_metric, "cosine") == 0, same = true;
  for (uint32_t i = 0; i < t->count && found < top_k && same; i++) {
    uint32_t id = t->order[i];
    if (!allows(f, id)) continue;
    if (found++ >= count) break;
    ty_record r;
    memcpy(&r, *at, sizeof r);
    uint32_t is = (uint32_t)strtoul((const char *)*at + sizeof r, NULL, 10); /* the padding ends it */
    float score = t->scores[id];
    if (cosine) score = score > 1 ? 1 : score < -1 ? -1 : score;
    same = CHECK_MESSAGE(is == id && (float)r.score == score && !signbit(r.score) == !signbit(score),
                         "%s, %s, top %llu of %u, column %lld %s under %s: place %llu is row %u with %.9g, not %u with "
                         "%.9g",
                         asked_of, what, (unsigned long long)top_k, t->count, (long long)f->column, f->key, f->under,
                         (unsigned long long)found - 1, is, r.score, id, (double)score);
    *at += sizeof r + padded(r.id_bytes);
  }
  if (same)
    CHECK_MESSAGE(found == count, "%s, %s, top %llu: %llu rows, not %llu", asked_of, what, (unsigned long long)top_k,
                  (unsigned long long)count, (unsigned long long)found);
}

static uint64_t check_ask(ty_collection *c, const float *query, bool weighted, const truth *t, const condition *f,
                          uint64_t top_k) {
  ty_ask_args ask = {.by = TY_BY_VECTOR,
                     .vector = query,
                     .top_k = top_k,
                     .column = f->column,
                     .key = (const uint8_t *)f->key,
                     .key_bytes = f->key == NULL ? 0 : strlen(f->key),
                     .under_column = 1,
                     .under = (const uint8_t *)f->under,
                     .under_bytes = f->under == NULL ? 0 : strlen(f->under),
                     .target_recall = 1,
                     .weighted = weighted,
                     ANSWER_IN(answer)};
  const uint8_t *at = answer;
  if (CHECK_MESSAGE(ty_ask(c, &ask, &err) == TY_OK, "%s", err.message))
    check_answer(t, f, top_k, ask.out_count, &at, weighted ? "weighted" : "one question");
  return ask.scored_rows;
}

static truth truths[ASK_COUNT];
static float *questions; /* ASK_COUNT x dim */

/* The truth of a question under a condition: weighed by a partition's rows it is another one. */
static const truth *truth_of(const ty_collection *c, uint32_t q, const condition *f, bool weighted) {
  static truth own;
  if (!weighted || f->column != 0) return &truths[q];
  find_truth(c, questions + (uint64_t)q * shape.dim, true, f->key, &own);
  return &own;
}

/* All questions at once, with one number of rows and one condition. */
static void check_many(ty_collection *c, const condition *f, uint64_t top_k, bool weighted) {
  static uint8_t out[6 << 20] __attribute__((aligned(8)));
  uint64_t counts[ASK_COUNT];
  const uint8_t *at = out;
  ty_search_many_args many = {.queries = questions,
                              .n = ASK_COUNT,
                              .top_k = top_k,
                              .column = f->column,
                              .key = (const uint8_t *)f->key,
                              .key_bytes = f->key == NULL ? 0 : strlen(f->key),
                              .target_recall = 1,
                              .threads = 2,
                              .weighted = weighted,
                              .counts = counts,
                              ANSWER_IN(out)};
  if (!CHECK_MESSAGE(ty_search_many(c, &many, NULL, &err) == TY_OK, "%s", err.message)) return;
  for (uint32_t q = 0; q < ASK_COUNT; q++)
    check_answer(truth_of(c, q, f, weighted), f, top_k, counts[q], &at, "many questions");
}

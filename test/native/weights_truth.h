/* The truth of weighted queries: a naive recomputation from a model. And files with wrong sums. */
#pragma once

#include <math.h>

#include "../../ffi/ty_runtime/state/state.h"
#include "../../ffi/ty_runtime/rows/weights.h"
#include "slab_sums.h"
#include "store_model.h"
#include "store_sealed.h"

static ty_env *env;
static ty_error err;

/* Of which rows: a partition by number, or all. */
#define ALL_KEYS KEYS
static bool is_of(uint32_t version, uint32_t key) { return version != 0 && (key == ALL_KEYS || version % KEYS == key); }

/* Of rows in the model, as they are stored. */
static void naive_sums(const model *m, uint32_t key, uint64_t *sums, uint64_t *rows) {
  float row[DIM];
  memset(sums, 0, DIM * sizeof *sums);
  *rows = 0;
  for (uint32_t id = 0; id < IDS; id++) {
    if (!is_of(m->version[id], key)) continue;
    stored_vector(m->version[id], row);
    ++*rows;
    for (uint32_t i = 0; i < DIM; i++) sums[i] += (uint64_t)floor(fmin((double)row[i] * (double)row[i], 1) * 0x1p31);
  }
}

static void naive_weigh(const model *m, uint32_t key, const float *asked, float *out) {
  uint64_t sums[DIM], n;
  double mean = 0, length = 0, weighed[DIM], prior = key == ALL_KEYS ? 20 : 1500;
  naive_sums(m, key, sums, &n);
  bool small = key != ALL_KEYS && n < env->weighed_from;
  memcpy(out, asked, DIM * sizeof *out);
  for (uint32_t i = 0; i < DIM; i++) mean += (double)sums[i] * 0x1p-31 / DIM / (double)(n == 0 ? 1 : n);
  if (mean == 0 && !small) return;
  for (uint32_t i = 0; i < DIM; i++) {
    double weight = ((double)sums[i] * 0x1p-31 + prior * mean) / ((double)n + prior) + 2 * mean;
    weighed[i] = (double)asked[i] / (small ? 1 : weight);
    length += weighed[i] * weighed[i];
  }
  for (uint32_t i = 0; i < DIM && length > 0; i++) out[i] = (float)(weighed[i] / sqrt(length));
}

typedef struct hits {
  uint64_t count;
  double scores[IDS];
  char ids[IDS][64];
} hits;

static ty_status ask_of(ty_collection *c, const float *query, uint64_t weighted, uint32_t key, hits *h) {
  static _Thread_local uint8_t out[1 << 16] __attribute__((aligned(8)));
  ty_error e;
  char text[16];
  ty_ask_args a = {.by = TY_BY_VECTOR,
                   .vector = query,
                   .top_k = IDS,
                   .column = key == ALL_KEYS ? TY_NO_FILTER : 0,
                   .key = (uint8_t *)text,
                   .key_bytes = content_key(key, text),
                   .target_recall = 1,
                   .weighted = weighted,
                   ANSWER_IN(out)};
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
static inline ty_status ask(ty_collection *c, const float *query, uint64_t weighted, hits *h) {
  return ask_of(c, query, weighted, ALL_KEYS, h);
}

/* The scores are those of the weighted question with every row, and those of search_many the same. */
static int weighs_of(ty_collection *c, const model *m, uint32_t key) {
  hits h;
  float query[DIM], weighed[DIM], wanted[IDS], row[DIM];
  uint32_t live = 0;
  int good = 1;
  model_query(query);
  naive_weigh(m, key, query, weighed);
  for (uint32_t id = 0; id < IDS; id++) {
    if (!is_of(m->version[id], key)) continue;
    float score;
    stored_vector(m->version[id], row);
    ame_kernel_table()->dot_f32(weighed, row, 1, DIM, &score);
    uint32_t at = live++;
    for (; at > 0 && wanted[at - 1] < score; at--) wanted[at] = wanted[at - 1];
    wanted[at] = score;
  }
  if (!CHECK_MESSAGE(ask_of(c, query, 1, key, &h) == TY_OK && h.count == live, "%llu of %u",
                     (unsigned long long)h.count, live))
    return 0;
  for (uint32_t i = 0; i < live; i++)
    good &= fabs(h.scores[i] - (double)wanted[i]) <= 1e-5 * (1 + fabs((double)wanted[i]));
  /* Both calls, to the bit. */
  static uint8_t out[1 << 16] __attribute__((aligned(8)));
  float queries[3 * DIM];
  uint64_t counts[3], at = 0;
  char text[16];
  for (int q = 0; q < 3; q++) memcpy(queries + q * DIM, query, sizeof query);
  ty_search_many_args many = {.queries = queries,
                              .n = 3,
                              .top_k = IDS,
                              .column = key == ALL_KEYS ? TY_NO_FILTER : 0,
                              .key = (uint8_t *)text,
                              .key_bytes = content_key(key, text),
                              .target_recall = 1,
                              .weighted = 1,
                              .counts = counts,
                              ANSWER_IN(out)};
  good &= ty_search_many(c, &many, NULL, &err) == TY_OK;
  for (uint64_t i = 0; good && i < 3 * live; i++) {
    ty_record r;
    memcpy(&r, out + at, sizeof r);
    good &= r.score == h.scores[i % live];
    at += sizeof r + padded(r.id_bytes);
  }
  return good;
}
/* Of all rows, and of each partition. */
static inline int weighs(ty_collection *c, const model *m) {
  int good = weighs_of(c, m, ALL_KEYS);
  for (uint32_t key = 0; key < KEYS - 1; key++)
    good &= CHECK_MESSAGE(weighs_of(c, m, key), "%s: other weights of partition %u", model_dtype, key);
  return good;
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

/* Gives the second sum of a section another value, and makes all checksums fit. */
static inline void patch_base(const char *dir, const char *base, uint32_t section, uint64_t sum) {
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
    if (s[i].id != section) continue;
    found++;
    memcpy(file + s[i].offset + 8, &sum, sizeof sum);
  }
  mend_sections(file, bytes);
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
  snprintf(text, sizeof text, "%.*s%s%s", (int)(at - (char *)file), (char *)file, fresh, at + strlen(old));
  write_sealed(dir, text);
}

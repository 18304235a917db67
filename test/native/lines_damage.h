/* Damage of the sections of a vertical base, with checksums that fit and without. Part of lines_test.c. */
#pragma once

#include "lines_expected.h"
#include "lines_truth.h"
#include "store_files.h"

enum { DAMAGED_ROWS = 200, DAMAGED_DIM = 20 };
/* The last one is not there with four bits. */
static const uint32_t line_sections[] = {TY_SECTION_LINES, TY_SECTION_LEVELS, TY_SECTION_RUNS, TY_SECTION_DIRECTORY};

static ty_slab_section *section_in(uint8_t *data, uint32_t id) {
  ty_slab_header *h = (ty_slab_header *)(void *)data;
  ty_slab_section *s = (ty_slab_section *)(void *)(data + sizeof *h);
  for (uint32_t i = 0; i < h->sections; i++) {
    if (s[i].id == id) return &s[i];
  }
  CHECK_MESSAGE(0, "the base has no section %u", id);
  return NULL;
}

/* Opens the base with these bytes, whose checksums are made to fit with `forged`. What an opened one answers is in the
 * right order, whatever its rows are; with `exact` it is the truth about them. */
static ty_status open_damaged(ty_env *env, const char *dir, const file *base, uint8_t *data, bool forged, bool exact) {
  static truth t;
  ty_collection *c = NULL;
  float query[DAMAGED_DIM];
  if (forged) mend(dir, base, data);
  write_file(dir, base->name, data, base->bytes);
  ty_status status = ty_collection_open(env, dir, &c, &err);
  if (status == TY_OK) {
    for (uint32_t i = 0; i < DAMAGED_DIM; i++) query[i] = (float)(i * 7 % 11) - 4.5f;
    for (uint32_t id = 0; id < DAMAGED_ROWS && exact; id++) {
      ty_record r;
      memcpy(stored + id * DAMAGED_DIM, vector_of(c, id, &r), DAMAGED_DIM * sizeof *stored);
    }
    asked_of = "a forged base";
    find_truth(c, query, false, NULL, &t);
    ty_ask_args ask = {.by = TY_BY_VECTOR, .vector = query, .top_k = 50, EXACTLY, ANSWER_IN(answer)};
    status = ty_ask(c, &ask, &err);
    /* A forged run that is none of its form is damaged; every byte is one of a dense run. */
    CHECK(status == TY_OK ||
          ((!forged || !is_int4()) && status == TY_CORRUPT && strstr(err.message, "rows '") != NULL));
    double before = INFINITY;
    const uint8_t *at = answer;
    for (uint64_t i = 0; i < ask.out_count && status == TY_OK; i++) {
      ty_record r;
      memcpy(&r, at, sizeof r);
      CHECK(r.score <= before);
      before = r.score;
      at += sizeof r + padded(r.id_bytes);
    }
    if (status == TY_OK) check_expected(c, query, &conditions[0], exact ? 50 : DAMAGED_ROWS, exact);
    at = answer;
    if (exact) check_answer(&t, &conditions[0], 50, ask.out_count, &at, "one question");
    if (!forged) status = ty_verify(c, NULL, &err);
  }
  ty_collection_close(c);
  for (int i = 0; i < file_count; i++) write_file(dir, files[i].name, files[i].data, files[i].bytes);
  return status;
}

/* A level of some row set to a value, with checksums that fit. */
static ty_status with_level(ty_env *env, const char *dir, const file *base, uint64_t which, float value, bool exact) {
  static uint8_t data[1 << 20] __attribute__((aligned(8)));
  memcpy(data, base->data, base->bytes);
  const ty_slab_section *s = section_in(data, TY_SECTION_LEVELS);
  if (s == NULL) return TY_OK;
  memcpy(data + s->offset + (which * DAMAGED_ROWS + rng() % DAMAGED_ROWS) * sizeof value, &value, sizeof value);
  return open_damaged(env, dir, base, data, true, exact);
}

static void damage_levels(ty_env *env, const char *dir, const file *base) {
  const float bad[] = {NAN, INFINITY, -INFINITY};
  const uint64_t norms = is_int4() ? 2 : 1;
  for (int i = 0; i < 3; i++) {
    for (uint64_t which = 0; which < norms; which++)
      CHECK_MESSAGE(with_level(env, dir, base, which, bad[i], false) == TY_CORRUPT, "level %d is %f", (int)which,
                    (double)bad[i]);
  }
  CHECK(with_level(env, dir, base, norms, NAN, false) == TY_CORRUPT);
  CHECK(with_level(env, dir, base, norms, -1, false) == TY_CORRUPT);
  CHECK(with_level(env, dir, base, norms, -INFINITY, false) == TY_CORRUPT);
  CHECK(with_level(env, dir, base, norms, INFINITY, true) == TY_OK); /* no bound at all */
  CHECK(with_level(env, dir, base, 0, FLT_MAX, false) == TY_OK);     /* values that overflow, and the score NaN */
  CHECK(with_level(env, dir, base, norms, 0, false) == TY_OK);
  for (int i = 0; i < 4; i++) CHECK(with_level(env, dir, base, 0, -0.01f * (float)i, !is_int4()) == TY_OK);
}

static void damage_sections(ty_env *env, const char *dir, const file *base) {
  static uint8_t data[1 << 20] __attribute__((aligned(8)));
  for (int i = 0; i < (is_int4() ? 3 : 4); i++) {
    uint32_t id = line_sections[i];
    memcpy(data, base->data, base->bytes);
    ty_slab_section *s = section_in(data, id);
    if (s == NULL) return;
    const uint64_t bytes = s->bytes;
    for (uint64_t at = 0; at < bytes; at += 1 + rng() % (bytes / 8)) {
      data[s->offset + at] ^= (uint8_t)(1u << rng() % 8);
      CHECK_MESSAGE(open_damaged(env, dir, base, data, false, false) == TY_CORRUPT, "section %u: byte %llu", id,
                    (unsigned long long)at);
      memcpy(data, base->data, base->bytes);
    }
    const uint64_t lengths[] = {0, 4, 64, bytes - 64, bytes - 4, bytes - 1, bytes / 2};
    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
      s->bytes = lengths[k];
      CHECK_MESSAGE(open_damaged(env, dir, base, data, true, false) == TY_CORRUPT, "section %u: %llu bytes", id,
                    (unsigned long long)lengths[k]);
      memcpy(data, base->data, base->bytes);
    }
    s->id = 200; /* a column's that there is not */
    CHECK_MESSAGE(open_damaged(env, dir, base, data, true, false) == TY_CORRUPT, "without section %u", id);
  }
  /* Codes that no writer writes. */
  for (int i = 0; i < 8; i++) {
    memcpy(data, base->data, base->bytes);
    const ty_slab_section *s = section_in(data, TY_SECTION_LINES);
    memset(data + s->offset + rng() % s->bytes / 2, i % 2 ? 0xff : 0, (size_t)(rng() % s->bytes / 2));
    const ty_status status = open_damaged(env, dir, base, data, true, is_int4());
    CHECK(status == TY_OK || (status == TY_CORRUPT && !is_int4()));
  }
}

/* A directory that no writer makes, with checksums that fit, and a damaged byte of the lines: a check still reads every
 * byte and finds the damage. */
static void damage_directory(ty_env *env, const char *dir, const file *base) {
  static uint8_t data[1 << 20] __attribute__((aligned(8)));
  static ty_damage damages[8];
  const size_t entries[] = {0, 8, 8 + 4 * (DAMAGED_DIM / 2), 8 + 4 * DAMAGED_DIM};
  const uint32_t forged[] = {8,
                             UINT32_MAX - 3}; /* where all runs, or the run, would begin: a little later, far outside */
  ty_check_args check = {.out = (uint8_t *)damages, .out_capacity = sizeof damages};
  ty_collection *c = NULL;
  if (!CHECK(ty_collection_open(env, dir, &c, &err) == TY_OK)) return;
  CHECK(ty_check(c, &check, NULL, &err) == TY_OK && check.found == 0);
  const uint64_t bytes = check.bytes;
  for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
    for (size_t k = 0; k < sizeof forged / sizeof *forged; k++) {
      memcpy(data, base->data, base->bytes);
      const ty_slab_section *directory = section_in(data, TY_SECTION_DIRECTORY);
      const ty_slab_section *lines = section_in(data, TY_SECTION_LINES);
      if (directory == NULL || lines == NULL) break;
      memcpy(data + directory->offset + entries[i], &forged[k], sizeof forged[k]);
      mend(dir, base, data);
      data[lines->offset + lines->bytes - 1] ^= 1;
      write_file(dir, base->name, data, base->bytes);
      CHECK(ty_check(c, &check, NULL, &err) == TY_OK);
      CHECK_MESSAGE(check.found == 1 && damages[0].section == TY_SECTION_LINES && check.bytes == bytes,
                    "entry at %zu is %u: %llu damages, %llu bytes of %llu", entries[i], forged[k],
                    (unsigned long long)check.found, (unsigned long long)check.bytes, (unsigned long long)bytes);
      for (int n = 0; n < file_count; n++) write_file(dir, files[n].name, files[n].data, files[n].bytes);
    }
  }
  ty_collection_close(c);
}

static void test_damage(ty_env *env) {
  static const char *const dtypes[] = {"f32", "int8", "int4"};
  for (int i = 0; i < 3; i++) {
    char dir[320];
    float vectors[DAMAGED_ROWS * DAMAGED_DIM];
    model_dtype = dtypes[i];
    model_metric = "inner_product";
    shape.dim = DAMAGED_DIM;
    stored = malloc(sizeof vectors);
    for (uint32_t k = 0; k < DAMAGED_ROWS; k++) ordinary_row(vectors + k * DAMAGED_DIM);
    fresh_dir(dir);
    ty_collection *c = lines_new(env, dir);
    CHECK(ty_begin(c, &err) == TY_OK);
    put_lines(c, 0, DAMAGED_ROWS, vectors);
    CHECK(ty_save(c, &err) == TY_OK && c->base.count == DAMAGED_ROWS && c->base.vertical.lines != NULL);
    close_checked(c);
    read_files(dir);
    const file *base = by_prefix("base-");
    if (CHECK(base != NULL)) {
      damage_sections(env, dir, base);
      damage_levels(env, dir, base);
      if (!is_int4()) damage_directory(env, dir, base);
    }
    for (int k = 0; k < file_count; k++) free(files[k].data);
    remove_tree(dir);
    free(stored);
  }
}

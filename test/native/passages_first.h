/* The first rows are those of all candidates, although a search leaves out passages that cannot raise a row among them.
 * Bugs of this are planted, and each has to show in an answer. Part of passages_test.c. */
#pragma once

#include "os/plant.h"

#define FIRST_ROWS 300u

/* Appends a long text with seven times a word of the questions. A half of the texts have them all in one passage, and
 * are a little longer: their rows are the worse ones until passages are rated. `more`: words beside these. */
static void append_long(ty_buffer *b, uint32_t number, uint32_t more) {
  const bool together = rng() % 2 == 0;
  const uint32_t count = (together ? 320 : 280) + more;
  for (uint32_t i = 0; i < count; i++) {
    char word[24];
    const bool asked = together ? i >= 20 && i < 55 && i % 5 == 0 : i % 5 == 0 && (i < 20 || (i >= 265 && i < 280));
    const char *gap = rng() % 12 == 0               ? ". "
                      : rng() % 30 == 0             ? "\n"
                      : i == 200 && number % 4 == 0 ? " \xc3\xa9 "
                                                    : " ";
    if (asked) snprintf(word, sizeof word, "%s%s", words[number % 3], gap);
    else snprintf(word, sizeof word, "ox%u%s", (unsigned)(rng() % 900), gap);
    ty_buffer_append(b, word, strlen(word));
  }
}

/* A text without passages, with words of the questions. */
static void append_short(ty_buffer *b, uint32_t number) {
  for (uint32_t i = 0; i < 60; i++) {
    char word[24];
    if (i % 9 == 0) snprintf(word, sizeof word, "%s ", words[(number + i) % 3]);
    else snprintf(word, sizeof word, "ox%u ", (unsigned)(rng() % 900));
    ty_buffer_append(b, word, strlen(word));
  }
}

static void put_long(ty_collection *c, bool turns, uint32_t more) {
  static uint64_t ends[4][FIRST_ROWS];
  ty_buffer ids = {0}, texts = {0}, metas = {0};
  for (uint32_t i = 0; i < FIRST_ROWS; i++) {
    char id[16], meta[32];
    ty_buffer_append(&ids, id, (uint64_t)sprintf(id, "%u", i));
    if (i % 16 == 0) append_short(&texts, i);
    else append_long(&texts, i, rng() % (1 + more / 1000) == 0 ? more : 0);
    if (turns) ty_buffer_append(&metas, meta, (uint64_t)sprintf(meta, "{\"session\":\"s%u\"}", i / 5));
    ends[0][i] = ids.bytes, ends[1][i] = texts.bytes, ends[2][i] = metas.bytes, ends[3][i] = 0;
  }
  ty_put_args args = {.n = FIRST_ROWS,
                      .mode = TY_UPSERT,
                      .model = AME_MODEL_BIGRAM,
                      .embed_most = TEXT_ROOM,
                      .ids = ids.data,
                      .id_ends = ends[0],
                      .texts = texts.data,
                      .text_ends = ends[1],
                      .metas = metas.data,
                      .meta_ends = ends[2],
                      .key_ends = ends[3]};
  CHECK_MESSAGE(ty_put(c, &args, NULL, &err) == TY_OK, "put: %s", err.message);
  ty_buffer_free(&ids);
  ty_buffer_free(&texts);
  ty_buffer_free(&metas);
}

/* Gives every row a vector of meaning, in as many calls as that takes. */
static void give_meaning(ty_collection *c) {
  static ty_meaning_record records[FIRST_ROWS];
  uint64_t given = 0;
  for (uint64_t before = 1; before > 0; given += before) {
    ty_meaning_encode_args encode = {.most = FIRST_ROWS, .out = records};
    CHECK_MESSAGE(ty_meaning_encode(c, &encode, NULL, &err) == TY_OK, "encode: %s", err.message);
    ty_meaning_put_args put = {.records = records, .n = encode.out_count, .base = encode.base};
    CHECK(ty_begin(c, &err) == TY_OK && ty_meaning_put(c, &put, &err) == TY_OK && ty_save(c, &err) == TY_OK);
    before = put.put;
  }
  CHECK(given == FIRST_ROWS);
}

/* The stand-in of the encoder, to which all texts are English prose. */
static int32_t encode_prose(const uint8_t *model, uint32_t role, const uint8_t *from, size_t bytes, void *scratch,
                            const uint32_t *stop, ame_encoding *out) {
  const int32_t stopped = stand_in_encode(model, role, from, bytes, scratch, stop, out);
  out->gate = 255;
  return stopped;
}

static bool prose_env(void) {
  static ame_kernel kernel;
  kernel = *stand_in_kernel();
  kernel.encode = encode_prose;
  return ty_env_open(&kernel, 2, &env, &err) == TY_OK &&
         ty_env_model(env, meaning_models[0], MEANING_MODEL_BYTES, &err) == TY_OK;
}

/* Whether questions get the same first rows, with the same scores, as where all candidates are wanted. */
static bool first_are_right(ty_collection *c) {
  static const char *const questions[] = {"keel", "rudder", "mast", "keel rudder", "rudder mast", "mast ox1 ox2 keel"};
  static const uint64_t rows[] = {10, 1, 40};
  bool right = true;
  for (uint32_t i = 0; i < 3 * sizeof questions / sizeof *questions; i++) {
    const char *asked = questions[i / 3];
    const uint64_t bytes = ask_for(c, asked, rows[i % 3], TY_WITH_SCORES, answers[1]);
    CHECK(bytes > 0 && ask_for(c, asked, rows[i % 3], ALL, answers[0]) > bytes);
    right &= memcmp(answers[0], answers[1], (size_t)bytes) == 0;
  }
  return right;
}

/* Plants a bug, which at least one of the collections has to show. */
static void test_first(ty_plant plant) {
  const bool turns = plant == TY_PLANT_PASSAGE_LEFT_OUT;
  bool shown = false;
  for (uint32_t i = 0; i < 50 && (i < 4 || !shown); i++) {
    char dir[320];
    ty_collection *c = made(dir);
    CHECK(ty_begin(c, &err) == TY_OK);
    put_long(c, turns, (i % 3) * 7000); /* then not all texts are looked at, or not all of a text */
    CHECK(ty_save(c, &err) == TY_OK);
    if (by_meaning) give_meaning(c);
    build(c, 1.2);
    CHECK(first_are_right(c));
    ty_planted = plant;
    shown |= !first_are_right(c);
    ty_planted = TY_PLANT_NONE;
    close_checked(c);
  }
  CHECK_MESSAGE(shown, "no answer shows bug %d of passages that are left out", (int)plant);
}

static void test_all_first(void) {
  test_first(TY_PLANT_PASSAGE_OF_ROW);
  test_first(TY_PLANT_PASSAGE_NOT_APART);
  test_first(TY_PLANT_PASSAGE_NO_GAIN);
  test_first(TY_PLANT_PASSAGE_LEFT_OUT);
}

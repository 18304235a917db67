/* The first rows are those of all candidates, although a search leaves out passages that cannot raise a row among them.
 * Bugs of this are planted, and each has to show in an answer. Part of passages_test.c. */
#pragma once

#include "os/plant.h"

#define FIRST_ROWS 300u

/* Appends a long text with seven times a word of the questions. A half of the texts have them all in one passage, and
 * are a little longer: their rows are the worse ones until passages are rated. */
static void append_long(ty_buffer *b, uint32_t number) {
  const bool together = rng() % 2 == 0;
  const uint32_t count = together ? 320 : 280;
  for (uint32_t i = 0; i < count; i++) {
    char word[24];
    const bool asked = together ? i >= 20 && i < 55 && i % 5 == 0 : i % 5 == 0 && (i < 20 || i >= 265);
    const char *gap = rng() % 12 == 0 ? ". " : rng() % 30 == 0 ? "\n" : " ";
    if (asked) snprintf(word, sizeof word, "%s%s", words[number % 3], gap);
    else snprintf(word, sizeof word, "ox%u%s", (unsigned)(rng() % 900), gap);
    ty_buffer_append(b, word, strlen(word));
  }
}

static void put_long(ty_collection *c, bool turns) {
  static uint64_t ends[4][FIRST_ROWS];
  ty_buffer ids = {0}, texts = {0}, metas = {0};
  for (uint32_t i = 0; i < FIRST_ROWS; i++) {
    char id[16], meta[32];
    ty_buffer_append(&ids, id, (uint64_t)sprintf(id, "%u", i));
    append_long(&texts, i);
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

/* Whether questions get the same first rows, with the same scores, as where all candidates are wanted. */
static bool first_are_right(ty_collection *c) {
  static const char *const questions[] = {"keel", "rudder", "mast", "keel rudder", "rudder mast", "mast ox1 ox2 keel"};
  bool right = true;
  for (uint32_t i = 0; i < sizeof questions / sizeof *questions; i++) {
    const uint64_t bytes = ask(c, questions[i], TY_WITH_SCORES, answers[1]);
    CHECK(bytes > 0 && ask(c, questions[i], ALL, answers[0]) > bytes);
    right &= memcmp(answers[0], answers[1], (size_t)bytes) == 0;
  }
  return right;
}

/* The planted bug that collections of turns, or of other rows, have to show; not each of them does. */
static void test_first(bool turns) {
  const ty_plant plant = turns ? TY_PLANT_PASSAGE_LEFT_OUT : TY_PLANT_PASSAGE_OF_ROW;
  bool shown = false;
  for (uint32_t i = 0; i < 50 && !shown; i++) {
    char dir[320];
    ty_collection *c = made(dir);
    CHECK(ty_begin(c, &err) == TY_OK);
    put_long(c, turns);
    CHECK(ty_save(c, &err) == TY_OK);
    build(c, 1.2);
    CHECK(first_are_right(c));
    ty_planted = plant;
    shown = !first_are_right(c);
    ty_planted = TY_PLANT_NONE;
    close_checked(c);
  }
  CHECK_MESSAGE(shown, "no answer shows passages that were left out%s", turns ? " beside turns" : "");
}

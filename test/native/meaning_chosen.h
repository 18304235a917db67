/* Collections and questions that are chosen: each shows one thing that cases at random meet seldom. */
#pragma once

#include "meaning_compare.h"

static inquiry question_of(const char *words, uint8_t gate) {
  inquiry q = {.top_k = 10, .what = TY_WITH_ALL | TY_WITH_SCORES | TY_WITH_WEIGHTS, .part = ALL_KEYS, .kind = ALL_KEYS};
  q.bytes = (size_t)snprintf(q.text, sizeof q.text, "%s ", words);
  q.bytes += write_gate(gate, q.text + q.bytes);
  q.dense_weight = 0.3, q.vector[3] = 1;
  return q;
}

static void set_text(text_row *r, const char *words, uint8_t gate) {
  r->bytes = (size_t)snprintf(r->text, sizeof r->text, "%s ", words);
  r->bytes += write_gate(gate, r->text + r->bytes);
  r->terms = terms_of(r->text, r->bytes);
}

/* Puts all rows as they are in the library now. */
static void put_again(library *l) {
  CHECK(ty_begin(l->c, &err) == TY_OK);
  put_rows(l, 0, l->count, 0);
  CHECK(ty_save(l->c, &err) == TY_OK);
}

/* Nothing by meaning: no vector, a question of gate 0, a part without rows, rows of gate 0 alone. */
static void test_without(void) {
  library *l = library_of(50, PROSE);
  inquiry q = question_of("harbour lantern", 255);
  read_rows(l);
  CHECK(compare(l, &q, "no vector").rows == 0 && same_bytes(&plain, &meant));
  fill_rows(l->c, ROWS_MOST, 0, false);
  read_rows(l);
  CHECK(compare(l, &q, "all vectors").w > 0 && !same_bytes(&plain, &meant));
  q = question_of("harbour lantern", 0);
  CHECK(compare(l, &q, "a question of gate 0").w <= 0 && same_bytes(&plain, &meant));
  q = question_of("harbour lantern", 255);
  q.part = 3;
  CHECK(compare(l, &q, "no row may be returned").rows == 0 && same_bytes(&plain, &meant) && meant.count == 0);
  library_close(l);
  l = library_of(50, NO_PROSE);
  fill_rows(l->c, ROWS_MOST, 0, false);
  read_rows(l);
  q.part = ALL_KEYS;
  CHECK(compare(l, &q, "rows of gate 0").rows == 50 && same_bytes(&plain, &meant));
  library_close(l);
}

/* All rows say the same: no deviation, the answer without meaning times 1 - w. */
static void test_ties(void) {
  library *l = library_of(600, PROSE);
  inquiry q = question_of("copper saddle", 255);
  for (uint32_t i = 0; i < 600; i++) {
    set_text(&l->rows[i], "copper wagon", 85);
    memcpy(l->rows[i].vector, l->rows[0].vector, sizeof l->rows[0].vector);
  }
  put_again(l);
  /* A compaction orders rows by partition: the scan meets rows of equal cosine in another order than that of their
   * births. */
  ty_compact_args compact = {0};
  CHECK(ty_begin(l->c, &err) == TY_OK && ty_compact(l->c, &compact, NULL, &err) == TY_OK);
  fill_rows(l->c, ROWS_MOST, 0, false);
  read_rows(l);
  const truth t = compare(l, &q, "rows of one text");
  CHECK(t.w > 0 && t.head == HEAD && meant.count >= HEAD);
  for (uint64_t i = 1; i < meant.count; i++)
    CHECK_MESSAGE(meant.hits[i].score == meant.hits[0].score && meant.hits[i].birth > meant.hits[i - 1].birth,
                  "row %u scores %.17g, the first %.17g", meant.hits[i].id, meant.hits[i].score, meant.hits[0].score);
  library_close(l);
}

/* So many rows that the weight of a question whose words none has is the lowest. */
static void test_many(void) {
  library *l = library_of(4500, PROSE);
  inquiry q = question_of("nothing like that", 255);
  fill_rows(l->c, ROWS_MOST, 50, false);
  read_rows(l);
  truth t = compare(l, &q, "many rows");
  CHECK_MESSAGE(t.rows > 4000 && fabs(t.w - 0.5) < 1e-12, "%llu rows, w %g", (unsigned long long)t.rows, t.w);
  q.part = 1;
  t = compare(l, &q, "many rows of a part");
  CHECK_MESSAGE(t.w > 0.51 && t.w < 0.84, "%llu rows, w %g", (unsigned long long)t.rows, t.w);
  library_close(l);
}

/* The row that has most of the question's words counts where it is among the first ten by words. */
static void test_tenth(void) {
  double covered[2];
  for (uint32_t more = 0; more < 2; more++) {
    library *l = library_of(60, PROSE);
    inquiry q = question_of("marble marble marble marble copper velvet", 255);
    for (uint32_t i = 0; i < 60; i++)
      set_text(&l->rows[i], i < 9 + more ? "marble marble marble" : "winter garden", 255);
    set_text(&l->rows[59], "copper velvet the of winter garden the of pepper kitchen bridge market lantern", 255);
    put_again(l);
    fill_rows(l->c, ROWS_MOST, 0, false);
    read_rows(l);
    covered[more] = compare(l, &q, "the tenth row").c;
    library_close(l);
  }
  CHECK_MESSAGE(covered[0] > covered[1] && covered[1] > 0, "c is %g and %g", covered[0], covered[1]);
}

/* A row has two words that stand for one of the question: it counts once. */
static void test_counted_once(void) {
  library *l = library_of(30, PROSE);
  inquiry q = question_of("warble nothing like that", 255);
  for (uint32_t i = 0; i < 30; i++) set_text(&l->rows[i], i == 4 ? "marble garble" : "winter garden", 255);
  put_again(l);
  fill_rows(l->c, ROWS_MOST, 0, false);
  read_rows(l);
  const truth t = compare(l, &q, "two words for one");
  CHECK_MESSAGE(plain.alternates == 2 && t.c > 0.1 && t.c < 0.4, "%llu other words, c %g",
                (unsigned long long)plain.alternates, t.c);
  library_close(l);
}

/* The turn beside the best row is in no ranking. Its score is that of an unlisted row and .4 of the best row's score.
 */
static void test_turn(void) {
  library *l = library_of(150, PROSE);
  inquiry q = question_of("saddle", 255);
  for (uint32_t i = 0; i < 150; i++) set_text(&l->rows[i], words[2 + i % 18], 255);
  set_text(&l->rows[0], "saddle", 255);
  set_text(&l->rows[1], "cotton", 0);
  for (uint32_t i = 0; i < 2; i++) {
    l->rows[i].part = 0, l->rows[i].turn = 1 + i;
    for (uint32_t d = 0; d < DIM; d++) l->rows[i].vector[d] = d == 3 ? (i == 0 ? 5 : -5) : 0;
  }
  put_again(l);
  fill_rows(l->c, ROWS_MOST, 0, false);
  read_rows(l);
  CHECK(ask(l->c, &q, false, &plain) == TY_OK && ask(l->c, &q, true, &meant) == TY_OK);
  const truth t = truth_of(l, &q, &plain);
  const double least = (1 - t.w) * t.least + t.w * (t.lowest - t.mean) / t.deviation;
  CHECK(meant.hits[0].id == 0 && t.head == HEAD && t.w > 0.1 && fabs(meant.args.meaning_weight - t.w) < 1e-9);
  const hit *turn = NULL;
  for (uint64_t i = 0; i < meant.count; i++) turn = meant.hits[i].id == 1 ? &meant.hits[i] : turn;
  if (CHECK(turn != NULL && isnan(turn->by.vector) && isnan(turn->by.words) && isnan(turn->by.meaning)))
    CHECK_MESSAGE(fabs(turn->score - least - 0.4 * meant.hits[0].score) < 1e-5, "the turn scores %.9g, not %.9g",
                  turn->score, least + 0.4 * meant.hits[0].score);
  library_close(l);
}

/* Asks with and without meaning, and compares with the truth. */
#pragma once

#include "meaning_truth.h"

static reply plain, meant, short_one;
static uint64_t seen_questions;
/* What the random cases have to meet, or they would show less than they seem to. */
static struct {
  uint64_t c_low, c_between, c_high, rows_few, rows_many, gate_low, gate_between, gate_high, unlisted, meaning_only,
      alternates, ties;
} seen;

static bool same_bytes(const reply *a, const reply *b) {
  return a->args.out_bytes == b->args.out_bytes && memcmp(a->bytes, b->bytes, a->args.out_bytes) == 0;
}

/* What the answer should say of a row, and which place the best hundred by meaning have it at; HEAD: none. */
static double expected(const truth *t, const reply *without, uint32_t id, uint32_t *place) {
  double fused = t->least;
  for (uint64_t i = 0; i < without->count; i++)
    if (without->hits[i].id == id) fused = without->hits[i].score;
  for (*place = 0; *place < t->head && t->ids[*place] != id;) ++*place;
  if (*place >= t->head) *place = HEAD;
  double z = ((*place == HEAD ? t->lowest : t->cosines[*place]) - t->mean) / t->deviation;
  return (1 - t->w) * fused + t->w * z;
}

static bool lists(const reply *r, uint32_t id) {
  for (uint64_t i = 0; i < r->count; i++)
    if (r->hits[i].id == id) return true;
  return false;
}

static void note_seen(const truth *t, const reply *without) {
  seen.c_low += t->c <= 0.1, seen.c_between += t->c > 0.1 && t->c < 0.4, seen.c_high += t->c >= 0.4;
  seen.rows_few += t->rows <= 200, seen.rows_many += t->rows > 200 && t->h > 0.5;
  seen.gate_between += t->gate < 0.8, seen.gate_high += t->gate >= 0.8;
  seen.alternates += without->alternates > 0;
}

/* Whether every row of `meant`, and no other, has the score that the truth gives it, in the order of scores and births.
 * Cosines are floats in the call: their errors are counted in deviations. */
static void compare_rows(const truth *t, const char *name) {
  const double apart = 4e-7 / t->deviation + 1e-9;
  uint64_t only = 0;
  for (uint64_t i = 0; i < t->head; i++) {
    only += !lists(&plain, t->ids[i]);
    CHECK_MESSAGE(lists(&meant, t->ids[i]), "%s: row %u of the best by meaning is missing", name, t->ids[i]);
  }
  for (uint64_t i = 0; i < plain.count; i++)
    CHECK_MESSAGE(lists(&meant, plain.hits[i].id), "%s: row %u is missing", name, plain.hits[i].id);
  CHECK_MESSAGE(meant.count == plain.count + only, "%s: %llu rows, not %llu and %llu", name,
                (unsigned long long)meant.count, (unsigned long long)plain.count, (unsigned long long)only);
  for (uint64_t i = 0; i < meant.count; i++) {
    const hit *h = &meant.hits[i], *before = i == 0 ? NULL : h - 1;
    uint32_t place;
    double want = expected(t, &plain, h->id, &place);
    CHECK_MESSAGE(fabs(h->score - want) <= apart, "%s: row %u scores %.12g, not %.12g; w %g, z of %g +- %g", name,
                  h->id, h->score, want, t->w, t->mean, t->deviation);
    if (place == HEAD) CHECK_MESSAGE(isnan(h->by.meaning), "%s: row %u has %g", name, h->id, h->by.meaning);
    else
      CHECK_MESSAGE(fabs(h->by.meaning - t->cosines[place]) < 4e-7, "%s: the cosine of row %u is %.12g, not %.12g",
                    name, h->id, h->by.meaning, t->cosines[place]);
    if (before == NULL) continue;
    CHECK_MESSAGE(before->score > h->score || (before->score == h->score && before->birth < h->birth),
                  "%s: row %u with %.17g is before row %u with %.17g", name, before->id, before->score, h->id,
                  h->score);
    seen.ties += before->score == h->score;
    seen.unlisted += place == HEAD && t->head == HEAD;
  }
  seen.meaning_only += only;
}

/* Asks with and without meaning. */
static truth compare(const library *l, const inquiry *q, const char *name) {
  CHECK_MESSAGE(ask(l->c, q, false, &plain) == TY_OK && ask(l->c, q, true, &meant) == TY_OK, "%s", name);
  const truth t = truth_of(l, q, &plain);
  seen_questions++;
  CHECK(plain.args.by_meaning == 0 && plain.args.meaning_weight == 0);
  CHECK_MESSAGE(fabs(meant.args.meaning_weight - t.w) < 1e-9, "%s: w is %.12g, not %.12g: %llu rows, gate %g, c %g",
                name, meant.args.meaning_weight, t.w, (unsigned long long)t.rows, t.gate, t.c);
  CHECK_MESSAGE(meant.args.by_meaning == (t.w > 0), "%s: by meaning %d", name, (int)meant.args.by_meaning);
  if (t.w > 0) {
    note_seen(&t, &plain);
    compare_rows(&t, name);
  } else {
    seen.gate_low += t.rows > 0 && t.gate <= 0.2;
    CHECK_MESSAGE(same_bytes(&plain, &meant), "%s: the answer is another one without a weight", name);
  }
  /* The first rows alone. All rows are of one time, so that none is moved up as the newer one. */
  inquiry first = *q;
  first.what = TY_WITH_SCORES;
  CHECK(ask(l->c, &first, true, &short_one) == TY_OK);
  CHECK(short_one.count == (meant.count < q->top_k ? meant.count : q->top_k));
  for (uint64_t i = 0; i < short_one.count; i++)
    CHECK_MESSAGE(short_one.hits[i].id == meant.hits[i].id && short_one.hits[i].score == meant.hits[i].score,
                  "%s: row %u at %llu of the first", name, short_one.hits[i].id, (unsigned long long)i);
  return t;
}

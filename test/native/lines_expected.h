/* Searches by vector with rows that are expected among the best, against searches without. */
#pragma once

#include "calls/calls.h"
#include "lines_truth.h"

/* @param exact false: bounds are forged and may exclude other rows in each search, so every row is expected */
static void check_expected(ty_collection *c, const float *query, const condition *f, uint64_t top_k, bool exact) {
  ty_filter filter = {0};
  ty_found plain = {0}, found = {0};
  const ty_segment *segments[] = {&c->base, &c->delta};
  const ty_slice key = {(const uint8_t *)f->key, f->key == NULL ? 0 : strlen(f->key)};
  const ty_slice under = {(const uint8_t *)f->under, f->under == NULL ? 0 : strlen(f->under)};
  float *scratch = malloc((uint64_t)c->dim * 2 * sizeof *scratch);
  const uint64_t one_of = exact ? 1 + rng() % 30 : 1;
  CHECK(ty_enter(c, &err) == TY_OK); /* it may read what another process saved */
  ty_ref *expected = malloc((ty_total_rows(c) + 1) * sizeof *expected);
  CHECK(ty_filter_open(c, f->column, key, &filter, &err) == TY_OK);
  CHECK(ty_filter_under(c, 1, under, &filter, &err) == TY_OK && ty_filter_gather(c, &filter, &err) == TY_OK);
  ty_wanted w = {.top_k = top_k, .filter = &filter, .target = 1};
  w.query = ty_query_prepare(c, query, NULL, scratch);
  CHECK(ty_search_hits(c, &w, &plain, &err) == TY_OK);
  w.expected = expected;
  for (int s = 0; s < 2; s++) {
    for (uint64_t at = 0; at < segments[s]->count; at++)
      if (rng() % one_of == 0) expected[w.expected_count++] = (ty_ref){segments[s], at};
  }
  for (uint64_t i = 0; i < plain.count && chance(2); i++) { /* the best too */
    bool known = false;
    for (uint64_t k = 0; k < w.expected_count && !known; k++)
      known = expected[k].segment == plain.hits[i].ref.segment && expected[k].at == plain.hits[i].ref.at;
    if (!known) expected[w.expected_count++] = plain.hits[i].ref;
  }
  CHECK(ty_search_hits(c, &w, &found, &err) == TY_OK);
  bool same = found.count == plain.count;
  for (uint64_t i = 0; i < plain.count && same; i++)
    same = found.hits[i].birth == plain.hits[i].birth && found.hits[i].score == plain.hits[i].score &&
           found.hits[i].ref.at == plain.hits[i].ref.at;
  CHECK_MESSAGE(same || !exact, "%s: %llu rows are other ones if rows are expected", asked_of,
                (unsigned long long)top_k);
  free(plain.hits);
  free(found.hits);
  ty_filter_close(&filter);
  CHECK(ty_leave(c, TY_OK, &err) == TY_OK);
  free(scratch);
  free(expected);
}

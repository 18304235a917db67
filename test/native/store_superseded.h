/* What the last destructive save superseded: found after every kind of save, by every handle, and kept by a compaction
 * that is asked to for a day; queries are those of a collection without these rows. */

/* The model of it: the rows as they were before that save. */
typedef struct superseded_model {
  model rows; /* version 0: not among them */
  uint64_t count, time;
} superseded_model;

/* After a save that led from one state to the next. */
static void superseded_by(superseded_model *s, const model *before, const model *after) {
  superseded_model next = {.rows = *before, .time = model_clock};
  for (uint32_t i = 0; i < IDS; i++) {
    if (before->version[i] == after->version[i]) next.rows.version[i] = 0;
    next.count += next.rows.version[i] != 0;
  }
  if (next.count > 0) *s = next;
}

static int superseded_equal(ty_collection *c, const superseded_model *s) {
  uint32_t order[IDS], n = 0;
  for (uint32_t i = 0; i < IDS; i++) {
    if (s->rows.version[i] == 0) continue;
    uint32_t at = n++;
    for (; at > 0 && s->rows.birth[order[at - 1]] > s->rows.birth[i]; at--) order[at] = order[at - 1];
    order[at] = i;
  }
  ty_superseded_args args = {.what = TY_WITH_META | TY_WITH_TEXT | TY_WITH_VECTOR | TY_WITH_TIMES,
                             .out = answer,
                             .out_capacity = sizeof answer};
  if (ty_superseded(c, &args, &err) != TY_OK || args.out_count != n) return 0;
  if (n > 0 ? args.time != s->time || args.generation == 0 : args.generation != 0) return 0;
  uint64_t at = 0, length;
  for (uint32_t i = 0; i < n; i++, at += length) {
    if (!row_equal(answer + at, &s->rows, order[i], &length)) return 0;
  }
  return at == args.out_bytes;
}

/* The handle, another one and a fresh one. */
static int all_superseded_equal(ty_collection *c, ty_collection *other, const char *dir, const model *m,
                                const superseded_model *s) {
  ty_collection *fresh = open_saved(env, dir);
  int same = model_equal(c, m) && model_equal(other, m) && model_equal(fresh, m) && superseded_equal(c, s) &&
             superseded_equal(other, s) && superseded_equal(fresh, s);
  close_checked(fresh);
  return same;
}

/* A query by words has the same scores as after a compaction that drops the dead rows. */
static void words_of(ty_collection *c, double scores[IDS], uint64_t *count) {
  ty_ask_args ask = {.by = TY_BY_BOTH,
                     .vector = (const float[DIM]){1},
                     TEXT_OF("version 3 words of 17"),
                     .top_k = IDS,
                     EXACTLY,
                     .dense_weight = 0.3,
                     ANSWER_IN(answer)};
  CHECK_MESSAGE(ty_ask(c, &ask, &err) == TY_OK, "%s", err.message);
  uint64_t at = 0;
  *count = ask.out_count;
  for (uint64_t i = 0; i < ask.out_count; i++) {
    ty_record r;
    memcpy(&r, answer + at, sizeof r);
    scores[i] = r.score;
    at += sizeof r + padded(r.id_bytes);
  }
}

static void test_superseded(uint64_t seed) {
  FRESH_DIR(dir);
  rng_state = seed;
  model m = {0};
  superseded_model s = {0};
  uint64_t kept = 0;
  ty_collection *c = open_new(env, dir);
  CHECK(ty_begin(c, &err) == TY_OK);
  random_changes(c, &m, 12);
  CHECK(ty_save(c, &err) == TY_OK);
  ty_collection *other = open_saved(env, dir);
  for (int i = 0; i < 60; i++) {
    model before = m;
    CHECK(ty_begin(c, &err) == TY_OK);
    random_changes(c, &m, 1 + (uint32_t)(rng() % 12));
    CHECK_MESSAGE(superseded_equal(c, &s), "seed %llu step %d: unsaved", (unsigned long long)seed, i);
    if (rng() % 8 == 0) {
      ty_rollback(c);
      m = before;
    } else {
      CHECK(ty_save(c, &err) == TY_OK);
      superseded_by(&s, &before, &m);
    }
    CHECK_MESSAGE(all_superseded_equal(c, other, dir, &m, &s), "seed %llu step %d", (unsigned long long)seed, i);
    uint64_t what = rng() % 8;
    if (rng() % 4 == 0) model_clock += TY_SUPERSEDED_MS - (rng() % 2);
    ty_compact_args compact = {.keep = what < 4};
    ty_stats_args stats;
    CHECK(ty_stats(c, &stats, &err) == TY_OK);
    if (model_clock - s.time >= TY_SUPERSEDED_MS && model_clock > s.time) {
      CHECK(stats.values[TY_STAT_SUPERSEDED] == 0);
      if (what < 4) s = (superseded_model){0};
    } else {
      CHECK(stats.values[TY_STAT_SUPERSEDED] == s.count);
    }
    if (what < 5) {
      double with[IDS], without[IDS];
      uint64_t n, k;
      uint64_t dead = stats.values[TY_STAT_BASE_DEAD] + stats.values[TY_STAT_DELTA_DEAD];
      CHECK_MESSAGE(ty_begin(c, &err) == TY_OK && ty_compact(c, &compact, NULL, &err) == TY_OK, "%s", err.message);
      if (what == 4) s = (superseded_model){0};
      CHECK(compact.reclaimed_rows == dead - s.count && ty_stats(c, &stats, &err) == TY_OK);
      CHECK(stats.values[TY_STAT_BASE_DEAD] == s.count && stats.values[TY_STAT_DELTA_ROWS] == 0);
      CHECK(stats.values[TY_STAT_SAVES] == (s.count > 0));
      kept += s.count;
      words_of(c, with, &n);
      words_of(other, without, &k);
      CHECK(n == k && memcmp(with, without, n * sizeof *with) == 0);
      if (s.count > 0 && rng() % 4 == 0) { /* without these rows */
        compact.keep = 0;
        CHECK(ty_begin(c, &err) == TY_OK && ty_compact(c, &compact, NULL, &err) == TY_OK);
        words_of(c, without, &k);
        CHECK(n == k && memcmp(with, without, n * sizeof *with) == 0);
        s = (superseded_model){0};
      }
    } else if (what == 5) {
      ty_ivf_args ivf = {.min_rows = 4, .target_recall = 0.9};
      CHECK(ty_begin(c, &err) == TY_OK && ty_build_ivf(c, &ivf, NULL, &err) == TY_OK);
      s = (superseded_model){0};
    } else if (what == 6) {
      CHECK(ty_begin(c, &err) == TY_OK && note(c, "n", i % 2 == 0 ? "1" : "2") == TY_OK && ty_save(c, &err) == TY_OK);
    }
    CHECK_MESSAGE(all_superseded_equal(c, other, dir, &m, &s), "seed %llu step %d: after %d", (unsigned long long)seed,
                  i, (int)what);
    if (rng() % 4 == 0) {
      ty_collection *swap = c;
      c = other;
      other = swap;
    }
  }
  CHECK(kept > 0);
  close_checked(c);
  close_checked(other);
}

/* Rows that one save puts and replaces were never anyone's; and unsaved changes are not a compaction's to keep. */
static void test_superseded_of_one_save(void) {
  FRESH_DIR(dir);
  ty_compact_args compact = {.keep = 1};
  superseded_model none = {0};
  ty_collection *c = open_new(env, dir);
  CHECK(ty_begin(c, &err) == TY_OK && put_one(c, 1, TY_ADD) == TY_OK && ty_save(c, &err) == TY_OK);
  CHECK(ty_begin(c, &err) == TY_OK && put_one(c, 2, TY_ADD) == TY_OK && put_one(c, 2, TY_UPSERT) == TY_OK);
  CHECK(ty_save(c, &err) == TY_OK && superseded_equal(c, &none));
  CHECK(ty_begin(c, &err) == TY_OK && put_one(c, 3, TY_ADD) == TY_OK);
  CHECK(ty_compact(c, &compact, NULL, &err) == TY_STATE);
  close_checked(c);
}

/* The n-th call of a compaction that keeps rows fails: the old state or the new one, with the same rows superseded. */
static void test_superseded_failures(int code, uint32_t sticky) {
  FRESH_DIR(dir);
  model m = {0};
  ty_collection *c = open_new(env, dir);
  CHECK(ty_begin(c, &err) == TY_OK);
  random_changes(c, &m, 12);
  certain_change(c, &m);
  CHECK(ty_save(c, &err) == TY_OK && ty_begin(c, &err) == TY_OK);
  superseded_model s = {0};
  model before = m;
  certain_change(c, &m);
  CHECK(ty_save(c, &err) == TY_OK);
  superseded_by(&s, &before, &m);
  uint64_t n = 1;
  for (; n < CALLS_MOST; n++) {
    ty_compact_args compact = {.keep = 1};
    CHECK_MESSAGE(ty_begin(c, &err) == TY_OK, "begin: %s", err.message);
    ty_test_fail(env, n, code, sticky);
    ty_status status = ty_compact(c, &compact, NULL, &err);
    uint64_t calls = ty_test_fail(env, 0, 0, 0);
    CHECK_MESSAGE(model_equal(c, &m) && superseded_equal(c, &s), "call %llu, errno %d", (unsigned long long)n, code);
    ty_collection *again = open_saved(env, dir);
    CHECK_MESSAGE(model_equal(again, &m) && superseded_equal(again, &s), "call %llu, errno %d: reopened",
                  (unsigned long long)n, code);
    ty_collection_close(again);
    if (status == TY_OK && calls < n) break;
  }
  CHECK(n < CALLS_MOST);
  close_checked(c);
}

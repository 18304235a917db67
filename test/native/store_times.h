/* When rows were put: what keeps `created` and renews `updated`, lists by time, and the bounds of what is stored. */

static ty_status put_one(ty_collection *c, uint32_t id, uint64_t mode) {
  static batch b;
  b.n = 0;
  batch_add(&b, id, next_version++);
  ty_put_args args = batch_args(&b, mode);
  return ty_put(c, &args, NULL, &err);
}

static ty_times times_of(ty_collection *c, uint32_t id) {
  char name[64];
  uint64_t end = content_id(id, name);
  ty_get_args get = {.n = 1, .ids = (uint8_t *)name, .id_ends = &end, .what = TY_WITH_TIMES, ANSWER_IN(answer)};
  ty_times t = {0};
  CHECK(ty_get(c, &get, &err) == TY_OK && get.out_bytes >= sizeof(ty_record) + padded(end) + sizeof t);
  memcpy(&t, answer + sizeof(ty_record) + padded(end), sizeof t);
  return t;
}

static bool times_are(ty_collection *c, uint32_t id, uint64_t created, uint64_t updated) {
  ty_times t = times_of(c, id);
  return t.created == created && t.updated == updated;
}

/* Times that the caller gives, in place of the clock's. */
static void test_given_times(void) {
  static batch b;
  FRESH_DIR(dir);
  ty_compact_args compact = {0};
  ty_collection *c = open_new(env, dir);
  uint64_t times[2] = {100, 200};
  model_clock = 5000;
  for (uint32_t round = 0; round < 2; round++, times[0] = 50, times[1] = 900) {
    b.n = 0;
    batch_add(&b, 1, next_version++);
    batch_add(&b, 2, next_version++);
    ty_put_args args = batch_args(&b, TY_UPSERT);
    args.updated = times;
    CHECK(ty_begin(c, &err) == TY_OK && ty_put(c, &args, NULL, &err) == TY_OK && ty_save(c, &err) == TY_OK);
  }
  CHECK(times_are(c, 1, 100, 100) && times_are(c, 2, 200, 900)); /* never before it was created */
  CHECK(ty_begin(c, &err) == TY_OK && ty_compact(c, &compact, NULL, &err) == TY_OK);
  CHECK(times_are(c, 1, 100, 100) && times_are(c, 2, 200, 900));
  times[0] = (uint64_t)1 << 48;
  ty_put_args args = batch_args(&b, TY_UPSERT);
  args.updated = times;
  CHECK(ty_begin(c, &err) == TY_OK && ty_put(c, &args, NULL, &err) == TY_INVALID);
  ty_rollback(c);
  model_clock = 0;
  close_checked(c);
}

/* Live rows by the day on which they were created, in the delta and in the base. */
static bool days_are(ty_collection *c, uint64_t n, const uint64_t *want) {
  uint64_t out[4] = {9, 9, 9, 9};
  ty_days_args args = {.n = n, .out = out};
  return ty_days(c, &args, &err) == TY_OK && memcmp(out, want, (size_t)n * sizeof *out) == 0 && (n == 4 || out[n] == 9);
}

static void test_days(void) {
  const uint64_t day = 86400000, created[5] = {0, day - 1, day, 2 * day + 5, TY_TIME_MAX};
  static batch b;
  FRESH_DIR(dir);
  ty_collection *c = open_new(env, dir);
  CHECK(days_are(c, 2, (uint64_t[]){0, 0}));
  ty_days_args none = {.n = 0};
  CHECK(ty_days(c, &none, &err) == TY_INVALID && strstr(err.message, "at least 1") != NULL);
  b.n = 0;
  for (uint32_t i = 0; i < 5; i++) batch_add(&b, i, next_version++);
  ty_put_args args = batch_args(&b, TY_ADD);
  args.created = args.updated = created;
  CHECK(ty_begin(c, &err) == TY_OK && ty_put(c, &args, NULL, &err) == TY_OK && ty_save(c, &err) == TY_OK);
  for (int step = 0; step < 2; step++) {
    CHECK(days_are(c, 1, (uint64_t[]){5}) && days_are(c, 3, (uint64_t[]){2, 1, 2}));
    CHECK(days_are(c, 4, (uint64_t[]){2, 1, 1, 1}));
    ty_compact_args compact = {0};
    CHECK(ty_begin(c, &err) == TY_OK && ty_compact(c, &compact, NULL, &err) == TY_OK);
  }
  char id[64];
  uint64_t end = content_id(1, id);
  ty_delete_args gone = {.n = 1, .ids = (uint8_t *)id, .id_ends = &end};
  CHECK(ty_begin(c, &err) == TY_OK && ty_delete(c, &gone, &err) == TY_OK && put_one(c, 2, TY_UPSERT) == TY_OK);
  CHECK(days_are(c, 4, (uint64_t[]){1, 1, 1, 1})); /* what is replaced keeps its day */
  CHECK(ty_save(c, &err) == TY_OK && days_are(c, 4, (uint64_t[]){1, 1, 1, 1}));
  close_checked(c);
}

/* Through saves, rewrites, a roll-back, another handle and a clock that is set back. */
static void test_times(void) {
  FRESH_DIR(dir);
  ty_compact_args compact = {0};
  ty_collection *c = open_new(env, dir);
  model_clock = 5000;
  CHECK(ty_begin(c, &err) == TY_OK && put_one(c, 1, TY_ADD) == TY_OK && put_one(c, 2, TY_ADD) == TY_OK);
  CHECK(times_are(c, 1, 5000, 5000));
  model_clock = 6000;
  CHECK(put_one(c, 1, TY_UPSERT) == TY_OK && ty_save(c, &err) == TY_OK);
  CHECK(times_are(c, 1, 5000, 6000) && times_are(c, 2, 5000, 5000));
  ty_collection *other = open_saved(env, dir);
  model_clock = 7000;
  CHECK(ty_begin(c, &err) == TY_OK && put_one(c, 2, TY_UPDATE) == TY_OK && put_one(c, 1, TY_UPSERT) == TY_OK);
  CHECK(times_are(c, 2, 5000, 7000) && times_are(other, 2, 5000, 5000));
  ty_rollback(c);
  CHECK(times_are(c, 2, 5000, 5000) && times_are(c, 1, 5000, 6000));
  CHECK(ty_begin(c, &err) == TY_OK && put_one(c, 2, TY_UPDATE) == TY_OK && ty_save(c, &err) == TY_OK);
  CHECK(times_are(other, 2, 5000, 7000)); /* it follows */
  CHECK(ty_begin(other, &err) == TY_OK && ty_compact(other, &compact, NULL, &err) == TY_OK);
  CHECK(times_are(other, 1, 5000, 6000) && times_are(c, 1, 5000, 6000) && times_are(c, 2, 5000, 7000));
  model_clock = 5500; /* before the last update, after the first put */
  CHECK(ty_begin(c, &err) == TY_OK && put_one(c, 2, TY_UPSERT) == TY_OK);
  model_clock = 4000; /* before both */
  CHECK(put_one(c, 1, TY_UPSERT) == TY_OK && put_one(c, 3, TY_ADD) == TY_OK && ty_save(c, &err) == TY_OK);
  CHECK(times_are(c, 2, 5000, 5500) && times_are(c, 1, 5000, 5000) && times_are(c, 3, 4000, 4000));
  CHECK(times_are(other, 2, 5000, 5500) && times_are(other, 1, 5000, 5000) && times_are(other, 3, 4000, 4000));
  static batch b;
  b.n = 0;
  batch_add(&b, 1, 1);
  ty_delete_args gone = {.n = 1, .ids = (uint8_t *)b.ids, .id_ends = b.id_ends};
  model_clock = 8000;
  CHECK(ty_begin(c, &err) == TY_OK && ty_delete(c, &gone, &err) == TY_OK && put_one(c, 1, TY_UPSERT) == TY_OK);
  CHECK(ty_save(c, &err) == TY_OK && times_are(c, 1, 8000, 8000)); /* another row of that id */
  model_clock = UINT64_MAX;
  CHECK(ty_begin(c, &err) == TY_OK && put_one(c, 4, TY_ADD) == TY_OK && ty_save(c, &err) == TY_OK);
  CHECK(times_are(other, 4, TY_TIME_MAX, TY_TIME_MAX));
  CHECK(ty_begin(c, &err) == TY_OK && ty_compact(c, &compact, NULL, &err) == TY_OK);
  CHECK(times_are(other, 4, TY_TIME_MAX, TY_TIME_MAX) && times_are(other, 3, 4000, 4000));
  model_clock = 1000000;
  close_checked(c);
  close_checked(other);
}

/* Whether the model has row `a` before row `b` in an answer. */
static bool before(const model *m, bool newest, uint32_t a, uint32_t b) {
  if (newest && m->times[a].updated != m->times[b].updated) return m->times[a].updated > m->times[b].updated;
  return newest ? m->birth[a] > m->birth[b] : m->birth[a] < m->birth[b];
}

static int listed_equal(ty_collection *c, const model *m, const ty_ids_args *asked) {
  uint32_t rows[IDS], n = 0;
  for (uint32_t i = 0; i < IDS; i++) {
    uint64_t updated = m->times[i].updated;
    if (m->version[i] == 0 || updated < asked->since || (asked->until > 0 && updated >= asked->until)) continue;
    if (asked->column == 1 && m->version[i] % 2 != 1) continue;
    uint32_t at = n++;
    for (; at > 0 && before(m, asked->newest > 0, i, rows[at - 1]); at--) rows[at] = rows[at - 1];
    rows[at] = i;
  }
  uint64_t most = asked->limit > 0 ? asked->limit : IDS;
  if (asked->newest > 0 && asked->newest < most) most = asked->newest;
  if (n > most) n = (uint32_t)most;
  ty_ids_args args = *asked;
  if (ty_ids(c, &args, &err) != TY_OK || args.out_count != n) return 0;
  uint64_t at = 0, length;
  for (uint32_t i = 0; i < n; i++, at += length) {
    if (!row_equal(answer + at, m, rows[i], &length)) return 0;
  }
  return at == args.out_bytes;
}

/* Lists by time, of saved, unsaved and compacted rows, against the model. */
static void test_newest(void) {
  FRESH_DIR(dir);
  model m = {0};
  ty_compact_args compact = {0};
  ty_collection *c = open_new(env, dir);
  for (int i = 0; i < 30; i++) {
    CHECK(ty_begin(c, &err) == TY_OK);
    random_changes(c, &m, 12);
    for (int j = 0; j < 20; j++) {
      uint64_t one = m.times[rng() % IDS].updated, two = m.times[rng() % IDS].updated;
      ty_ids_args asked = {.column = rng() % 2 ? TY_NO_FILTER : 1,
                           .key = (const uint8_t *)"k1",
                           .key_bytes = 2,
                           .limit = rng() % 2 ? 0 : 1 + rng() % 9,
                           .since = rng() % 2 ? 0 : one,
                           .until = rng() % 2 ? 0 : two,
                           .newest = rng() % 2   ? 0
                                     : rng() % 3 ? 1 + rng() % 9
                                                 : UINT64_MAX,
                           .what = TY_WITH_META | TY_WITH_TEXT | TY_WITH_VECTOR | TY_WITH_TIMES,
                           .out = answer,
                           .out_capacity = sizeof answer};
      CHECK(listed_equal(c, &m, &asked));
    }
    CHECK((i % 5 == 4 ? ty_compact(c, &compact, NULL, &err) : ty_save(c, &err)) == TY_OK);
  }
  CHECK(model_equal(c, &m) && saved_equal(env, dir, &m));
  ty_ids_args both = {.column = TY_NO_FILTER, .after = (const uint8_t *)"k1", .after_bytes = 2, .newest = 3};
  CHECK(ty_ids(c, &both, &err) == TY_INVALID && strstr(err.message, "after") != NULL);
  close_checked(c);
  ty_newest many = {.wanted = 7}; /* sorted now and then */
  for (uint64_t i = 0; i < 10000; i++) CHECK(ty_newest_offer(&many, (ty_recent){i * 7919 % 5000, i}));
  ty_newest_end(&many);
  CHECK(many.count == 7 && many.capacity <= 256);
  for (uint64_t i = 0; i < many.count; i++) {
    CHECK(many.items[i].updated == 4999 - i / 2 && many.items[i].order * 7919 % 5000 == many.items[i].updated);
    CHECK(i % 2 == 0 || many.items[i].order + 5000 == many.items[i - 1].order);
  }
  free(many.items);
}

/* A section of times as an untrusted file has it. */
static void test_time_bounds(void) {
  struct {
    ty_times_head head;
    uint8_t bytes[2 * 2 * TY_TIME_BYTES];
  } s = {.head = {.first = TY_TIME_MAX - 0x300, .created_bytes = 2, .later_bytes = 1},
         .bytes = {1, 2, 0xff, 0xff, 3, 0}};
  ty_packed_times p;
  ty_slice good = {(const uint8_t *)&s, sizeof s.head + 6};
  CHECK(ty_times_open(good, 2, &p));
  ty_times a = ty_times_at(&p, 0), b = ty_times_at(&p, 1);
  CHECK(a.created == TY_TIME_MAX - 0x300 + 0x201 && a.updated == a.created + 3);
  CHECK(b.created == TY_TIME_MAX && b.updated == TY_TIME_MAX); /* cut off */
  CHECK(!ty_times_open((ty_slice){good.data, good.bytes - 1}, 2, &p) && !ty_times_open(good, 1, &p));
  CHECK(!ty_times_open((ty_slice){good.data, sizeof s.head - 1}, 0, &p) && !ty_times_open(good, UINT64_MAX / 2, &p));
  s.head.reserved[5] = 1;
  CHECK(!ty_times_open(good, 2, &p));
  s.head.reserved[5] = 0;
  s.head.first = TY_TIME_MAX + 1;
  CHECK(!ty_times_open(good, 2, &p));
  s.head = (ty_times_head){.created_bytes = TY_TIME_BYTES + 1};
  CHECK(!ty_times_open((ty_slice){good.data, sizeof s.head + 2 * (TY_TIME_BYTES + 1)}, 2, &p));
  s.head = (ty_times_head){.later_bytes = TY_TIME_BYTES + 1};
  CHECK(!ty_times_open((ty_slice){good.data, sizeof s.head + 2 * (TY_TIME_BYTES + 1)}, 2, &p));
}

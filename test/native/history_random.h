/* The history of random changes, roll-backs, rewrites and reopenings, by two handles in turn that follow each other,
 * and of copies that take it. For history_test.c. */

static past history;

/* ---- The bits of stored vectors -------------------------------------------------------------------------------------
 */
#define VERSIONS 4096u
static uint8_t stored_bits[VERSIONS][DIM * sizeof(float) + 8];
static bool stored_known[VERSIONS];

/* Whether every live row's vector is, to the bit, that of the first row of its version. */
static bool bits_equal(ty_collection *c, const model *m) {
  char id[64];
  int8_t codes[AME_CODE_STRIDE(DIM)];
  uint8_t bits[DIM * sizeof(float) + 8] __attribute__((aligned(8)));
  bool same = true;
  CHECK(next_version < VERSIONS && ty_enter(c, &err) == TY_OK);
  for (uint32_t i = 0; i < IDS; i++) {
    const uint32_t version = m->version[i];
    ty_ref row;
    bool found;
    if (version == 0) continue;
    memset(bits, 0, sizeof bits);
    CHECK(ty_find(c, (ty_slice){(uint8_t *)id, content_id(i, id)}, &row, &found, &err) == TY_OK && found);
    ty_row_stored(c, row.segment, row.at, codes, bits);
    if (!stored_known[version]) memcpy(stored_bits[version], bits, sizeof bits);
    stored_known[version] = true;
    same &= memcmp(stored_bits[version], bits, sizeof bits) == 0;
  }
  return ty_leave(c, TY_OK, &err) == TY_OK && same;
}

/* ---- Changes --------------------------------------------------------------------------------------------------------
 */
/* Rows as they were before some changes, with their vectors from the history. */
static void put_back(ty_collection *c, model *m) {
  static batch b;
  uint64_t changes[8];
  uint64_t seen = 0;
  b.n = 0;
  tick();
  for (uint32_t tries = 0; tries < 8 && past_number > 0; tries++) {
    const uint64_t i = rng() % past_number;
    if (past_kind[i] == TY_CHANGE_ADDED || seen >> past_id[i] & 1) continue;
    const uint32_t version = past_version[i];
    if (m->version[past_id[i]] == version) continue;
    seen |= (uint64_t)1 << past_id[i];
    changes[b.n] = past_first + i;
    batch_add(&b, past_id[i], version);
    model_put(m, past_id[i], version);
  }
  if (b.n == 0) return;
  ty_put_args args = batch_args(&b, TY_UPSERT);
  args.vectors = NULL;
  args.changes = changes;
  args.flags |= TY_PUT_CHANGES;
  CHECK_MESSAGE(ty_put(c, &args, NULL, &err) == TY_OK, "%s", err.message);
}

/* Rows with times of their own. */
static void put_dated(ty_collection *c, model *m) {
  static batch b;
  uint64_t created[IDS], updated[IDS];
  b.n = 0;
  for (uint32_t id = (uint32_t)(rng() % 7); id < IDS; id += 7, next_version++) {
    const uint64_t from = rng() % 2000000, to = from + rng() % 3 * 100000;
    const bool had = m->version[id] != 0;
    created[b.n] = from;
    updated[b.n] = to;
    batch_add(&b, id, next_version);
    model_put(m, id, next_version);
    if (!had) m->times[id].created = from;
    m->times[id].updated = to > m->times[id].created ? to : m->times[id].created;
  }
  ty_put_args args = batch_args(&b, TY_UPSERT);
  args.created = created;
  args.updated = updated;
  CHECK_MESSAGE(ty_put(c, &args, NULL, &err) == TY_OK, "%s", err.message);
}

static void set_days(ty_collection *c, past *p) {
  static const uint64_t days[] = {0, 1, 30, 400, 30};
  char json[64];
  p->days = days[rng() % 5];
  const int bytes = snprintf(json, sizeof json, "{\"days\":%u,\"percent\":25}", (unsigned)p->days);
  CHECK(ty_note(c, (const uint8_t *)"history", 7, (const uint8_t *)json, (uint64_t)bytes, &err) == TY_OK);
}

static const char *set_origin(ty_collection *c) {
  static const char *const origins[] = {"", "", "{}", "{\"client\":\"one\"}", "{\"client\":\"two\"}"};
  const char *origin = origins[rng() % 5];
  if (origin[0] != 0) CHECK(ty_origin(c, (const uint8_t *)origin, strlen(origin), &err) == TY_OK);
  return strcmp(origin, "{}") == 0 ? "" : origin;
}

/* ---- Ends of a change -----------------------------------------------------------------------------------------------
 */
enum { BY_SAVE, BY_ROLLBACK, BY_COMPACT, BY_DROP, BY_PURGE, BY_IVF, BY_LEXICAL, BY_SAVE_TOO };

static ty_status purge(ty_collection *c, past *p, uint64_t mask) {
  char ids[4 * 64];
  uint64_t ends[4], at = 0, n = 0;
  for (uint32_t id = 0; id < IDS && n < 4; id++) {
    if (!(mask >> id & 1)) continue;
    ends[n++] = at += content_id(id, ids + at);
    past_purge(p, id);
  }
  ty_compact_args args = {.keep = 1, .ids = (const uint8_t *)ids, .id_ends = ends, .n = n};
  return ty_compact(c, &args, NULL, &err);
}

/* Ends the change, and tells the model what it has led to. */
static void end_change(ty_collection *c, const model *before, model *m, past *p, int what, const char *origin) {
  ty_ivf_args ivf = {.min_rows = 4, .target_recall = 0.9};
  ty_lexical_args lexical = {1.2, 0.75};
  ty_compact_args compact = {.keep = what == BY_COMPACT};
  ty_status status = TY_OK;
  uint64_t next = generation_of(c) + 1;
  if (what == BY_ROLLBACK) {
    ty_rollback(c);
    *m = *before;
    return;
  }
  past_saved(p, before, m, next, origin);
  switch (what) {
  case BY_COMPACT:
  case BY_DROP: status = ty_compact(c, &compact, NULL, &err); break;
  case BY_PURGE: status = purge(c, p, (rng() & rng() & rng()) | (uint64_t)1 << rng() % IDS); break;
  case BY_IVF: status = ty_build_ivf(c, &ivf, NULL, &err); break;
  case BY_LEXICAL: status = ty_build_lexical(c, &lexical, NULL, &err); break;
  default: status = ty_save(c, &err);
  }
  CHECK_MESSAGE(status == TY_OK, "end of kind %d: %s", what, err.message);
  if (what == BY_DROP) p->count = 0;
  if (what != BY_SAVE && what != BY_SAVE_TOO) past_rewritten(p);
}

/* ---- Copies ---------------------------------------------------------------------------------------------------------
 */
/* All rows in another collection, which takes the history; later saves go on with it. */
static void adopt_into_copy(ty_collection *c, const model *m, const past *p) {
  FRESH_DIR(dir);
  static batch b;
  static past copied;
  uint64_t created[IDS], updated[IDS];
  model rows = *m;
  ty_collection *d = open_new(env, dir);
  b.n = 0;
  for (uint64_t birth = 1; birth <= m->births; birth++) {
    for (uint32_t id = 0; id < IDS; id++) {
      if (m->version[id] == 0 || m->birth[id] != birth) continue;
      created[b.n] = m->times[id].created;
      updated[b.n] = m->times[id].updated;
      batch_add(&b, id, m->version[id]);
    }
  }
  ty_put_args args = batch_args(&b, TY_ADD);
  args.created = created;
  args.updated = updated;
  CHECK(ty_begin(d, &err) == TY_OK && ty_put(d, &args, NULL, &err) == TY_OK && ty_save(d, &err) == TY_OK);
  CHECK(ty_begin(d, &err) == TY_OK);
  CHECK_MESSAGE(ty_history_adopt(d, c, &err) == TY_OK, "%s", err.message);
  if (rng() % 2 == 0) { /* and is dropped again */
    ty_rollback(d);
    CHECK(ty_begin(d, &err) == TY_OK && ty_history_adopt(d, c, &err) == TY_OK);
  }
  CHECK(ty_history_adopt(d, c, &err) == TY_STATE);
  copied = *p;
  past_rewritten(&copied);
  copied.days = 30;
  CHECK_MESSAGE(ty_save(d, &err) == TY_OK, "%s", err.message);
  CHECK(generation_of(d) > generation_of(c) && model_equal(d, m) && history_equal(d, &copied));
  for (int i = 0; i < 2; i++) {
    model before = rows;
    CHECK(ty_begin(d, &err) == TY_OK);
    random_changes(d, &rows, 5);
    end_change(d, &before, &rows, &copied, i == 0 ? BY_SAVE : BY_COMPACT, "");
    CHECK(model_equal(d, &rows) && history_equal(d, &copied));
  }
  close_checked(d);
  d = open_saved(env, dir);
  CHECK(history_equal(d, &copied));
  close_checked(d);
  remove_tree(dir);
}

/* ---- All of it ------------------------------------------------------------------------------------------------------
 */
static bool all_equal(ty_collection *c, ty_collection *other, const char *dir, const model *m, bool again) {
  bool same = model_equal(c, m) && history_equal(c, &history) && history_equal(other, &history) && bits_equal(c, m);
  if (!again) return same;
  ty_collection *fresh = open_saved(env, dir);
  same &= history_equal(fresh, &history) && model_equal(other, m) && bits_equal(fresh, m);
  close_checked(fresh);
  return same;
}

static void test_random_history(uint64_t seed, int steps) {
  FRESH_DIR(dir);
  rng_state = seed;
  model_clock = 1000000;
  next_version = 1;
  memset(stored_known, 0, sizeof stored_known);
  model m = {0};
  past_begin(&history);
  ty_collection *c = open_new(env, dir), *other = NULL;
  for (int i = 0; i < steps; i++) {
    const model before = m;
    const uint64_t days = history.days, kind = rng() % 12, pick = rng() % 12;
    CHECK_MESSAGE(ty_begin(c, &err) == TY_OK, "%s", err.message);
    const char *origin = set_origin(c);
    if (kind == 0) put_dated(c, &m);
    else if (kind == 1 && i > 0) set_days(c, &history);
    else if (kind <= 4 && i > 0) put_back(c, &m);
    else random_changes(c, &m, 1 + (uint32_t)(rng() % 9));
    const int what = i == 0 ? BY_SAVE : pick > BY_SAVE_TOO ? BY_SAVE : (int)pick;
    end_change(c, &before, &m, &history, what, origin);
    if (what == BY_ROLLBACK) history.days = days;
    if (other == NULL) other = open_saved(env, dir);
    CHECK_MESSAGE(all_equal(c, other, dir, &m, i % 4 == 0), "seed %llu step %d: %s %s codes %d, kind %d, after %d",
                  (unsigned long long)seed, i, model_dtype, model_metric, model_codes, (int)kind, what);
    if (i % 16 == 11) {
      adopt_into_copy(c, &m, &history);
      CHECK(history_equal(c, &history)); /* put_back looks at what it leaves */
    }
    if (rng() % 4 == 0) {
      ty_collection *swap = c;
      c = other;
      other = swap;
    }
  }
  close_checked(c);
  close_checked(other);
  remove_tree(dir);
}

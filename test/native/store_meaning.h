/* Vectors of meaning against a model that knows which rows have one: puts, fills, drops, rewrites, roll-backs, a second
 * handle. The encoder is a stand-in, whose vectors follow from the text; the kernel's own has a test of its own. */
#pragma once

/* Whether exactly the rows in `has` have vectors, and the counters say so. */
static int meaning_equal(ty_collection *c, const model *m, const bool has[IDS]) {
  uint64_t live = 0, filled = 0;
  for (uint32_t i = 0; i < IDS; i++) live += m->version[i] != 0, filled += m->version[i] != 0 && has[i];
  ty_stats_args stats;
  return vectors_equal(c, m, has) && ty_stats(c, &stats, &err) == TY_OK && stats.values[TY_STAT_TEXT_ROWS] == live &&
         stats.values[TY_STAT_MEANING_ROWS] == filled && stats.values[TY_STAT_MEANING_LOST] == 0;
}

static int meaning_saved(ty_env *e, const char *dir, const model *m, const bool has[IDS]) {
  ty_collection *c = open_saved(e, dir);
  int same = c != NULL && meaning_equal(c, m, has) && ty_verify(c, NULL, &err) == TY_OK;
  ty_collection_close(c);
  return same;
}

/* Encodes up to `most` rows; the records of rows that are live now and have none are staged and noted in `has`. */
static uint64_t meaning_fill(ty_collection *c, uint64_t most, const model *m, bool has[IDS]) {
  static ty_meaning_record records[IDS];
  char id[64];
  ty_meaning_encode_args encode = {.most = most, .out = records};
  CHECK_MESSAGE(ty_meaning_encode(c, &encode, NULL, &err) == TY_OK, "%s", err.message);
  ty_meaning_put_args put = {.records = records, .n = encode.out_count, .base = encode.base};
  CHECK_MESSAGE(ty_meaning_put(c, &put, &err) == TY_OK, "%s", err.message);
  CHECK(!put.base_changed && put.put <= put.n);
  uint64_t noted = 0;
  for (uint32_t i = 0; i < IDS; i++) {
    ty_ref row;
    bool found;
    if (m->version[i] == 0 || has[i]) continue;
    CHECK(ty_find(c, (ty_slice){(uint8_t *)id, content_id(i, id)}, &row, &found, &err) == TY_OK && found);
    for (uint64_t k = 0; k < put.n; k++) {
      if (records[k].row == row.segment->row[row.at]) has[i] = true, noted++;
    }
  }
  CHECK(noted == put.put);
  return put.put;
}

/* Puts a batch of rows with the flag: those of a batch that is not too long get vectors. */
static void meaning_put_rows(ty_collection *c, model *m, bool has[IDS], uint32_t n, bool flag) {
  static batch b;
  bool seen[IDS] = {false};
  uint64_t distinct = 0;
  b.n = 0;
  tick();
  for (uint32_t i = 0; i < n; i++) {
    uint32_t id = (uint32_t)(rng() % IDS), version = next_version++;
    batch_add(&b, id, version);
    model_put(m, id, version);
    distinct += !seen[id];
    seen[id] = true;
  }
  for (uint32_t i = 0; i < IDS; i++) has[i] = seen[i] ? flag && distinct <= TY_MEANING_ROWS_MAX : has[i];
  ty_put_args args = batch_args(&b, TY_UPSERT);
  if (flag) args.flags |= TY_PUT_MEANING;
  CHECK_MESSAGE(ty_put(c, &args, NULL, &err) == TY_OK, "%s", err.message);
}

static void test_meaning(uint64_t seed) {
  FRESH_DIR(dir);
  rng_state = seed;
  model_meaning = false;
  model m = {0};
  bool has[IDS] = {false};
  ty_collection *c = open_new(env, dir), *follower = NULL;
  CHECK(ty_begin(c, &err) == TY_OK);
  meaning_put_rows(c, &m, has, 6, true);
  CHECK(ty_save(c, &err) == TY_OK && meaning_equal(c, &m, has));
  follower = open_saved(env, dir);
  for (int i = 0; i < 60; i++) {
    model before = m;
    bool had[IDS];
    memcpy(had, has, sizeof had);
    CHECK_MESSAGE(ty_begin(c, &err) == TY_OK, "begin: %s", err.message);
    uint64_t what = rng() % 12;
    if (what < 5) meaning_put_rows(c, &m, has, 1 + (uint32_t)(rng() % 11), rng() % 3 > 0);
    if (what == 4 || what == 5) meaning_fill(c, 1 + rng() % 9, &m, has);
    if (what >= 6 && what < 9) {
      random_changes(c, &m, 6);
      for (uint32_t k = 0; k < IDS; k++) has[k] &= m.version[k] == before.version[k];
    }
    if (what == 9) {
      CHECK(ty_meaning_drop(c, &err) == TY_OK);
      memset(has, 0, sizeof has);
    }
    uint64_t how = rng() % 8;
    ty_compact_args compact = {0};
    ty_ivf_args ivf = {.min_rows = 4, .target_recall = 0.9};
    ty_status status = TY_OK;
    if (how == 0) ty_rollback(c), m = before, memcpy(has, had, sizeof has);
    else if (how == 1) status = ty_compact(c, &compact, NULL, &err);
    else if (how == 2) status = ty_build_ivf(c, &ivf, NULL, &err);
    else status = ty_save(c, &err);
    CHECK_MESSAGE(status == TY_OK, "seed %llu step %d: %s", (unsigned long long)seed, i, err.message);
    CHECK_MESSAGE(meaning_equal(c, &m, has), "seed %llu step %d: after %d, %d", (unsigned long long)seed, i, (int)what,
                  (int)how);
    if (rng() % 2)
      CHECK_MESSAGE(meaning_equal(follower, &m, has), "seed %llu step %d: the follower", (unsigned long long)seed, i);
    if (i % 10 == 9)
      CHECK_MESSAGE(meaning_saved(env, dir, &m, has), "seed %llu step %d: reopened", (unsigned long long)seed, i);
    if (rng() % 4 == 0) {
      ty_collection *other = c;
      c = follower;
      follower = other;
    }
  }
  CHECK(model_equal(c, &m) && model_equal(follower, &m));
  model_meaning = true;
  close_checked(c);
  close_checked(follower);
}

/* Saves one row with a vector, and one without. */
static ty_collection *meaning_two(char dir[320], model *m, bool has[IDS]) {
  static batch b;
  fresh_dir(dir);
  ty_collection *c = open_new(env, dir);
  for (uint32_t i = 0; i < 2; i++) {
    b.n = 0;
    batch_add(&b, i, 1 + i);
    model_put(m, i, 1 + i);
    ty_put_args args = batch_args(&b, TY_ADD);
    args.flags = i == 0 ? TY_PUT_MEANING : 0;
    CHECK(ty_begin(c, &err) == TY_OK && ty_put(c, &args, NULL, &err) == TY_OK && ty_save(c, &err) == TY_OK);
  }
  has[0] = true;
  CHECK(meaning_equal(c, m, has));
  return c;
}

/* A fill that is stopped, of rows that are gone, of another base, of what no encoder makes, and without a model. */
static void test_meaning_refused(void) {
  char dir[320];
  model m = {0};
  bool has[IDS] = {false};
  ty_meaning_record records[4];
  ty_collection *c = meaning_two(dir, &m, has), *other;
  const uint32_t stop = 1;
  ty_progress progress = {.cancel = 1};
  ty_meaning_encode_args encode = {.most = 4, .stop = &stop, .background = 1, .out = records};
  CHECK(ty_meaning_encode(c, &encode, NULL, &err) == TY_CANCELLED && encode.out_count == 0 && encode.left == 1);
  encode.stop = NULL;
  CHECK(ty_meaning_encode(c, &encode, &progress, &err) == TY_CANCELLED && encode.out_count == 0);
  CHECK(ty_meaning_encode(c, &encode, NULL, &err) == TY_OK && encode.out_count == 1 && encode.left == 0);
  ty_meaning_put_args put = {.records = records, .n = 1, .base = encode.base};
  CHECK(ty_meaning_put(c, &put, &err) == TY_STATE);
  CHECK(ty_begin(c, &err) == TY_OK);
  records[0].encoding.codes[7] = INT8_MIN;
  CHECK(ty_meaning_put(c, &put, &err) == TY_INVALID && put.put == 0);
  records[0].encoding.codes[7] = 0;
  records[0].row += 100;
  CHECK(ty_meaning_put(c, &put, &err) == TY_OK && put.put == 0 && !put.base_changed);
  ty_compact_args compact = {0};
  CHECK(ty_compact(c, &compact, NULL, &err) == TY_OK && ty_begin(c, &err) == TY_OK);
  records[0].row -= 100;
  CHECK(ty_meaning_put(c, &put, &err) == TY_OK && put.put == 0 && put.base_changed);
  uint64_t generation = c->generation;
  CHECK(ty_save(c, &err) == TY_OK && c->generation == generation && meaning_equal(c, &m, has));
  ty_env *plain;
  CHECK(ty_env_open(stand_in_kernel(), 1, &plain, &err) == TY_OK);
  CHECK(ty_env_model(plain, meaning_models[0] + 1, MEANING_MODEL_BYTES, &err) == TY_INVALID);
  other = open_saved(plain, dir);
  CHECK(meaning_equal(other, &m, has)); /* it keeps what others have made */
  CHECK(ty_meaning_encode(other, &encode, NULL, &err) == TY_STATE);
  CHECK(ty_begin(other, &err) == TY_OK && ty_meaning_put(other, &put, &err) == TY_STATE);
  CHECK(ty_compact(other, &compact, NULL, &err) == TY_OK && meaning_equal(other, &m, has));
  CHECK(meaning_equal(c, &m, has));
  close_checked(other);
  ty_env_close(plain);
  close_checked(c);
}

/* A process with another model adds vectors of its own, and neither sees the other's. The next rewrite keeps those of
 * the process that makes it. */
static void test_meaning_of_another_model(void) {
  char dir[320];
  model m = {0};
  bool has[IDS] = {false}, none[IDS] = {false};
  ty_collection *c = meaning_two(dir, &m, has);
  ty_env *second;
  meaning_model = 1;
  CHECK(env_open(1, &second));
  CHECK(ty_env_model(second, meaning_models[0], MEANING_MODEL_BYTES, &err) == TY_STATE);
  ty_collection *other = open_saved(second, dir);
  CHECK(meaning_equal(other, &m, none) && ty_begin(other, &err) == TY_OK);
  CHECK(meaning_fill(other, 1, &m, none) == 1 && ty_save(other, &err) == TY_OK && meaning_equal(other, &m, none));
  close_checked(other);
  ty_env_close(second);
  meaning_model = 0;
  ty_compact_args compact = {0};
  CHECK(meaning_equal(c, &m, has) && ty_begin(c, &err) == TY_OK && ty_compact(c, &compact, NULL, &err) == TY_OK);
  CHECK(meaning_saved(env, dir, &m, has));
  close_checked(c);
}

/* Files that are missing, cut off, damaged in each part, or of another base: the vectors that are left are right, the
 * damage is noted, and the next vectors begin a fresh file where no block can be read. */
static void test_meaning_damaged(void) {
  char path[320 + 64];
  for (int kind = 0; kind < 6; kind++) {
    char dir[320];
    model m = {0};
    bool has[IDS] = {false};
    ty_collection *c = meaning_two(dir, &m, has);
    CHECK(ty_begin(c, &err) == TY_OK && meaning_fill(c, 1, &m, has) == 1 && ty_save(c, &err) == TY_OK);
    snprintf(path, sizeof path, "%s/%s", dir, c->store->files.meaning.name);
    /* Two blocks of one record each: header 64, block header 64, record and padding 192. */
    CHECK(c->store->files.meaning.bytes == 64 + 2 * 256);
    ty_collection_close(c);
    if (kind == 0) CHECK(unlink(path) == 0);
    else if (kind == 1) CHECK(truncate(path, 300) == 0);
    else {
      static const long places[] = {40, 64 + 5, 64 + 70, 64 + 256 + 70};
      FILE *f = fopen(path, "r+b");
      fseek(f, places[kind - 2], SEEK_SET);
      int byte = fgetc(f);
      fseek(f, places[kind - 2], SEEK_SET);
      fputc(byte ^ 4, f);
      fclose(f);
    }
    const bool lost = kind < 3;
    has[0] = kind == 5, has[1] = kind == 3 || kind == 4;
    c = open_saved(env, dir);
    CHECK_MESSAGE(vectors_equal(c, &m, has), "kind %d", kind);
    ty_stats_args stats;
    CHECK(ty_stats(c, &stats, &err) == TY_OK && stats.values[TY_STAT_MEANING_LOST] == lost &&
          stats.values[TY_STAT_DAMAGES] == 1 && ty_verify(c, NULL, &err) != TY_OK);
    CHECK(model_equal(c, &m) && ty_begin(c, &err) == TY_OK);
    CHECK(meaning_fill(c, 9, &m, has) == (lost ? 2 : 1) && ty_save(c, &err) == TY_OK);
    CHECK_MESSAGE(meaning_equal(c, &m, has), "kind %d", kind);
    CHECK((ty_verify(c, NULL, &err) == TY_OK) == lost);
    ty_compact_args compact = {0};
    CHECK(ty_begin(c, &err) == TY_OK && ty_compact(c, &compact, NULL, &err) == TY_OK && meaning_equal(c, &m, has));
    CHECK(meaning_saved(env, dir, &m, has));
    close_checked(c);
  }
}

/* The file of another collection in the place of this one's, as long or longer: its blocks are as they were written,
 * and its vectors are not those of these rows. */
static void test_meaning_of_another_collection(void) {
  static batch b;
  for (uint32_t rows = 3; rows < 6; rows += 2) {
    char dir[320], other_dir[320], path[320 + 64], other_path[320 + 64], command[1024];
    model m = {0};
    bool has[IDS] = {false};
    ty_collection *c = meaning_two(dir, &m, has);
    CHECK(ty_begin(c, &err) == TY_OK && meaning_fill(c, 1, &m, has) == 1 && ty_save(c, &err) == TY_OK);
    const uint64_t bytes = c->store->files.meaning.bytes;
    snprintf(path, sizeof path, "%s/%s", dir, c->store->files.meaning.name);
    ty_collection_close(c);
    fresh_dir(other_dir);
    ty_collection *other = open_new(env, other_dir);
    b.n = 0;
    for (uint32_t i = 0; i < rows; i++) batch_add(&b, i, 100 + i);
    ty_put_args args = batch_args(&b, TY_ADD);
    args.flags |= TY_PUT_MEANING;
    CHECK(ty_begin(other, &err) == TY_OK && ty_put(other, &args, NULL, &err) == TY_OK && ty_save(other, &err) == TY_OK);
    /* Of three rows as long, of five cut within its block. */
    CHECK((other->store->files.meaning.bytes == bytes) == (rows == 3) && other->store->files.meaning.bytes >= bytes);
    snprintf(other_path, sizeof other_path, "%s/%s", other_dir, other->store->files.meaning.name);
    snprintf(command, sizeof command, "cp '%s' '%s'", other_path, path);
    CHECK(system(command) == 0);
    close_checked(other);
    has[0] = has[1] = false;
    c = open_saved(env, dir);
    CHECK_MESSAGE(vectors_equal(c, &m, has), "%u rows", rows);
    ty_stats_args stats;
    CHECK(ty_stats(c, &stats, &err) == TY_OK && stats.values[TY_STAT_MEANING_LOST] == 1 &&
          stats.values[TY_STAT_MEANING_ROWS] == 0 && stats.values[TY_STAT_DAMAGES] == 1);
    CHECK(ty_verify(c, NULL, &err) != TY_OK && model_equal(c, &m));
    /* A rewrite, as a repair is, keeps none of them; neither does a fill. */
    ty_compact_args compact = {0};
    CHECK(ty_begin(c, &err) == TY_OK);
    if (rows == 3) CHECK(ty_compact(c, &compact, NULL, &err) == TY_OK && meaning_equal(c, &m, has));
    if (rows == 3) CHECK(ty_begin(c, &err) == TY_OK);
    CHECK(meaning_fill(c, 9, &m, has) == 2 && ty_save(c, &err) == TY_OK && meaning_equal(c, &m, has));
    CHECK(meaning_saved(env, dir, &m, has));
    close_checked(c);
  }
}

/* A file that is cut off while it is read fails one call; the next ones do without. */
static void test_meaning_truncated(void) {
  char dir[320], path[320 + 64];
  model m = {0};
  bool has[IDS] = {false};
  ty_collection *c = meaning_two(dir, &m, has);
  snprintf(path, sizeof path, "%s/%s", dir, c->store->files.meaning.name);
  CHECK(truncate(path, 64) == 0);
  ty_stats_args stats;
  CHECK(ty_stats(c, &stats, &err) == TY_CORRUPT && strstr(err.message, "meaning-") != NULL);
  has[0] = false;
  CHECK(vectors_equal(c, &m, has) && model_equal(c, &m));
  CHECK(ty_begin(c, &err) == TY_OK && meaning_fill(c, 9, &m, has) == 2 && ty_save(c, &err) == TY_OK);
  CHECK(meaning_equal(c, &m, has));
  close_checked(c);
}

static ty_meaning_vector meaning_moved[IDS];
/* The arguments for the ids of rows 0 to n - 1. */
static ty_meaning_copy_args meaning_copy(uint64_t n) {
  static char ids[IDS * 64];
  static uint64_t ends[IDS];
  uint64_t end = 0;
  for (uint32_t i = 0; i < n; i++) {
    end += content_id(i, ids + end);
    ends[i] = end;
  }
  return (ty_meaning_copy_args){.n = n, .ids = (uint8_t *)ids, .id_ends = ends, .vectors = meaning_moved};
}

/* Vectors that come with rows into another collection, or again into theirs: rows of other texts, other encoders and
 * what no encoder makes are passed over. */
static void test_meaning_moved(void) {
  char dir[320], other_dir[320];
  static batch b;
  model m = {0}, copied = {0};
  bool has[IDS] = {false}, got[IDS] = {false};
  ty_collection *c = meaning_two(dir, &m, has);
  CHECK(ty_begin(c, &err) == TY_OK && meaning_fill(c, 1, &m, has) == 1 && ty_save(c, &err) == TY_OK);
  fresh_dir(other_dir);
  ty_collection *to = open_new(env, other_dir);
  ty_meaning_copy_args move = meaning_copy(6);
  CHECK(ty_meaning_take(to, &move, &err) == TY_STATE);
  CHECK(ty_meaning_get(c, &move, &err) == TY_OK && move.copied == 2);
  CHECK(meaning_moved[0].encoder == env->encoder && meaning_moved[2].encoder == 0 && meaning_moved[2].text == 0);
  for (uint32_t i = 0; i < 4; i++) meaning_moved[2 + i] = meaning_moved[1];
  b.n = 0;
  for (uint32_t i = 0; i < 6; i++) {
    uint32_t version = i == 0 ? 9 : 1 + i; /* row 0 has another text, rows 2 to 5 never had the one of row 1 */
    batch_add(&b, i, version);
    model_put(&copied, i, version);
  }
  ty_put_args args = batch_args(&b, TY_ADD);
  CHECK(ty_begin(to, &err) == TY_OK && ty_put(to, &args, NULL, &err) == TY_OK);
  CHECK(ty_meaning_take(to, &move, &err) == TY_OK && move.copied == 1);
  got[1] = true;
  CHECK(ty_save(to, &err) == TY_OK && meaning_equal(to, &copied, got));
  ty_compact_args compact = {0};
  CHECK(ty_begin(to, &err) == TY_OK && ty_compact(to, &compact, NULL, &err) == TY_OK);
  CHECK(meaning_equal(to, &copied, got) && meaning_saved(env, other_dir, &copied, got));
  close_checked(to);
  fresh_dir(other_dir);
  to = open_new(env, other_dir);
  b.n = 0;
  memset(&copied, 0, sizeof copied);
  for (uint32_t i = 0; i < 2; i++) batch_add(&b, i, 1 + i), model_put(&copied, i, 1 + i);
  args = batch_args(&b, TY_ADD);
  CHECK(ty_begin(to, &err) == TY_OK && ty_put(to, &args, NULL, &err) == TY_OK);
  meaning_moved[0].encoder++;
  meaning_moved[1].encoding.codes[3] = INT8_MIN;
  CHECK(ty_meaning_take(to, &move, &err) == TY_OK && move.copied == 0);
  move = meaning_copy(2);
  CHECK(ty_meaning_get(c, &move, &err) == TY_OK && ty_meaning_take(to, &move, &err) == TY_OK && move.copied == 2);
  CHECK(ty_save(to, &err) == TY_OK && meaning_equal(to, &copied, has));
  CHECK(ty_begin(to, &err) == TY_OK && ty_meaning_take(to, &move, &err) == TY_OK && move.copied == 0);
  ty_rollback(to);
  close_checked(to);
  close_checked(c);
}

/* Rows with the texts of others, and rows that an undo puts back, get the vectors of those. */
static void test_meaning_alike(void) {
  char dir[320], id[64];
  static batch b;
  model m = {0};
  bool has[IDS] = {false};
  ty_collection *c = meaning_two(dir, &m, has);
  b.n = 0;
  batch_add(&b, 5, 1);
  model_put(&m, 5, 1);
  uint64_t end = content_id(0, id);
  ty_put_args args = batch_args(&b, TY_ADD);
  args.likes = (const uint8_t *)id;
  args.like_ends = &end;
  CHECK(ty_begin(c, &err) == TY_OK && ty_put(c, &args, NULL, &err) == TY_OK && ty_save(c, &err) == TY_OK);
  has[5] = true;
  CHECK(meaning_equal(c, &m, has));
  ty_delete_args gone = {.n = 1, .ids = (uint8_t *)id, .id_ends = &end};
  CHECK(ty_begin(c, &err) == TY_OK && ty_delete(c, &gone, &err) == TY_OK && ty_save(c, &err) == TY_OK);
  ty_compact_args compact = {.keep = 1};
  CHECK(ty_begin(c, &err) == TY_OK && ty_compact(c, &compact, NULL, &err) == TY_OK);
  b.n = 0;
  batch_add(&b, 0, 1);
  model_put(&m, 0, 1);
  args = batch_args(&b, TY_ADD);
  const uint64_t change = last_change(c, id, end);
  args.flags = TY_PUT_CHANGES;
  args.vectors = NULL;
  args.changes = &change;
  has[0] = false; /* the history has no vectors of meaning */
  CHECK(ty_begin(c, &err) == TY_OK && ty_put(c, &args, NULL, &err) == TY_OK && ty_save(c, &err) == TY_OK);
  CHECK(meaning_equal(c, &m, has));
  close_checked(c);
}

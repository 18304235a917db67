/* A history that is too large, a disk that is full, and calls that fail. For history_test.c. */

/* ---- Its size -------------------------------------------------------------------------------------------------------
 */
/* A row with a text of `bytes`. */
static void put_long(ty_collection *c, uint32_t id, uint64_t bytes) {
  static batch b;
  b.n = 0;
  batch_add(&b, id, next_version++);
  uint8_t *text = malloc(bytes);
  for (uint64_t i = 0; i < bytes; i++) text[i] = i % 1024 == 1023 ? ' ' : 'a'; /* few terms */
  ty_put_args args = batch_args(&b, TY_UPSERT);
  args.texts = text;
  b.text_ends[0] = bytes;
  CHECK(ty_begin(c, &err) == TY_OK && ty_put(c, &args, NULL, &err) == TY_OK && ty_save(c, &err) == TY_OK);
  free(text);
}

static uint64_t saves_after_compaction(ty_collection *c) {
  ty_compact_args compact = {.keep = 1};
  ty_saves_args saves = {.out = answer, .out_capacity = sizeof answer};
  CHECK(ty_begin(c, &err) == TY_OK && ty_compact(c, &compact, NULL, &err) == TY_OK);
  CHECK(ty_saves(c, &saves, &err) == TY_OK);
  return saves.out_count;
}

static void set_percent(ty_collection *c, uint32_t percent) {
  char json[64];
  const int bytes = snprintf(json, sizeof json, "{\"percent\": %u, \"days\": 30}", percent);
  CHECK(ty_begin(c, &err) == TY_OK);
  CHECK(ty_note(c, (const uint8_t *)"history", 7, (const uint8_t *)json, (uint64_t)bytes, &err) == TY_OK);
  CHECK(ty_save(c, &err) == TY_OK);
}

/* Whole saves go, the oldest first, until 8 MiB or the share of the collection are left; not the newest one that
 * replaced or deleted rows, for a day. */
static void test_too_large(void) {
  FRESH_DIR(dir);
  env->coded_from = UINT64_MAX; /* these texts would nearly vanish */
  model_clock = 1000000;
  ty_collection *c = open_new(env, dir);
  for (int i = 0; i < 5; i++) put_long(c, 1, (uint64_t)3 << 20);
  CHECK(saves_after_compaction(c) == 2); /* each of the last four replaced 3 MiB */
  for (int i = 0; i < 4; i++) put_long(c, 1, (uint64_t)3 << 20);
  put_long(c, 2, (uint64_t)10 << 20);
  set_percent(c, 99);
  CHECK(saves_after_compaction(c) == 5); /* of 13 MiB: four times 3 MiB, and an addition */
  put_long(c, 2, 1000);
  put_long(c, 3, 1000);
  CHECK(saves_after_compaction(c) == 2); /* of 3 MiB: 10 MiB that were replaced, and an addition */
  model_clock += DAY_MS - 1;
  CHECK(saves_after_compaction(c) == 2);
  model_clock += 1;
  CHECK(saves_after_compaction(c) == 1);
  close_checked(c);
  env->coded_from = 1;
}

/* ---- A full disk ---------------------------------------------------------------------------------------------------
 */
/* A rewrite that has not the room for its history fails: nothing is lost, and no file is left. */
static void test_full_disk(void) {
  FRESH_DIR(dir);
  char found[64];
  ty_collection *c = open_new(env, dir);
  for (int i = 0; i < 4; i++) put_long(c, 1, (uint64_t)256 << 10);
  uint64_t failed = 0, room = 0;
  for (; room < (uint64_t)4 << 20; room += (uint64_t)96 << 10) {
    ty_compact_args compact = {.keep = 1};
    ty_test_disk(env, room);
    CHECK(ty_begin(c, &err) == TY_OK);
    ty_status status = ty_compact(c, &compact, NULL, &err);
    ty_test_disk(env, UINT64_MAX);
    CHECK_MESSAGE(kinds_of(c, found) == 4 && strcmp(found, "ARRR") == 0, "%s", found);
    if (status == TY_OK) break;
    CHECK_MESSAGE(status == TY_IO && err.sys_errno == ENOSPC, "%s", err.message);
    CHECK(files_of(dir, "history-") == 1 && files_of(dir, "base-") == 1 && files_of(dir, "delta-") == 1);
    failed++;
  }
  /* Of 256 KiB of rows, three times that of those that were replaced, and the lexical index. */
  CHECK_MESSAGE(failed > 8 && room < (uint64_t)2 << 20, "%llu failed", (unsigned long long)failed);
  close_checked(c);
}

/* ---- Calls that fail ------------------------------------------------------------------------------------------------
 */
/* The n-th call of a rewrite, or of a save that takes a history, fails: the history is that of the state. */
static void test_failing_calls(bool adopts, int code, uint32_t sticky) {
  FRESH_DIR(dir);
  FRESH_DIR(other);
  char found[64];
  ty_collection *c = open_new(env, dir), *from = open_new(env, other);
  CHECK(ty_begin(from, &err) == TY_OK && put_version(from, 1, 1, 0) == TY_OK && ty_save(from, &err) == TY_OK);
  CHECK(ty_begin(from, &err) == TY_OK && put_version(from, 1, 2, 0) == TY_OK && ty_save(from, &err) == TY_OK);
  CHECK(ty_begin(c, &err) == TY_OK && put_version(c, 1, 1, 0) == TY_OK && ty_save(c, &err) == TY_OK);
  bool changed = false;
  for (uint64_t n = 1; n < 400; n++) {
    ty_compact_args compact = {.keep = 1};
    CHECK(ty_begin(c, &err) == TY_OK);
    ty_test_fail(env, n, code, sticky);
    ty_status status = adopts ? ty_history_adopt(c, from, &err) : ty_compact(c, &compact, NULL, &err);
    if (adopts && status == TY_OK) status = ty_save(c, &err);
    else if (adopts) ty_rollback(c);
    const uint64_t calls = ty_test_fail(env, 0, 0, 0);
    const uint64_t saves = kinds_of(c, found);
    changed |= adopts && (status == TY_OK || status == TY_UNSURE) && saves == 2;
    CHECK_MESSAGE(saves == 1 + changed && strcmp(found, changed ? "AR" : "A") == 0, "call %llu, errno %d: %s",
                  (unsigned long long)n, code, found);
    ty_collection *fresh = open_saved(env, dir);
    CHECK(kinds_of(fresh, found) == 1 + changed && strcmp(found, changed ? "AR" : "A") == 0);
    ty_collection_close(fresh);
    if (calls >= n) continue;
    CHECK(status == TY_OK && n > 10);
    break;
  }
  ty_compact_args compact = {.keep = 1};
  CHECK(ty_begin(c, &err) == TY_OK && ty_compact(c, &compact, NULL, &err) == TY_OK);
  CHECK(files_of(dir, "history-") == 1 && files_of(dir, "base-") == 1); /* also where a removal failed before */
  close_checked(c);
  close_checked(from);
}

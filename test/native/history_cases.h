/* What random changes hardly meet: rows that one save touches twice, rows that are not remembered, refused calls,
 * and a delta of an earlier version. For history_test.c. */

static ty_status put_version(ty_collection *c, uint32_t id, uint32_t version, uint64_t flags) {
  static batch b;
  b.n = 0;
  batch_add(&b, id, version);
  ty_put_args args = batch_args(&b, TY_UPSERT);
  args.flags |= flags;
  return ty_put(c, &args, NULL, &err);
}

static void drop_id(ty_collection *c, uint32_t id) {
  char name[64];
  uint64_t end = content_id(id, name);
  ty_delete_args args = {.n = 1, .ids = (uint8_t *)name, .id_ends = &end};
  CHECK(ty_delete(c, &args, &err) == TY_OK && args.removed == 1);
}

/* Kinds of the changes that are remembered, of all saves, in their order; and the saves. */
static uint64_t kinds_of(ty_collection *c, char *out) {
  ty_changes_args args = {.to = UINT64_MAX, ANSWER_IN(answer)};
  ty_saves_args saves = {.out = past_answer, .out_capacity = sizeof past_answer};
  CHECK_MESSAGE(ty_changes(c, &args, &err) == TY_OK && ty_saves(c, &saves, &err) == TY_OK, "%s", err.message);
  for (uint64_t at = 0; at < args.out_bytes;) {
    const ty_change_record *change = (const ty_change_record *)(const void *)(answer + at);
    const ty_record *row = (const ty_record *)(const void *)(change + 1);
    *out++ = " ARD"[change->kind];
    at += sizeof *change + sizeof *row + padded(row->id_bytes);
  }
  *out = 0;
  return saves.out_count;
}

/* In the delta, then in the history that a compaction writes. */
#define CHECK_KINDS(c, saves, kinds) check_kinds(c, saves, kinds, __LINE__)
static void check_kinds(ty_collection *c, uint64_t saves, const char *kinds, int line) {
  char found[256];
  ty_compact_args keep = {.keep = 1};
  for (int i = 0; i < 2; i++) {
    const uint64_t count = kinds_of(c, found);
    check_at(count == saves && strcmp(found, kinds) == 0, __FILE__, line, "%llu saves, %s", (unsigned long long)count,
             found);
    if (i == 0) CHECK(ty_begin(c, &err) == TY_OK && ty_compact(c, &keep, NULL, &err) == TY_OK);
  }
}

static void test_one_save(void) {
  FRESH_DIR(dir);
  model_clock = 1000000;
  ty_collection *c = open_new(env, dir);
  CHECK(ty_begin(c, &err) == TY_OK && put_version(c, 1, 1, 0) == TY_OK && put_version(c, 2, 2, 0) == TY_OK);
  CHECK(ty_save(c, &err) == TY_OK);
  CHECK_KINDS(c, 1, "AA");
  CHECK(ty_begin(c, &err) == TY_OK);
  CHECK(put_version(c, 3, 3, 0) == TY_OK && put_version(c, 3, 4, 0) == TY_OK); /* put and replaced: added */
  CHECK(put_version(c, 4, 5, 0) == TY_OK);                                     /* put and deleted: nothing */
  drop_id(c, 4);
  drop_id(c, 1); /* deleted and added again: both */
  CHECK(put_version(c, 1, 6, 0) == TY_OK);
  CHECK(put_version(c, 2, 7, 0) == TY_OK); /* replaced and deleted: deleted */
  drop_id(c, 2);
  CHECK(ty_save(c, &err) == TY_OK);
  CHECK_KINDS(c, 2, "AAADAD");
  CHECK(ty_begin(c, &err) == TY_OK && put_version(c, 5, 8, 0) == TY_OK); /* a save that comes to nothing */
  drop_id(c, 5);
  CHECK(ty_save(c, &err) == TY_OK);
  CHECK_KINDS(c, 2, "AAADAD");
  close_checked(c);
}

/* Rows whose texts are not stored follow files: they are not remembered, alone or beside others. */
static void test_rows_of_files(void) {
  FRESH_DIR(dir);
  ty_collection *c = open_new(env, dir);
  CHECK(ty_begin(c, &err) == TY_OK && put_version(c, 1, 1, TY_PUT_DROP_TEXT) == TY_OK && ty_save(c, &err) == TY_OK);
  CHECK_KINDS(c, 0, "");
  CHECK(ty_begin(c, &err) == TY_OK && put_version(c, 1, 2, TY_PUT_DROP_TEXT) == TY_OK && ty_save(c, &err) == TY_OK);
  CHECK(ty_begin(c, &err) == TY_OK && put_version(c, 1, 3, TY_PUT_DROP_TEXT) == TY_OK);
  CHECK(put_version(c, 2, 4, 0) == TY_OK && ty_save(c, &err) == TY_OK);
  CHECK_KINDS(c, 1, "A");
  CHECK(ty_begin(c, &err) == TY_OK);
  drop_id(c, 1);
  drop_id(c, 2);
  CHECK(ty_save(c, &err) == TY_OK);
  CHECK_KINDS(c, 2, "AD");
  close_checked(c);
}

static void test_refused_origins(void) {
  FRESH_DIR(dir);
  static uint8_t json[TY_ORIGIN_MAX + 1];
  memset(json, 'x', sizeof json);
  ty_collection *c = open_new(env, dir);
  CHECK(ty_origin(c, json, 2, &err) == TY_STATE && ty_begin(c, &err) == TY_OK);
  CHECK(ty_origin(c, json, 0, &err) == TY_INVALID && ty_origin(c, json, sizeof json, &err) == TY_INVALID);
  CHECK(put_version(c, 1, 1, 0) == TY_OK && ty_save(c, &err) == TY_OK);
  for (int i = 0; i < 3; i++) { /* the longest one, twice in the same delta, then after a rewrite */
    ty_saves_args args = {.limit = 1, .out = answer, .out_capacity = sizeof answer};
    CHECK(ty_begin(c, &err) == TY_OK && ty_origin(c, json, TY_ORIGIN_MAX, &err) == TY_OK);
    CHECK(put_version(c, 1, 2 + (uint32_t)i, 0) == TY_OK && ty_save(c, &err) == TY_OK);
    CHECK(ty_saves(c, &args, &err) == TY_OK && args.out_bytes == sizeof(ty_save_record) + TY_ORIGIN_MAX);
    CHECK(memcmp(answer + sizeof(ty_save_record), json, TY_ORIGIN_MAX) == 0);
    ty_compact_args keep = {.keep = 1};
    if (i == 1) CHECK(ty_begin(c, &err) == TY_OK && ty_compact(c, &keep, NULL, &err) == TY_OK);
  }
  close_checked(c);
}

static void test_refused_changes(void) {
  FRESH_DIR(dir);
  static batch b;
  uint64_t change = 0;
  ty_collection *c = open_new(env, dir);
  CHECK(ty_begin(c, &err) == TY_OK && put_version(c, 1, 1, 0) == TY_OK && ty_save(c, &err) == TY_OK);
  CHECK(ty_begin(c, &err) == TY_OK);
  b.n = 0;
  batch_add(&b, 1, 2);
  ty_put_args args = batch_args(&b, TY_UPSERT);
  args.flags |= TY_PUT_CHANGES;
  CHECK(ty_put(c, &args, NULL, &err) == TY_INVALID); /* with vectors, then without changes */
  args.vectors = NULL;
  CHECK(ty_put(c, &args, NULL, &err) == TY_INVALID);
  args.changes = &change;
  CHECK(ty_put(c, &args, NULL, &err) == TY_INVALID); /* before an addition there is no row */
  change = 1;
  CHECK(ty_put(c, &args, NULL, &err) == TY_INVALID);
  change = UINT64_MAX;
  CHECK(ty_put(c, &args, NULL, &err) == TY_INVALID);
  ty_rollback(c);
  close_checked(c);
}

static uint32_t files_of(const char *dir, const char *prefix) {
  DIR *d = opendir(dir);
  struct dirent *e;
  uint32_t n = 0;
  while (d != NULL && (e = readdir(d)) != NULL) n += strncmp(e->d_name, prefix, strlen(prefix)) == 0;
  if (d != NULL) closedir(d);
  return n;
}

/* A history is taken where that makes sense, in place of the own one, and its file goes where it is not saved. */
static void test_adopt_refused(void) {
  char dirs[2][320];
  char found[64];
  ty_collection *c[2];
  ty_compact_args compact = {.keep = 1};
  for (int i = 0; i < 2; i++) {
    fresh_dir(dirs[i]);
    c[i] = open_new(env, dirs[i]);
    CHECK(ty_begin(c[i], &err) == TY_OK && ty_history_adopt(c[i], c[0], &err) == TY_STATE); /* not saved */
    CHECK(put_version(c[i], 1, 1, 0) == TY_OK && ty_save(c[i], &err) == TY_OK);
  }
  CHECK(ty_history_adopt(c[0], c[1], &err) == TY_STATE); /* no change is under way */
  CHECK(ty_begin(c[1], &err) == TY_OK && put_version(c[1], 2, 2, 0) == TY_OK);
  CHECK(ty_history_adopt(c[1], c[0], &err) == TY_STATE); /* unsaved rows, then rows of a delta */
  CHECK(ty_save(c[1], &err) == TY_OK && ty_begin(c[1], &err) == TY_OK);
  CHECK(ty_history_adopt(c[1], c[0], &err) == TY_STATE && ty_compact(c[1], &compact, NULL, &err) == TY_OK);
  CHECK(ty_begin(c[0], &err) == TY_OK && put_version(c[0], 3, 3, 0) == TY_OK); /* unsaved of `from` */
  CHECK(ty_begin(c[1], &err) == TY_OK && ty_history_adopt(c[1], c[0], &err) == TY_OK);
  CHECK(ty_compact(c[1], &compact, NULL, &err) == TY_STATE && files_of(dirs[1], "history-") == 1);
  CHECK(ty_begin(c[1], &err) == TY_OK && ty_history_adopt(c[1], c[0], &err) == TY_OK);
  CHECK(files_of(dirs[1], "history-") == 2);
  ty_rollback(c[1]);
  CHECK(files_of(dirs[1], "history-") == 1 && kinds_of(c[1], found) == 2 && strcmp(found, "AA") == 0);
  CHECK(ty_begin(c[1], &err) == TY_OK && ty_history_adopt(c[1], c[0], &err) == TY_OK && ty_save(c[1], &err) == TY_OK);
  CHECK(files_of(dirs[1], "history-") == 1 && kinds_of(c[1], found) == 1 && strcmp(found, "A") == 0);
  ty_rollback(c[0]);
  compact.keep = 0;
  CHECK(ty_begin(c[0], &err) == TY_OK && ty_compact(c[0], &compact, NULL, &err) == TY_OK);
  CHECK(ty_begin(c[1], &err) == TY_OK && ty_history_adopt(c[1], c[0], &err) == TY_OK); /* that of one that has none */
  CHECK(put_version(c[1], 2, 4, 0) == TY_OK && ty_save(c[1], &err) == TY_OK);
  CHECK(files_of(dirs[1], "history-") == 0 && kinds_of(c[1], found) == 1 && strcmp(found, "R") == 0);
  for (int i = 0; i < 2; i++) close_checked(c[i]);
}

/* ---- Version 7 ------------------------------------------------------------------------------------------------------
 */
static void copy_files(const char *from, const char *to) {
  CHECK(mkdir(to, 0700) == 0);
  read_files(from);
  CHECK_MESSAGE(file_count > 0, "%s is not there: run this in the checkout", from);
  for (int i = 0; i < file_count; i++) {
    write_file(to, files[i].name, files[i].data, files[i].bytes);
    free(files[i].data);
  }
}

/* A delta of version 7 is part of it too, without times and origins; the first save begins a fresh one. */
static void test_version_7(void) {
  static const char *const stores[] = {"f32-l2", "f16-cosine", "int8-l2", "int4-cosine"};
  for (uint32_t i = 0; i < sizeof stores / sizeof *stores; i++) {
    FRESH_DIR(dir);
    char from[128], before[64], after[64];
    snprintf(from, sizeof from, "test/format/golden/7/%s/notes", stores[i]);
    copy_files(from, dir);
    model_clock = 1800000000000;
    ty_collection *c = open_saved(env, dir);
    if (c == NULL) return;
    const uint64_t saves = kinds_of(c, before);
    const ty_save_record *newest = (const ty_save_record *)(const void *)past_answer;
    CHECK(saves > 0 && strlen(before) >= saves && newest->origin_bytes == 0 && newest->time == model_clock);
    CHECK(files_of(dir, "delta-") == 1);
    char id[64];
    ty_ids_args ids = {.column = TY_NO_FILTER, .limit = 1, .out = answer, .out_capacity = sizeof answer};
    CHECK(ty_ids(c, &ids, &err) == TY_OK && ids.out_count == 1);
    const ty_record *row = (const ty_record *)(const void *)answer;
    uint64_t end = row->id_bytes;
    memcpy(id, row + 1, end);
    ty_delete_args drop = {.n = 1, .ids = (uint8_t *)id, .id_ends = &end};
    CHECK(ty_begin(c, &err) == TY_OK && ty_delete(c, &drop, &err) == TY_OK && ty_save(c, &err) == TY_OK);
    model_clock += 1000;
    CHECK(files_of(dir, "delta-") == 2 && kinds_of(c, after) == saves + 1);
    CHECK(newest[1].time == model_clock - 1000 && newest[0].time == model_clock - 1000);
    strcat(before, "D");
    CHECK(strcmp(before, after) == 0);
    CHECK_KINDS(c, saves + 1, before);
    CHECK(newest[1].time == model_clock - 1000 && files_of(dir, "delta-") == 0);
    close_checked(c);
  }
}

/* Damage of a history: bits, ends, files that are missing or others, and forged numbers with checksums that fit. The
 * live rows and saves go on; what is answered is right, or says that it is lost, a row or all of it; a check names it; and
 * what a rewrite leaves is whole. For history_test.c. */

enum { NOTHING_LOST, ROW_LOST, ALL_LOST, ANY_LOST };

static model damaged_rows;

/* A collection with a history of additions, replaced and deleted rows and origins, and a delta after it. */
static void make_damaged(char dir[320]) {
  fresh_dir(dir);
  next_version = 1;
  model_clock = 1000000;
  damaged_rows = (model){0};
  past_begin(&told);
  ty_collection *c = open_new(env, dir);
  const char *rule = "{\"days\":4000000}"; /* the clock may go on by years */
  told.days = 4000000;
  for (int i = 0; i < 8; i++) {
    const model before = damaged_rows;
    CHECK(ty_begin(c, &err) == TY_OK);
    random_changes(c, &damaged_rows, 5);
    for (uint32_t id = 1; id < 4 && i < 2; id++, next_version++) { /* the history has rows whatever chance does */
      CHECK(put_version(c, id, next_version, 0) == TY_OK);
      model_put(&damaged_rows, id, next_version);
    }
    if (i == 0) CHECK(ty_note(c, (const uint8_t *)"history", 7, (const uint8_t *)rule, strlen(rule), &err) == TY_OK);
    const char *origin = set_origin(c);
    end_change(c, &before, &damaged_rows, &told, i == 5 ? BY_COMPACT : BY_SAVE, origin);
  }
  CHECK(history_equal(c, &told));
  close_checked(c);
  read_files(dir);
}

static bool is_named(const ty_damage *damages, uint64_t n) {
  bool named = n > 0;
  for (uint64_t i = 0; i < n; i++) named &= damages[i].part == TY_PART_HISTORY;
  return named;
}

/* What is answered about a collection, and what it noted. */
static int lost_of(ty_collection *c, const char *what) {
  static ty_damage damages[256];
  ty_damages_args noted = {.out = (uint8_t *)damages, .out_capacity = sizeof damages};
  ty_saves_args saves = {.out = answer, .out_capacity = sizeof answer};
  ty_changes_args changes = {.to = UINT64_MAX, ANSWER_IN(past_answer)};
  ty_status status = ty_saves(c, &saves, &err), other = ty_changes(c, &changes, &err);
  CHECK_MESSAGE(status == other && (status == TY_OK || status == TY_CORRUPT), "%s: %s", what, err.message);
  if (status == TY_CORRUPT) {
    CHECK_MESSAGE(strstr(err.message, "history-") != NULL, "%s: %s", what, err.message);
    CHECK_MESSAGE(ty_damages(c, &noted, &err) == TY_OK && is_named(damages, noted.out_count), "%s: not noted", what);
    return ALL_LOST;
  }
  past_may_lose = true;
  past_offset[0] = 0;
  CHECK_MESSAGE(saves_equal(c, &told) && changes_equal(c, &told), "%s: another history", what);
  past_may_lose = false;
  return past_lost > 0 ? ROW_LOST : NOTHING_LOST;
}

/* Opens the damaged collection, which loses as much as that; all goes on. */
static void check_damaged(const char *dir, int expected, const char *what) {
  static ty_damage damages[256];
  ty_collection *c = NULL;
  ty_check_args check = {.out = (uint8_t *)damages, .out_capacity = sizeof damages};
  ty_compact_args compact = {.keep = 1};
  if (!CHECK_MESSAGE(ty_collection_open(env, dir, &c, &err) == TY_OK, "%s: %s", what, err.message)) return;
  const int lost = lost_of(c, what);
  CHECK_MESSAGE(expected == ANY_LOST || lost == expected, "%s: loses %d, not %d", what, lost, expected);
  CHECK_MESSAGE(model_equal(c, &damaged_rows), "%s: other rows", what);
  CHECK_MESSAGE(ty_check(c, &check, NULL, &err) == TY_OK, "%s: %s", what, err.message);
  /* A row of which the vector only is damaged, and the checksums of blocks, lose nothing here. */
  const bool found = is_named(damages, check.found);
  CHECK_MESSAGE(found || (lost == NOTHING_LOST && check.found == 0), "%s: not found by a check", what);
  CHECK_MESSAGE((ty_verify(c, NULL, &err) == TY_OK) == (check.found == 0), "%s: verified: %s", what, err.message);
  CHECK_MESSAGE(ty_begin(c, &err) == TY_OK && put_version(c, 0, damaged_rows.version[0], 0) == TY_OK, "%s", what);
  CHECK_MESSAGE(ty_save(c, &err) == TY_OK, "%s: saved: %s", what, err.message);
  CHECK_MESSAGE(ty_begin(c, &err) == TY_OK && ty_compact(c, &compact, NULL, &err) == TY_OK, "%s: %s", what,
                err.message);
  CHECK_MESSAGE(ty_verify(c, NULL, &err) == TY_OK, "%s: rewritten: %s", what, err.message);
  ty_saves_args saves = {.out = answer, .out_capacity = sizeof answer};
  CHECK_MESSAGE(ty_saves(c, &saves, &err) == TY_OK && (saves.out_count > 0) == (lost != ALL_LOST), "%s: rewritten",
                what);
  ty_collection_close(c);
}

/* ---- Without checksums that fit
 * --------------------------------------------------------------------------------------
 */
static void flip_history(const char *dir, uint64_t at, int expected, const char *where) {
  const file *f = by_prefix("history-");
  char what[128];
  snprintf(what, sizeof what, "%s, bit at %llu", where, (unsigned long long)at);
  f->data[at] ^= (uint8_t)(1u << at % 8);
  write_file(dir, f->name, f->data, f->bytes);
  check_damaged(dir, expected, what);
  f->data[at] ^= (uint8_t)(1u << at % 8);
  restore_files(dir);
}

static void test_flipped(const char *dir) {
  const file *f = by_prefix("history-");
  ty_slab_header h;
  memcpy(&h, f->data, sizeof h);
  const uint64_t table = sizeof h + h.sections * sizeof(ty_slab_section);
  for (uint64_t at = rng() % 5; at < table; at += 5 * stride) flip_history(dir, at, ALL_LOST, "header or table");
  for (uint32_t i = 0; i < h.sections; i++) {
    ty_slab_section s;
    char where[32];
    memcpy(&s, f->data + sizeof h + i * sizeof s, sizeof s);
    snprintf(where, sizeof where, "section %u", s.id);
    const int expected = s.id == TY_HISTORY_ROWS ? ROW_LOST : s.id == TY_SECTION_SUMS ? NOTHING_LOST : ALL_LOST;
    for (uint64_t at = rng() % (s.bytes / 8 + 1); at < s.bytes; at += (s.bytes / 8 + 1) * stride)
      flip_history(dir, s.offset + at, expected, where);
  }
}

/* Other files in its place. */
static void test_other_files(const char *dir) {
  char path[640], other[320];
  const file f = *by_prefix("history-");
  static uint8_t copy[1 << 20];
  memcpy(copy, f.data, f.bytes);
  for (uint64_t i = 0; i < 4; i++) {
    write_file(dir, f.name, f.data, f.bytes * i / 4);
    check_damaged(dir, ALL_LOST, "a part of it");
    restore_files(dir);
  }
  snprintf(path, sizeof path, "%s/%s", dir, f.name);
  CHECK(unlink(path) == 0);
  check_damaged(dir, ALL_LOST, "missing");
  restore_files(dir);
  CHECK(unlink(path) == 0 && mkdir(path, 0700) == 0);
  ty_collection *c = open_saved(env, dir);
  CHECK(lost_of(c, "a directory") == ALL_LOST && model_equal(c, &damaged_rows));
  ty_collection_close(c);
  CHECK(rmdir(path) == 0);
  restore_files(dir);
  fresh_dir(other); /* another collection's, of the same name */
  c = open_new(env, other);
  const uint64_t generation = strtoull(f.name + strlen("history-"), NULL, 16);
  for (uint64_t i = 1; i < generation; i++) {
    CHECK(ty_begin(c, &err) == TY_OK && put_version(c, 1, (uint32_t)i, 0) == TY_OK && ty_save(c, &err) == TY_OK);
  }
  ty_compact_args compact = {.keep = 1};
  CHECK(ty_begin(c, &err) == TY_OK && ty_compact(c, &compact, NULL, &err) == TY_OK);
  close_checked(c);
  snprintf(path, sizeof path, "%s/%s", other, f.name);
  FILE *in = fopen(path, "rb");
  if (CHECK_MESSAGE(in != NULL, "there is no %s", path)) {
    write_file(dir, f.name, copy, fread(copy, 1, sizeof copy, in));
    fclose(in);
    check_damaged(dir, ALL_LOST, "another collection's");
  }
  restore_files(dir);
}

/* ---- With checksums that fit
 * -----------------------------------------------------------------------------------------
 */
/* A number of so many bytes at a place of a section, or of its entry in the table. */
typedef struct forged {
  const char *what;
  uint32_t section; /* 0: of the table */
  uint64_t at, bytes, value;
  int lost;
} forged;

#define OF_SAVE(n, member)   (n) * sizeof(ty_history_save) + offsetof(ty_history_save, member)
#define OF_CHANGE(n, member) (n) * sizeof(ty_history_change) + offsetof(ty_history_change, member)
#define OF_TABLE(n, member)  (n) * sizeof(ty_slab_section) + offsetof(ty_slab_section, member)

static const forged forgeries[] = {
    {"a number of a save", TY_HISTORY_SAVES, OF_SAVE(1, save), 8, 0, ALL_LOST},
    {"a save as the one before", TY_HISTORY_SAVES, OF_SAVE(1, save), 8, 1, ALL_LOST},
    {"a time", TY_HISTORY_SAVES, OF_SAVE(0, time), 8, (uint64_t)1 << 48, ALL_LOST},
    {"no end", TY_HISTORY_SAVES, OF_SAVE(0, end), 8, 0, ALL_LOST},
    {"an end beyond all", TY_HISTORY_SAVES, OF_SAVE(0, end), 8, UINT64_MAX, ALL_LOST},
    {"an end of all", TY_HISTORY_SAVES, OF_SAVE(0, end), 8, 1000, ALL_LOST},
    {"an origin beyond all", TY_HISTORY_SAVES, OF_SAVE(0, origin), 8, UINT64_MAX, ALL_LOST},
    {"a long origin", TY_HISTORY_SAVES, OF_SAVE(0, origin_bytes), 4, 0xffffffff, ALL_LOST},
    {"additions", TY_HISTORY_SAVES, OF_SAVE(0, added), 4, 0xffffffff, ALL_LOST},
    {"none added", TY_HISTORY_SAVES, OF_SAVE(0, added), 4, 0, ALL_LOST},
    {"reserved bytes", TY_HISTORY_SAVES, OF_SAVE(0, reserved), 8, 1, ALL_LOST},
    {"no id", TY_HISTORY_CHANGES, OF_CHANGE(0, id_end), 8, 0, ALL_LOST},
    {"a long id", TY_HISTORY_CHANGES, OF_CHANGE(0, id_end), 8, UINT64_MAX, ALL_LOST},
    {"an id before the first", TY_HISTORY_CHANGES, OF_CHANGE(1, id_end), 8, 1, ALL_LOST},
    {"a row of an addition", TY_HISTORY_CHANGES, OF_CHANGE(0, row_end), 8, 8, ALL_LOST},
    {"an end of a row", TY_HISTORY_CHANGES, OF_CHANGE(0, row_end), 8, 4, ALL_LOST},
    {"a row beyond all", TY_HISTORY_CHANGES, OF_CHANGE(0, row_end), 8, (uint64_t)0 - 8, ALL_LOST},
    {"kind 0", TY_HISTORY_CHANGES, OF_CHANGE(0, kind), 4, 0, ALL_LOST},
    {"kind 2 for 1", TY_HISTORY_CHANGES, OF_CHANGE(0, kind), 4, 2, ALL_LOST},
    {"kind 4", TY_HISTORY_CHANGES, OF_CHANGE(0, kind), 4, 4, ALL_LOST},
    {"kind -1", TY_HISTORY_CHANGES, OF_CHANGE(0, kind), 4, 0xffffffff, ALL_LOST},
    {"saves of another section", 0, OF_TABLE(0, id), 4, 77, ALL_LOST},
    {"no rows", 0, OF_TABLE(3, bytes), 8, 0, ALL_LOST},
    {"no ids", 0, OF_TABLE(2, bytes), 8, 0, ALL_LOST},
    {"a part of a save", 0, OF_TABLE(0, bytes), 8, 8, ALL_LOST},
    {"a part of a change", 0, OF_TABLE(1, bytes), 8, 32, ALL_LOST},
    {"all of the memory", 0, OF_TABLE(4, bytes), 8, UINT64_MAX, ALL_LOST},
    {"before the file", 0, OF_TABLE(4, offset), 8, 0, ALL_LOST},
};

/* Of the first row. Its vector is longer than 4 bytes, its metadata and text shorter than those. */
#define OF_ROW(member) offsetof(ty_history_row, member)
static const forged forged_rows[] = {
    {"a long vector", TY_HISTORY_ROWS, OF_ROW(vector_bytes), 4, 0xffffffff, ROW_LOST},
    {"a short vector", TY_HISTORY_ROWS, OF_ROW(vector_bytes), 4, 4, ROW_LOST},
    {"long metadata", TY_HISTORY_ROWS, OF_ROW(meta_bytes), 4, 0xffffffff, ROW_LOST},
    {"a long text", TY_HISTORY_ROWS, OF_ROW(text_bytes), 4, 0x7fffffff, ROW_LOST},
    {"unknown flags", TY_HISTORY_ROWS, OF_ROW(flags), 4, 0xf0, ROW_LOST},
    {"no flags", TY_HISTORY_ROWS, OF_ROW(flags), 4, 0, ROW_LOST},
    {"created after it was updated", TY_HISTORY_ROWS, OF_ROW(created), 8, UINT64_MAX, ROW_LOST},
    {"an update in the future", TY_HISTORY_ROWS, OF_ROW(updated), 8, (uint64_t)1 << 48, ROW_LOST},
};

/* Writes `data` as the history, with checksums that fit. */
static void write_mended(const char *dir, uint8_t *data) {
  const file *f = by_prefix("history-");
  mend(dir, f, data);
  write_file(dir, f->name, data, f->bytes);
}

static void forge(const char *dir, const forged *x) {
  static uint8_t data[1 << 20] __attribute__((aligned(64)));
  const file *f = by_prefix("history-");
  memcpy(data, f->data, f->bytes);
  const ty_slab_section *s = x->section == 0 ? NULL : section_inside(data, f->bytes, x->section);
  memcpy(data + (s == NULL ? sizeof(ty_slab_header) : s->offset) + x->at, &x->value, x->bytes);
  write_mended(dir, data);
  check_damaged(dir, x->lost, x->what);
  restore_files(dir);
}

/* The first row's vector: of codes its bits and codes, of others numbers that no vector has. */
static void forge_vectors(const char *dir) {
  static uint8_t data[1 << 20] __attribute__((aligned(64)));
  const file *f = by_prefix("history-");
  for (uint32_t i = 0; i < 12; i++) {
    memcpy(data, f->data, f->bytes);
    uint8_t *row = data + section_inside(data, f->bytes, TY_HISTORY_ROWS)->offset;
    const ty_history_row *r = (const ty_history_row *)(const void *)row;
    uint8_t *vector = row + sizeof *r;
    const float odd = i % 2 == 0 ? NAN : INFINITY;
    const bool sparse = (r->flags & TY_SPARSE) != 0;
    int lost = ANY_LOST; /* other codes are another vector */
    if (i < 2 && strcmp(model_dtype, "f16") != 0) memcpy(vector, &odd, sizeof odd), lost = NOTHING_LOST;
    else if (sparse && i < 8) vector[sizeof(float) + i % 3] ^= (uint8_t)(1u << i), lost = NOTHING_LOST;
    else if (sparse && i < 10) vector[sizeof(float) + 3 + i % 2] = 0, lost = NOTHING_LOST;
    else memset(vector, i % 2 == 0 ? 0xff : 0x80, r->vector_bytes);
    write_mended(dir, data);
    ty_collection *c = open_saved(env, dir);
    ty_changes_args args = {.to = UINT64_MAX, .what = TY_WITH_VECTOR, ANSWER_IN(past_answer)};
    CHECK(ty_changes(c, &args, &err) == TY_OK);
    uint32_t missing = 0;
    for (uint64_t at = 0; at < args.out_bytes;) {
      const ty_change_record *change = (const ty_change_record *)(const void *)(past_answer + at);
      const ty_record *found = (const ty_record *)(const void *)(change + 1);
      missing += change->kind != TY_CHANGE_ADDED && !found->found;
      at += sizeof *change + sizeof *found + padded(found->id_bytes) + padded(found->vector_bytes);
    }
    CHECK_MESSAGE(lost == ANY_LOST || missing == 1, "%s: forged vector %u: %u rows missing", model_dtype, i, missing);
    CHECK((ty_verify(c, NULL, &err) == TY_OK) == (missing == 0));
    ty_collection_close(c);
    restore_files(dir);
  }
}

static void test_damaged_history(uint64_t seed) {
  static const char *const dtypes[] = {"f32", "f32", "int8", "int4", "f16"};
  rng_state = seed;
  model_damaged = true;
  for (uint32_t i = stride > 1; i < 5; i += stride > 1 ? 2 : 1) {
    char dir[320];
    model_dtype = dtypes[i];
    model_codes = i == 1 || i == 2 ? ALL_CODES : NO_CODES;
    model_sparse = true;
    make_damaged(dir);
    test_flipped(dir);
    test_other_files(dir);
    for (size_t k = i % stride; k < sizeof forgeries / sizeof *forgeries; k += stride) forge(dir, &forgeries[k]);
    for (size_t k = 0; k < sizeof forged_rows / sizeof *forged_rows; k++) forge(dir, &forged_rows[k]);
    forge_vectors(dir);
    free_files();
  }
  model_damaged = model_sparse = false;
  model_dtype = "f32";
  model_codes = NO_CODES;
}

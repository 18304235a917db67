/* Notes of the manifest: set, replaced and removed, saved and rolled back with rows, kept by rewrites and copies. */

static ty_status note(ty_collection *c, const char *name, const char *json) {
  return ty_note(c, (const uint8_t *)name, strlen(name), (const uint8_t *)json, strlen(json), &err);
}

/* Whether the manifest has these notes, as its line has them; NULL: none. */
static bool notes_are(ty_collection *c, const char *notes) {
  char line[256];
  ty_manifest_args manifest = {.out = answer, .out_capacity = sizeof answer};
  CHECK(ty_manifest(c, &manifest, &err) == TY_OK);
  if (notes == NULL) return memmem(answer, manifest.out_bytes, "\"notes\":", 8) == NULL;
  int n = snprintf(line, sizeof line, "\"notes\": %s,\n", notes);
  return memmem(answer, manifest.out_bytes, line, (size_t)n) != NULL;
}

static void test_notes(void) {
  char dir[320], copy[320];
  fresh_dir(dir);
  fresh_dir(copy);
  model m = {0};
  ty_compact_args compact = {0};
  ty_stats_args before, after;
  ty_collection *c = open_new(env, dir);
  CHECK(note(c, "a", "1") == TY_STATE); /* outside of a change */
  CHECK(ty_begin(c, &err) == TY_OK && note(c, "a", "{\"x\": [1]}") == TY_OK);
  random_changes(c, &m, 9);
  CHECK(ty_save(c, &err) == TY_OK && notes_are(c, "{\"a\": {\"x\": [1]}}"));
  ty_collection *other = open_saved(env, dir);
  CHECK(notes_are(other, "{\"a\": {\"x\": [1]}}"));
  /* rolled back with the rows */
  CHECK(ty_begin(c, &err) == TY_OK && note(c, "b", "2") == TY_OK && note(c, "a", "") == TY_OK);
  CHECK(notes_are(c, "{\"b\": 2}") && notes_are(other, "{\"a\": {\"x\": [1]}}"));
  ty_rollback(c);
  CHECK(notes_are(c, "{\"a\": {\"x\": [1]}}"));
  /* a change of its own, which others follow */
  CHECK(ty_stats(c, &before, &err) == TY_OK);
  CHECK(ty_begin(c, &err) == TY_OK && note(c, "b", " \"two\" ") == TY_OK && note(c, "a", "null") == TY_OK);
  CHECK(ty_save(c, &err) == TY_OK && ty_stats(c, &after, &err) == TY_OK);
  CHECK(after.values[TY_STAT_GENERATION] == before.values[TY_STAT_GENERATION] + 1);
  CHECK(notes_are(c, "{\"a\": null, \"b\": \"two\"}") && notes_are(other, "{\"a\": null, \"b\": \"two\"}"));
  CHECK(saved_equal(env, dir, &m));
  /* kept by what changes rows only, a rewrite and a copy */
  CHECK(ty_begin(other, &err) == TY_OK);
  random_changes(other, &m, 9);
  CHECK(ty_save(other, &err) == TY_OK && notes_are(c, "{\"a\": null, \"b\": \"two\"}"));
  CHECK(ty_begin(c, &err) == TY_OK && ty_compact(c, &compact, NULL, &err) == TY_OK);
  CHECK(notes_are(c, "{\"a\": null, \"b\": \"two\"}") && notes_are(other, "{\"a\": null, \"b\": \"two\"}"));
  CHECK(mkdir(copy, 0700) == 0);
  ty_copy_args args = {.dir = copy};
  CHECK(ty_begin(c, &err) == TY_OK && ty_copy(c, &args, NULL, &err) == TY_OK);
  ty_rollback(c);
  ty_collection *copied = open_saved(env, copy);
  CHECK(notes_are(copied, "{\"a\": null, \"b\": \"two\"}"));
  close_checked(copied);
  /* refused, and nothing is changed */
  static char much[TY_NOTES_MAX + 8];
  CHECK(ty_begin(c, &err) == TY_OK);
  static const char *const names[] = {
      "", "a b", "\"", "\\u0061", "\x80", "12345678901234567890123456789012345678901234567890123456789012345"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) CHECK(note(c, names[i], "1") == TY_INVALID);
  CHECK(ty_note(c, (const uint8_t *)"a\0b", 3, (const uint8_t *)"1", 1, &err) == TY_INVALID);
  CHECK(note(c, "a", "{") == TY_INVALID && note(c, "a", "1,2") == TY_INVALID);
  memset(much, '1', sizeof much - 1);
  CHECK(note(c, "c", much) == TY_INVALID);
  much[TY_NOTES_MAX - 40] = 0;
  CHECK(note(c, "c", much) == TY_OK && note(c, "d", "12345678901234567890") == TY_INVALID);
  CHECK(note(c, "c", "") == TY_OK && note(c, "none", "") == TY_OK);
  CHECK(notes_are(c, "{\"a\": null, \"b\": \"two\"}"));
  /* the last one takes the key with it */
  CHECK(note(c, "a", "") == TY_OK && note(c, "b", "") == TY_OK && ty_save(c, &err) == TY_OK);
  CHECK(notes_are(c, NULL) && notes_are(other, NULL) && saved_equal(env, dir, &m));
  close_checked(other);
  close_checked(c);
}

/* Notes that no writer writes. */
static void test_notes_damaged(void) {
  static const char *const wrong[] = {"[]", "{\"\": 1}", "{\"a b\": 1}", "{\"a\": 1, \"b\": 2, \"a\": 3}", "1"};
  char dir[320], path[400], text[8192], edited[8192];
  fresh_dir(dir);
  ty_collection *c = open_new(env, dir);
  CHECK(ty_begin(c, &err) == TY_OK && note(c, "a", "1") == TY_OK && ty_save(c, &err) == TY_OK);
  close_checked(c);
  snprintf(path, sizeof path, "%s/collection.json", dir);
  FILE *in = fopen(path, "r");
  size_t n = fread(text, 1, sizeof text - 1, in);
  fclose(in);
  text[n] = 0;
  char *at = strstr(text, "{\"a\": 1}");
  CHECK(at != NULL);
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    snprintf(edited, sizeof edited, "%.*s%s%s", (int)(at - text), text, wrong[i], at + 8);
    write_sealed(dir, edited);
    ty_collection *damaged = NULL;
    CHECK_MESSAGE(ty_collection_open(env, dir, &damaged, &err) == TY_CORRUPT && strstr(err.message, "note") != NULL,
                  "%s was taken: %s", wrong[i], err.message);
  }
}

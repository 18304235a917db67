/* The manifest: every damaged byte is seen and named for what it is, keys that the program does not know are kept,
 * other versions are refused whatever else they hold. */
#include "../../ffi/ty_runtime/state/state.h"
#include "store_kinds.h"

static ty_env *env;
static ty_error err;

static ty_status note(ty_collection *c, const char *name, const char *json) {
  return ty_note(c, (const uint8_t *)name, strlen(name), (const uint8_t *)json, strlen(json), &err);
}

/* A collection with every kind of file, notes and other keys, whose manifest is `text`. */
static size_t make_manifest(char dir[320], char *text, size_t room) {
  make_all_kinds(env, dir);
  ty_collection *c = open_saved(env, dir);
  CHECK(ty_begin(c, &err) == TY_OK && note(c, "crc32c", "{\"files\": [1]}") == TY_OK && ty_save(c, &err) == TY_OK);
  close_checked(c);
  free_files();
  read_files(dir);
  const file *m = by_prefix("collection.json");
  CHECK(m->bytes < room);
  memcpy(text, m->data, m->bytes);
  text[m->bytes] = 0;
  return m->bytes;
}

static ty_status opened(const char *dir) {
  ty_collection *c = NULL;
  err.message[0] = 0;
  ty_status status = ty_collection_open(env, dir, &c, &err);
  if (status == TY_OK) close_checked(c);
  return status;
}

static bool said(const char *what) { return strstr(err.message, what) != NULL; }

/* Each byte with one bit flipped, two, all, as white space and as a digit: none of them is read as a manifest. What is
 * said of the file is that it is damaged, or of another version, which its own bytes then say. */
static void test_manifest_flips(void) {
  char dir[320], text[8192], damaged[8192];
  size_t bytes = make_manifest(dir, text, sizeof text);
  uint64_t tries = 0, versions = 0;
  for (size_t at = 0; at < bytes; at++) {
    for (int kind = 0; kind < 13; kind++) {
      static const uint8_t masks[11] = {1, 2, 4, 8, 16, 32, 64, 128, 3, 0x0f, 0xff};
      uint8_t byte = (uint8_t)text[at];
      byte = kind < 11 ? byte ^ masks[kind] : kind == 11 ? ' ' : (uint8_t)('0' + tries % 10);
      if (byte == (uint8_t)text[at]) continue;
      memcpy(damaged, text, bytes);
      damaged[at] = (char)byte;
      write_file(dir, "collection.json", (uint8_t *)damaged, bytes);
      ty_status status = opened(dir);
      bool named = status == TY_CORRUPT && (said("does not match its checksum") || said("does not end as it was"));
      bool version = status == TY_VERSION && said("or it is damaged, as its checksum is not");
      CHECK_MESSAGE(named || version, "byte %zu, kind %d: status %d, %s", at, kind, status, err.message);
      tries++;
      versions += version;
    }
  }
  CHECK_MESSAGE(tries > 10 * bytes && versions < 10, "%d tries, %d of another version", (int)tries, (int)versions);
  write_file(dir, "collection.json", (uint8_t *)text, bytes);
  CHECK(opened(dir) == TY_OK);
  free_files();
}

/* Every shorter manifest, and longer ones. */
static void test_manifest_ends(void) {
  char dir[320], text[8192];
  size_t bytes = make_manifest(dir, text, sizeof text);
  for (size_t end = 0; end < bytes; end++) {
    write_file(dir, "collection.json", (uint8_t *)text, end);
    CHECK_MESSAGE(opened(dir) == TY_CORRUPT && said("collection.json"), "%zu bytes: %s", end, err.message);
  }
  static const char *const tails[] = {" ", "\n", "x", "{}"};
  for (size_t i = 0; i < sizeof tails / sizeof *tails; i++) {
    char longer[8192 + 128];
    int n = snprintf(longer, sizeof longer, "%s%s", text, tails[i]);
    write_file(dir, "collection.json", (uint8_t *)longer, (size_t)n);
    CHECK_MESSAGE(opened(dir) == TY_CORRUPT, "with %s", tails[i]);
  }
  /* by whole periods of spaces */
  memset(text + bytes, ' ', 64);
  write_file(dir, "collection.json", (uint8_t *)text, bytes + 64);
  CHECK(opened(dir) == TY_CORRUPT && said("does not end as it was written"));
  free_files();
}

/* Writes the manifest with `inserted` before this key, with a checksum that fits, and opens it. */
static ty_status opened_with_keys(const char *dir, const char *text, const char *before, const char *inserted) {
  char edited[3 * 8192];
  const char *at = strstr(text, before);
  snprintf(edited, sizeof edited, "%.*s%s%s", (int)(at - text), text, inserted, at);
  write_sealed(dir, edited);
  return opened(dir);
}

static bool manifest_has(ty_collection *c, const char *line) {
  ty_manifest_args manifest = {.out = answer, .out_capacity = sizeof answer};
  return ty_manifest(c, &manifest, &err) == TY_OK && memmem(answer, manifest.out_bytes, line, strlen(line)) != NULL;
}

/* Keys of others stand between the notes and the version, as they are and in their order, after a save, a compaction,
 * an index, a copy, and for another handle that follows. */
static void test_manifest_keys(void) {
  static const char *const kept = ",\n  \"description\": \"what the \\u00e4gent \\\"saw\\\"\",\n  \"a key\": [1, "
                                  "{\"b\":  null}],\n  \"\": -0.0e1,\n"
                                  "  \"\xc3\xa4\": {\"crc32c\": 1, \"format_version\": 99},\n  \"format_version\": ";
  char dir[320], copy[320], text[8192];
  size_t bytes = make_manifest(dir, text, sizeof text);
  ty_collection *follower = open_saved(env, dir);
  /* wherever they stood */
  CHECK(opened_with_keys(dir, text, "\"dim\":", "\"description\": \"what the \\u00e4gent \\\"saw\\\"\", ") == TY_OK);
  FILE *in = fopen((snprintf(copy, sizeof copy, "%s/collection.json", dir), copy), "r");
  bytes = fread(text, 1, sizeof text - 1, in);
  fclose(in);
  text[bytes] = 0;
  CHECK(opened_with_keys(dir, text, "\"files\": [\n",
                         "\"a key\": [1, {\"b\":  null}], \"\" : -0.0e1,\"\xc3\xa4\": {\"crc32c\": 1, "
                         "\"format_version\": 99}, ") == TY_OK);
  ty_collection *c = open_saved(env, dir);
  CHECK(c != NULL && manifest_has(c, kept));
  model m = {0};
  ty_compact_args compact = {0};
  ty_ivf_args ivf = {.min_rows = 4, .target_recall = 0.9};
  put_versions(c, &m, 0, 3, 70);
  CHECK(ty_save(c, &err) == TY_OK && manifest_has(c, kept));
  CHECK(ty_begin(c, &err) == TY_OK && note(c, "x", "1") == TY_OK && ty_save(c, &err) == TY_OK && manifest_has(c, kept));
  CHECK(ty_begin(c, &err) == TY_OK && ty_set(c, "applied_tuner", (const uint8_t *)"{}", 2, &err) == TY_OK);
  ty_rollback(c);
  CHECK(ty_begin(c, &err) == TY_OK && ty_compact(c, &compact, NULL, &err) == TY_OK && manifest_has(c, kept));
  CHECK(ty_begin(c, &err) == TY_OK && ty_build_ivf(c, &ivf, NULL, &err) == TY_OK && manifest_has(c, kept));
  fresh_dir(copy);
  CHECK(mkdir(copy, 0700) == 0);
  ty_copy_args args = {.dir = copy};
  CHECK(ty_begin(c, &err) == TY_OK && ty_copy(c, &args, NULL, &err) == TY_OK);
  ty_rollback(c);
  ty_collection *copied = open_saved(env, copy);
  CHECK(manifest_has(copied, kept) && manifest_has(follower, kept));
  close_checked(copied);
  close_checked(c);
  c = open_saved(env, dir);
  CHECK(manifest_has(c, kept));
  close_checked(c);
  close_checked(follower);
  free_files();
}

static ty_status described(ty_collection *c, const char *json) {
  return ty_set(c, "description", (const uint8_t *)json, strlen(json), &err);
}

/* The description is set, replaced in its place, rolled back and removed; other keys stay where they were. */
static void test_manifest_description(void) {
  static char longest[8192];
  char dir[320], text[8192];
  make_manifest(dir, text, sizeof text);
  CHECK(opened_with_keys(dir, text, "\"format_version\"", "\"a\": 1,\n  ") == TY_OK);
  ty_collection *c = open_saved(env, dir), *follower = open_saved(env, dir);
  CHECK(described(c, "\"early\"") == TY_STATE);
  CHECK(ty_begin(c, &err) == TY_OK && described(c, "\"one\"") == TY_OK && ty_save(c, &err) == TY_OK);
  CHECK(manifest_has(follower, ",\n  \"a\": 1,\n  \"description\": \"one\",\n  \"format_version\""));
  CHECK(ty_begin(c, &err) == TY_OK && described(c, "\"two\"") == TY_OK && ty_set(c, "x", NULL, 0, &err) == TY_INVALID);
  ty_rollback(c);
  CHECK(manifest_has(c, "\"description\": \"one\""));
  memset(longest, 'd', 4098);
  longest[0] = longest[4097] = '"';
  CHECK(ty_begin(c, &err) == TY_OK && described(c, longest) == TY_OK && ty_save(c, &err) == TY_OK);
  CHECK(manifest_has(follower, longest));
  memset(longest, 'd', 4099);
  longest[0] = longest[4098] = '"';
  static const char *const wrong[] = {"null", "1", "[\"a\"]", "\"a", "\"a\" 1", longest};
  CHECK(ty_begin(c, &err) == TY_OK);
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) CHECK(described(c, wrong[i]) == TY_INVALID);
  CHECK(described(c, "") == TY_OK && described(c, "") == TY_OK && ty_save(c, &err) == TY_OK);
  CHECK(!manifest_has(follower, "description") && manifest_has(follower, "\"a\": 1,\n  \"format_version\""));
  CHECK(ty_begin(c, &err) == TY_OK && ty_set(c, "name", (const uint8_t *)"\"other\"", 7, &err) == TY_OK);
  CHECK(ty_save(c, &err) == TY_OK && manifest_has(follower, "{\n  \"name\": \"other\",\n"));
  close_checked(c);
  close_checked(follower);
  c = open_saved(env, dir);
  CHECK(c != NULL && manifest_has(c, "\"name\": \"other\""));
  close_checked(c);
  /* where there is no room for another key */
  size_t n = 0;
  for (int i = 0; i < 64; i++) n += (size_t)snprintf(longest + n, sizeof longest - n, "\"k%d\": 1,\n  ", i);
  free_files();
  make_manifest(dir, text, sizeof text);
  CHECK(opened_with_keys(dir, text, "\"format_version\"", longest) == TY_OK);
  c = open_saved(env, dir);
  CHECK(ty_begin(c, &err) == TY_OK && described(c, "\"one\"") == TY_INVALID && described(c, "") == TY_OK);
  ty_rollback(c);
  close_checked(c);
  free_files();
}

/* What no manifest may hold, with a checksum that fits. */
static void test_manifest_refused(void) {
  static char many[8192], description[8192];
  char dir[320], text[8192];
  make_manifest(dir, text, sizeof text);
  size_t n = 0;
  for (int i = 0; i < 64; i++) n += (size_t)snprintf(many + n, sizeof many - n, "\"key %d\": %d,\n  ", i, i);
  CHECK(opened_with_keys(dir, text, "\"format_version\"", many) == TY_OK);
  snprintf(many + n, sizeof many - n, "\"key 64\": 64,\n  ");
  CHECK(opened_with_keys(dir, text, "\"format_version\"", many) == TY_CORRUPT && said("more than 64 keys"));
  n = (size_t)snprintf(description, sizeof description, "\"description\": \"");
  memset(description + n, 'd', 4096);
  snprintf(description + n + 4096, sizeof description - n - 4096, "\",\n  ");
  CHECK(opened_with_keys(dir, text, "\"format_version\"", description) == TY_OK);
  snprintf(description + n + 4096, sizeof description - n - 4096, "d\",\n  ");
  CHECK(opened_with_keys(dir, text, "\"format_version\"", description) == TY_CORRUPT && said("description is not"));
  static const char *const wrong[][2] = {
      {"\"description\": null, ", "description is not"},        {"\"a\": 1, \"a\": 2, ", "the key a is there twice"},
      {"\"name\": \"other\", ", "the key name is there twice"}, {"\"files\": [], ", "the key files is there twice"},
      {"\"crc32c\": 1, ", "the key crc32c is there twice"},     {"\"\\u0061\": 1, ", "has an escape"}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    CHECK_MESSAGE(opened_with_keys(dir, text, "\"generation\"", wrong[i][0]) == TY_CORRUPT && said(wrong[i][1]),
                  "%s: %s", wrong[i][0], err.message);
  }
  free_files();
  /* and no schema that a caller gives */
  static const char *const refused[] = {"\"files\": []", "\"crc32c\": 1", "\"id_map\": \"id_map.npy\""};
  char schema[512];
  for (size_t i = 0; i < 3; i++) {
    size_t end = test_schema(schema, sizeof schema);
    ty_collection *c = NULL;
    snprintf(schema + end - 1, sizeof schema - end, ",%s}", refused[i]);
    CHECK(ty_collection_new(env, dir, (uint8_t *)schema, strlen(schema), &c, &err) == TY_INVALID && said("has no key"));
  }
}

/* The message about another version names the version and the build that wrote the collection, where they can be shown.
 */
static void test_writers(const char *dir, const char *text) {
  static const struct {
    const char *version, *build, *shown; /* raw JSON; NULL: the message ends without a writer */
  } cases[] = {
      {"\"0.1.0\"", "\"commit 0123456789ab-dirty, release key fedc\"",
       "import it with this one; version 0.1.0 (commit 0123456789ab-dirty, release key fedc) wrote it"},
      {"\"0.1.0\"", "[1]", "import it with this one; version 0.1.0 wrote it"},
      {"\"0.1.0\"", "\"\\u001b[31m\"", "import it with this one; version 0.1.0 wrote it"},
      {"\"0.1.0\"", "\"\xc2\x9b\"", "import it with this one; version 0.1.0 wrote it"},
      {"\"\"", "\"a\"", "import it with this one"},
      {"7", "\"a\"", "import it with this one"},
  };
  char edited[8192], own[64];
  snprintf(own, sizeof own, "\"format_version\": %u", TY_SLAB_VERSION);
  const char *version = strstr(text, "\"telys_version\": \""), *rest = strchr(version, '\n'), *at = strstr(text, own);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    snprintf(edited, sizeof edited, "%.*s\"telys_version\": %s,%.*s\"telys_build\": %s, \"format_version\": %u%s",
             (int)(version - text), text, cases[i].version, (int)(at - rest), rest, cases[i].build,
             TY_SLAB_VERSION_LEAST - 1, at + strlen(own));
    write_sealed(dir, edited);
    CHECK(opened(dir) == TY_VERSION);
    const char *end = strstr(err.message, "import it");
    CHECK_MESSAGE(end != NULL && strcmp(end, cases[i].shown) == 0, "%zu: %s", i, err.message);
  }
}

/* Manifests of other versions: newer ones whatever else they hold, those without a version, and halves of both. */
static void test_manifest_versions(void) {
  char dir[320], text[8192], edited[8192];
  size_t bytes = make_manifest(dir, text, sizeof text);
  char newer[64], own[64];
  snprintf(own, sizeof own, "\"format_version\": %u", TY_SLAB_VERSION);
  snprintf(newer, sizeof newer, "is of format version %u, and this program's is %u: use a newer release of svc",
           TY_SLAB_VERSION + 1, TY_SLAB_VERSION);
  char *at = strstr(text, own);
  CHECK(at != NULL);
  for (int kind = 0; kind < 3; kind++) {
    static const char *const rest[] = {NULL, "{\"new\": {}, \"format_version\": %u}",
                                       "  {\"format_version\": %u ,\n"
                                       "\"name\": [], \"files\": 3} \n\n"};
    if (kind == 0)
      snprintf(edited, sizeof edited, "%.*s\"format_version\": %u%s", (int)(at - text), text, TY_SLAB_VERSION + 1,
               at + strlen(own));
    else snprintf(edited, sizeof edited, kind == 1 ? rest[1] : rest[2], TY_SLAB_VERSION + 1);
    if (kind == 0) write_sealed(dir, edited);
    else write_file(dir, "collection.json", (uint8_t *)edited, strlen(edited));
    CHECK_MESSAGE(opened(dir) == TY_VERSION && said(newer), "%d: %s", kind, err.message);
    CHECK(said("or it is damaged") == (kind > 0));
  }
  snprintf(edited, sizeof edited, "%.*s\"format_version\": %u%s", (int)(at - text), text, TY_SLAB_VERSION_LEAST - 1,
           at + strlen(own));
  write_sealed(dir, edited);
  CHECK(opened(dir) == TY_VERSION && said("export the collection with the release that wrote it"));
  CHECK_MESSAGE(said("; version 1.0.0 wrote it"), "%s", err.message);
  test_writers(dir, text);
  /* neither key: as the version before wrote it; one of them only is damage */
  char *sum = strstr(text, ",\n  \"crc32c\"");
  snprintf(edited, sizeof edited, "%.*s%.*s\n}\n", (int)(at - text), text, (int)(sum - at - strlen(own) - 4),
           at + strlen(own) + 4);
  write_file(dir, "collection.json", (uint8_t *)edited, strlen(edited));
  CHECK_MESSAGE(opened(dir) == TY_VERSION && said("is of an earlier format version than this program's"), "%s",
                err.message);
  snprintf(edited, sizeof edited, "%.*s\n}\n", (int)(sum - text), text);
  write_file(dir, "collection.json", (uint8_t *)edited, strlen(edited));
  CHECK(opened(dir) == TY_CORRUPT && said("does not match its checksum"));
  snprintf(edited, sizeof edited, "%.*s%s", (int)(at - text), text, at + strlen(own) + 4);
  write_sealed(dir, edited);
  CHECK(opened(dir) == TY_CORRUPT && said("it has no format_version"));
  write_file(dir, "collection.json", (uint8_t *)text, bytes);
  CHECK(opened(dir) == TY_OK);
  free_files();
}

/* The generations of a delta's blocks ascend up to the manifest's; another one is not the block of that save. */
static void test_block_generations(void) {
  FRESH_DIR(dir);
  static uint8_t data[1 << 20];
  model m = {0};
  ty_collection *c = open_new(env, dir);
  for (uint32_t i = 0; i < 4; i++) { /* the first save makes the base, three make blocks */
    put_versions(c, &m, i, 1, 1 + i);
    CHECK(ty_save(c, &err) == TY_OK);
  }
  close_checked(c);
  read_files(dir);
  const file *delta = by_prefix("delta-");
  for (uint64_t generation = 0; generation < 7; generation++) {
    memcpy(data, delta->data, delta->bytes);
    size_t at = sizeof(ty_slab_header);
    ty_block_header *b = (ty_block_header *)(void *)(data + at);
    b = (ty_block_header *)(void *)(data + at + sizeof *b + b->payload_bytes);
    CHECK(b->generation == 3);
    b->generation = generation;
    mend(dir, delta, data);
    write_file(dir, delta->name, data, delta->bytes);
    CHECK_MESSAGE(opened(dir) == (generation == 3 ? TY_OK : TY_CORRUPT), "generation %d: %s", (int)generation,
                  err.message);
    CHECK(generation == 3 || said("a block is not of the save that comes next at offset"));
    for (int i = 0; i < file_count; i++) write_file(dir, files[i].name, files[i].data, files[i].bytes);
  }
  free_files();
}

int main(int argc, char **argv) {
  uint64_t seed;
  if (!program_begin(argc, argv, "manifest-test", 1, &seed, &env)) return 2;
  rng_state = seed;
  test_manifest_flips();
  test_manifest_ends();
  test_manifest_keys();
  test_manifest_description();
  test_manifest_refused();
  test_manifest_versions();
  test_block_generations();
  return program_end(env);
}

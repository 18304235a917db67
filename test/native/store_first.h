/* The first save, cut off at each of its calls, and a collection whose manifest is lost. */
#pragma once

static void copy_file(const char *from, const char *to) {
  FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
  int byte;
  while (in != NULL && out != NULL && (byte = fgetc(in)) != EOF) fputc(byte, out);
  if (in != NULL) fclose(in);
  if (out != NULL) fclose(out);
}

static void copy_dir(const char *from, const char *to) {
  DIR *d = opendir(from);
  struct dirent *e;
  char a[700], b[700];
  if (d == NULL) return;
  mkdir(to, 0700);
  while ((e = readdir(d)) != NULL) {
    snprintf(a, sizeof a, "%s/%s", from, e->d_name);
    snprintf(b, sizeof b, "%s/%s", to, e->d_name);
    struct stat s;
    if (stat(a, &s) == 0 && S_ISREG(s.st_mode)) copy_file(a, b);
  }
  closedir(d);
}

static bool has(const char *dir, const char *name) {
  char path[700];
  snprintf(path, sizeof path, "%s/%s", dir, name);
  return access(path, F_OK) == 0;
}

/* ---- What is done in which order ------------------------------------------------------------------------------------
 */
static ty_os first_plain;
static char first_log[4096];
static char first_from[320];
static struct {
  char dir[320];
  bool marker, slabs, manifest;
} first_states[64];
static uint32_t first_count;

static bool has_slab(const char *dir) {
  DIR *d = opendir(dir);
  struct dirent *e;
  bool found = false;
  while (d != NULL && (e = readdir(d)) != NULL) found |= strstr(e->d_name, ".slab") != NULL;
  if (d != NULL) closedir(d);
  return found;
}

/* Notes what was done, and keeps the directory as a kill after it would leave it. */
static void first_note(const char *what, const char *path) {
  const char *name = strrchr(path, '/');
  strncat(first_log, what, sizeof first_log - strlen(first_log) - 1);
  strncat(first_log, name == NULL ? path : name + 1, sizeof first_log - strlen(first_log) - 1);
  strncat(first_log, "\n", sizeof first_log - strlen(first_log) - 1);
  if (first_count == sizeof first_states / sizeof *first_states) return;
  fresh_dir(first_states[first_count].dir);
  copy_dir(first_from, first_states[first_count].dir);
  first_states[first_count].marker = has(first_from, ".first-save");
  first_states[first_count].manifest = has(first_from, "collection.json");
  first_states[first_count].slabs = has_slab(first_from);
  first_count++;
}

static int first_open(ty_os *os, const char *path, int flags, int mode) {
  int fd = first_plain.open(os, path, flags, mode);
  if (fd >= 0 && (flags & O_CREAT)) first_note("create ", path);
  return fd;
}
static int first_sync_dir(ty_os *os, int fd) {
  int result = first_plain.sync_dir(os, fd);
  first_note("sync directory", "");
  return result;
}
static int first_rename(ty_os *os, const char *from, const char *to) {
  int result = first_plain.rename(os, from, to);
  first_note("rename to ", to);
  return result;
}
static int first_unlink(ty_os *os, const char *path) {
  int result = first_plain.unlink(os, path);
  if (result == 0) first_note("remove ", path);
  return result;
}

static const char *after(const char *in, const char *what) {
  const char *found = in == NULL ? NULL : strstr(in, what);
  return found == NULL ? NULL : found + strlen(what);
}

static void lose_manifest(const char *dir) {
  char path[700];
  snprintf(path, sizeof path, "%s/collection.json", dir);
  CHECK(unlink(path) == 0);
}

/* Neither a reader nor a writer takes the name for a free one, and no file changes. */
static void check_damaged(const char *dir) {
  ty_collection *c = NULL;
  uint64_t before = fingerprint(dir);
  CHECK(ty_collection_open(env, dir, &c, &err) == TY_CORRUPT &&
        strstr(err.message, "collection.json is missing") != NULL);
  c = open_new(env, dir);
  CHECK(ty_begin(c, &err) == TY_CORRUPT);
  close_checked(c);
  CHECK(fingerprint(dir) == before);
}

static void check_free(const char *dir) {
  model m = {0};
  ty_collection *c = NULL;
  CHECK(ty_collection_open(env, dir, &c, &err) == TY_NOT_FOUND);
  c = open_new(env, dir);
  put_versions(c, &m, 3, 7, 500);
  CHECK_MESSAGE(ty_save(c, &err) == TY_OK, "%s", err.message);
  CHECK(saved_equal(env, dir, &m) && !has(dir, ".first-save"));
  close_checked(c);
}

static void test_first_save(void) {
  fresh_dir(first_from);
  model m = {0};
  ty_collection *c = open_new(env, first_from);
  put_versions(c, &m, 0, 20, 1);
  first_plain = env->os;
  env->os.open = first_open, env->os.sync_dir = first_sync_dir;
  env->os.rename = first_rename, env->os.unlink = first_unlink;
  CHECK(ty_save(c, &err) == TY_OK);
  env->os.open = first_plain.open, env->os.sync_dir = first_plain.sync_dir;
  env->os.rename = first_plain.rename, env->os.unlink = first_plain.unlink;

  const char *at = strstr(first_log, "create base-");
  const char *marked = after(after(first_log, "create .first-save\n"), "sync directory\n");
  CHECK_MESSAGE(marked != NULL && at != NULL && marked <= at, "%s", first_log);
  at = after(after(after(at, "rename to collection.json\n"), "sync directory\n"), "remove .first-save\n");
  CHECK_MESSAGE(at != NULL, "%s", first_log);

  uint32_t cut = 0, whole = 0;
  for (uint32_t i = 0; i < first_count; i++) {
    const char *dir = first_states[i].dir;
    if (!first_states[i].manifest) {
      CHECK(!first_states[i].slabs || first_states[i].marker);
      cut += first_states[i].slabs;
      check_free(dir);
      continue;
    }
    whole++;
    CHECK(saved_equal(env, dir, &m));
    /* A marker that is still there goes with the next change, even one that changes nothing. */
    ty_collection *next = open_saved(env, dir);
    CHECK(ty_begin(next, &err) == TY_OK);
    ty_rollback(next);
    close_checked(next);
    lose_manifest(dir);
    check_damaged(dir);
  }
  CHECK(cut > 0 && whole > 1);

  /* Lost under an open handle: it goes on answering nothing, and changes nothing. */
  lose_manifest(first_from);
  CHECK(ty_begin(c, &err) == TY_CORRUPT);
  ty_collection_close(c);
  check_damaged(first_from);
}

/* Files that other programs wrote. */
static void test_foreign_slabs(void) {
  char dir[320], path[700];
  static const char *const alone[] = {"base-0000000000000001.slab", "delta-0000000000000002.slab",
                                      "lexical-0000000000000001.slab", "ivf-0000000000000009.slab",
                                      "base-of-mine.slab"};
  for (size_t i = 0; i < sizeof alone / sizeof *alone; i++) {
    for (int marker = 0; marker < 2; marker++) {
      fresh_dir(dir);
      mkdir(dir, 0700);
      snprintf(path, sizeof path, "%s/%s", dir, alone[i]);
      fclose(fopen(path, "w"));
      snprintf(path, sizeof path, "%s/.first-save", dir);
      if (marker) fclose(fopen(path, "w"));
      if (marker && strstr(alone[i], "-0000000000000001.slab") != NULL) check_free(dir);
      else check_damaged(dir);
    }
  }
  fresh_dir(dir); /* a marker without slabs, and one that is a link */
  mkdir(dir, 0700);
  snprintf(path, sizeof path, "%s/.first-save", dir);
  CHECK(symlink("/nowhere", path) == 0);
  check_free(dir);
}

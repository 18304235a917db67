/* Folder trees: what a walk reports of each kind of change, in which order, and under failing system calls. */
#include "tree_model.h"

static int compare_words(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* Entries of one folder come in any order. */
static void sort_order(void) {
  static char copy[sizeof order];
  char *words[1000];
  size_t count = 0, at = 0;
  memcpy(copy, order, sizeof copy);
  for (char *word = strtok(copy, " "); word != NULL && count < 1000; word = strtok(NULL, " ")) words[count++] = word;
  qsort(words, count, sizeof *words, compare_words);
  for (size_t i = 0; i < count; i++) at += (size_t)snprintf(order + at, sizeof order - at, "%s ", words[i]);
}

/* Walks to the end and compares the events. */
#define CHECK_ORDER(below, after, most, expected)                                                                      \
  do {                                                                                                                 \
    CHECK_MESSAGE(walk(below, after, most) == TY_OK, "%s", err.message);                                               \
    CHECK_MESSAGE(strcmp(order, expected) == 0, "'%s', expected was '%s'", order, expected);                           \
  } while (0)
/* The same, sorted. */
#define CHECK_WALK(expected)                                                                                           \
  do {                                                                                                                 \
    CHECK_MESSAGE(walk("", "", 0) == TY_OK, "%s", err.message);                                                        \
    sort_order();                                                                                                      \
    CHECK_MESSAGE(strcmp(order, expected) == 0, "'%s', expected was '%s'", order, expected);                           \
  } while (0)

static void test_types(void) {
  begin("d/1 d/e/2 f");
  CHECK(walk("", "", 0) == TY_OK);
  check_agrees();
  CHECK_WALK("");
  /* A folder becomes a file, a file a folder, a file a link. */
  erase(full("d"));
  put("d");
  CHECK_WALK("1d 3d/1 3d/e 3d/e/2 ");
  check_agrees();
  unlink(full("f"));
  put("f/3");
  CHECK_WALK("1f 1f/3 ");
  unlink(full("d"));
  CHECK(symlink("f", full("d")) == 0);
  CHECK_WALK("1d ");
  /* A folder that is not entered: only its type counts. */
  CHECK(tell("f", TY_TREE_WATCH) == TY_OK);
  put("f/4");
  CHECK_WALK("");
  rename(full("f"), full("g"));
  put("f");
  CHECK_WALK("1f 1g 1g/3 1g/4 ");
  end();
}

static void test_verdicts(void) {
  begin("a/1 a/b/2 c");
  CHECK(walk("", "", 0) == TY_OK);
  CHECK(tell("a", TY_TREE_SKIP) == TY_OK && tell("c", TY_TREE_SKIP) == TY_OK);
  put("a/1");
  put("c");
  erase(full("a/b"));
  CHECK_WALK("");
  /* What was known below a folder that was not to be entered was dropped: all of it is new. */
  CHECK(tell("a", TY_TREE_ENTER) == TY_OK && tell("c", TY_TREE_NONE) == TY_OK);
  CHECK(walk("", "", 0) == TY_OK);
  CHECK(strstr(order, "1a/1 ") != NULL && strstr(order, "1c ") != NULL && find("a/b") == NULL);
  check_agrees();
  CHECK(tell("a", TY_TREE_NONE) == TY_OK);
  CHECK_WALK("1a 1a/1 ");
  /* What was skipped and is gone is forgotten silently. */
  CHECK(tell("c", TY_TREE_SKIP) == TY_OK);
  unlink(full("c"));
  CHECK_WALK("");
  put("c");
  CHECK_WALK("1c ");
  /* Entries whose verdict came before they were seen: a file where a folder was meant, and the reverse. */
  put("h/1");
  put("i");
  CHECK(tell("h", TY_TREE_WATCH) == TY_OK && tell("i", TY_TREE_ENTER) == TY_OK && tell("j", TY_TREE_NONE) == TY_OK);
  CHECK(walk("", "", 0) == TY_OK && strstr(order, "1h ") != NULL && strstr(order, "1i ") != NULL);
  check_agrees();
  end();
}

static void test_order(void) {
  begin("a/1 a/c/2 a-b/3 b/4 b/c/5 z/6");
  CHECK(walk("", "", 0) == TY_OK);
  for (int round = 0; round < 2; round++) {
    for (const char *p = "a/1\0a/c/2\0a-b/3\0b/4\0b/c/5\0z/6\0"; *p; p += strlen(p) + 1) put(p);
    if (round == 0) CHECK_ORDER("", "", 0, "2a/1 2a/c/2 2a-b/3 2b/4 2b/c/5 2z/6 ");
    else CHECK_ORDER("", "b", 1, "2b/4 2b/c/5 2z/6 2a/1 2a/c/2 2a-b/3 "); /* late after each folder */
  }
  put("b/c/5");
  put("z/6");
  CHECK_ORDER("b", "", 0, "2b/c/5 ");
  CHECK_ORDER("z", "b", 0, "2z/6 ");
  /* A path that is not there. */
  put("a/1");
  put("b/4");
  CHECK_ORDER("", "a-b/x/y", 0, "2b/4 2a/1 ");
  CHECK(args.reached_bytes == 3 && memcmp(args.reached, "a/c", 3) == 0);
  end();
}

static void test_stop(void) {
  begin("");
  for (int i = 0; i < 400; i++) {
    char path[40];
    snprintf(path, sizeof path, "d%d/file-%d", i % 3, i);
    put(path);
  }
  ty_progress progress = {0};
  order[0] = 0;
  CHECK(call("", "", 0, true, &progress) == TY_OK && args.done);
  progress.cancel = 1;
  CHECK(call("", "", 0, false, &progress) == TY_CANCELLED && !args.done);
  progress.cancel = 0;
  CHECK(call("", "", 0, false, &progress) == TY_OK && !args.done && args.events > 30 && args.events < 400);
  /* In the middle of a folder that is then not to be entered, and then is. */
  CHECK(tell("d0", TY_TREE_SKIP) == TY_OK && tell("d0", TY_TREE_ENTER) == TY_OK);
  while (!args.done) CHECK(call("", "", 0, false, &progress) == TY_OK);
  CHECK(walk("", "", 0) == TY_OK);
  check_agrees();
  CHECK(view_count == 403);
  CHECK_WALK("");
  CHECK(args.visited == 403);
  erase(full("d1"));
  erase(full("d2"));
  CHECK(walk("", "", 0) == TY_OK && view_count == 135);
  /* The root goes and comes back. */
  char other[400];
  snprintf(other, sizeof other, "%s-away", root);
  CHECK(rename(root, other) == 0 && walk("", "", 0) == TY_IO && err.sys_errno == ENOENT && view_count == 135);
  CHECK(symlink(other, root) == 0 && walk("", "", 0) == TY_IO && unlink(root) == 0);
  CHECK(call("", "", 0, false, NULL) == TY_STATE);
  CHECK(rename(other, root) == 0);
  CHECK_WALK("");
  end();
}

/* Paths of more than 4,000 bytes and 200 levels, and a name that is not UTF-8. */
static void test_long(void) {
  begin("");
  char name[251], path[4300];
  int here = open(".", O_RDONLY | O_DIRECTORY);
  memset(name, 'n', 250);
  name[250] = 0;
  CHECK(here >= 0 && chdir(root) == 0);
  for (int i = 0; i < 17; i++) CHECK(mkdir(name, 0755) == 0 && chdir(name) == 0);
  CHECK(chdir(root) == 0 && mkdir("d", 0755) == 0 && chdir("d") == 0);
  for (int i = 0; i < 205; i++) CHECK(mkdir("d", 0755) == 0 && chdir("d") == 0);
  CHECK(fchdir(here) == 0);
  close(here);
  FILE *odd = fopen(full("\xff\xfe"), "w");
  if (odd != NULL) fclose(odd);
  static uint8_t out[1 << 18] __attribute__((aligned(8))), reached[TY_TREE_PATH_MAX];
  int too_long = 0, entered = 0;
  ty_tree_walk_args w = {.begin = 1, .out = out, .out_capacity = sizeof out, .reached = reached};
  for (;; w.begin = 0) {
    CHECK(ty_tree_walk(tree, &w, NULL, &err) == TY_OK);
    for (uint64_t i = 0, at = 0; i < w.events; i++) {
      ty_tree_event e;
      memcpy(&e, out + at, sizeof e);
      uint64_t end = e.path_bytes, verdict = TY_TREE_ENTER;
      memcpy(path, out + at + sizeof e, e.path_bytes);
      ty_tree_tell_args said = {.n = 1, .verdicts = &verdict, .paths = (uint8_t *)path, .path_ends = &end};
      if (e.kind == TY_TREE_UNREADABLE) CHECK(e.sys_errno == ENAMETOOLONG && ++too_long > 0);
      else CHECK(e.kind == TY_TREE_NEW && ty_tree_tell(tree, &said, &err) == TY_OK && ++entered > 0);
      at += e.record_bytes;
    }
    if (w.done && w.events == 0) break;
  }
  CHECK_MESSAGE(too_long == 2 && entered == 15 + 200, "%d too long, %d entered", too_long, entered);
  CHECK(w.undecodable == (odd != NULL ? 1 : 0));
  end();
}

/* ---- File systems that this machine may not have --------------------------------------------------------------------
 */
static ty_os plain;
static int (*before_open)(const char *name);

static int64_t untyped_entries(ty_os *os, int fd, void *out, size_t capacity, void **reading) {
  int64_t bytes = plain.entries(os, fd, out, capacity, reading);
  for (int64_t at = 0; at < bytes;) {
    ty_entry *e = (ty_entry *)(void *)((uint8_t *)out + at);
    e->type = DT_UNKNOWN;
    at += e->bytes;
  }
  return bytes;
}

/* Folders whose mode has the sticky bit are on a device of their own. */
static int mounted_state(ty_os *os, int folder, const char *name, ty_lstat *out) {
  struct stat st;
  int result = plain.state_at(os, folder, name, out);
  if (result != 0) return result;
  if ((name != NULL ? fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) : fstat(folder, &st)) != 0) return -errno;
  if (st.st_mode & S_ISVTX) out->device += 1000;
  return 0;
}

static int racing_open(ty_os *os, int folder, const char *name, int flags) {
  if (before_open != NULL) before_open(name);
  return plain.open_at(os, folder, name, flags);
}

static void test_untyped(void) {
  env->os.entries = untyped_entries;
  begin("a/1 a/b/2 c");
  CHECK(walk("", "", 0) == TY_OK);
  check_agrees();
  CHECK_WALK("");
  put("c");
  erase(full("a/b"));
  put("a/b");
  CHECK_WALK("1a/b 2c 3a/b/2 ");
  check_agrees();
  env->os = plain;
  end();
}

static void test_devices(void) {
  env->os.state_at = mounted_state;
  is_mounted = true;
  begin("a/1 b/2");
  CHECK(walk("", "", 0) == TY_OK);
  CHECK(chmod(full("a"), 01755) == 0);
  CHECK_WALK("1a "); /* and then entered: what is below it is known */
  CHECK_WALK("");
  CHECK(chmod(full("a"), 0755) == 0);
  CHECK_WALK("1a ");
  /* Entered before it was seen, on another device than its parent's. */
  end();
  begin("a/1");
  CHECK(chmod(full("a"), 01755) == 0 && tell("a", TY_TREE_ENTER) == TY_OK);
  CHECK_WALK("1a 1a/1 ");
  is_mounted = false;
  env->os = plain;
  end();
}

static int link_replaces(const char *name) {
  if (strcmp(name, "b") != 0) return 0;
  rename(full("a/b"), full("a/moved"));
  return symlink("moved", full("a/b"));
}

static int is_removed(const char *name) {
  if (strcmp(name, "b") == 0) erase(full("a/b"));
  return 0;
}

/* Between the reading of its entry and its opening a folder is replaced by a link, or removed. */
static void test_race(void) {
  env->os.open_at = racing_open;
  for (int round = 0; round < 2; round++) {
    begin("a/b/1 a/b/c/2");
    CHECK(walk("", "", 0) == TY_OK);
    before_open = round == 0 ? link_replaces : is_removed;
    if (round == 0) CHECK_WALK("1a/b 3a/b/1 3a/b/c 3a/b/c/2 ");
    else CHECK(walk("", "", 0) == TY_OK && find("a/b") == NULL && find("a/b/c/2") == NULL && find("a") != NULL);
    before_open = NULL;
    CHECK(walk("", "", 0) == TY_OK);
    check_agrees();
    end();
  }
  env->os = plain;
}

/* ---- Any change, any failure ---------------------------------------------------------------------------------------
 */
static void any_path(char out[64]) {
  static const char *const names[] = {"a", "b", "c", "d", "e-f", "e", "\xc3\xa9"};
  out[0] = 0;
  for (uint64_t levels = 1 + rng() % 4; levels > 0; levels--) {
    strcat(out, names[rng() % 7]);
    if (levels > 1) strcat(out, "/");
  }
}

static void any_change(void) {
  char path[64], other[64];
  any_path(path);
  any_path(other);
  switch (rng() % 12) {
  case 0: erase(full(path)); break;
  case 1: rename(full(path), full(other)); break;
  case 2:
    erase(full(path));
    if (symlink(other, full(path)) != 0) mkdir(full(path), 0755);
    break;
  case 3:
    for (int i = 0; i < 90; i++) { /* more than one buffer holds */
      snprintf(other, sizeof other, "%.40s/x%d", path, i);
      put(other);
    }
    break;
  case 4:
    if (find(path) != NULL) CHECK(tell(path, TY_TREE_NONE) == TY_OK);
    /* Not `*find(path) = view[--view_count]`: the order of the two is open, and the last one is not found then. */
    if (find(path) != NULL) {
      struct known *gone = find(path);
      *gone = view[--view_count];
    }
    break;
  case 5:
    if (find(path) != NULL) CHECK(tell(path, TY_TREE_SKIP) == TY_OK);
    break;
  default: put(path);
  }
}

/* Walks with whatever may come: from anywhere, late, interrupted by changes, by failing calls, given up. */
static void any_walk(void) {
  static const int codes[] = {EIO, EACCES, EMFILE, ENOMEM};
  char below[64] = "", after[64] = "";
  if (rng() % 3 == 0) any_path(after);
  if (rng() % 4 == 0) any_path(below);
  may_fail = rng() % 2 == 0;
  is_quiet = rng() % 2 == 0;
  if (may_fail) ty_test_fail(env, 1 + rng() % 60, codes[rng() % 4], rng() % 4 == 0);
  ty_status status = call(below, after, rng() % 2, true, NULL);
  for (uint64_t left = rng() % 30; left > 0 && status == TY_OK; left--) {
    if (!is_quiet) any_change();
    status = call("", "", rng() % 2, false, NULL);
  }
  ty_test_fail(env, 0, 0, 0);
  if (rng() % 5 == 0) ty_tree_rest(tree);
  is_quiet = true;
  may_fail = false;
}

static void test_any(uint64_t seed, int rounds) {
  int files = open_files();
  begin("");
  salt = seed % 3 == 0 ? 0 : (uint32_t)seed;
  rng_state = seed;
  for (int round = 0; round < rounds; round++) {
    for (uint64_t n = rng() % 10; n > 0; n--) any_change();
    if (rng() % 2 == 0) any_walk();
    CHECK_MESSAGE(walk("", "", 0) == TY_OK, "%s", err.message);
    check_agrees();
    if (round % 10 == 0) CHECK_WALK("");
    if (check_failed > 0) {
      fprintf(stderr, "seed %llu, round %d\n", (unsigned long long)seed, round);
      break;
    }
  }
  end();
  CHECK_MESSAGE(open_files() == files, "%d descriptors stay open", open_files() - files);
}

/* Each system call of a walk fails in turn. */
static void test_failing(void) {
  for (int sticky = 0; sticky < 2; sticky++) {
    begin("a/1 a/b/2 c/3 d");
    CHECK(walk("", "", 0) == TY_OK);
    for (uint64_t n = 1, calls = n; calls >= n; n++) {
      put("a/b/2");
      if (n % 2 == 0) put("c/4");
      else erase(full("c"));
      may_fail = true;
      ty_test_fail(env, n, EIO, (uint32_t)sticky);
      ty_status status = walk("", "", 0);
      calls = ty_test_fail(env, 0, 0, 0);
      may_fail = false;
      CHECK(status == TY_OK || (status == TY_IO && err.sys_errno == EIO));
      CHECK(walk("", "", 0) == TY_OK);
      check_agrees();
    }
    end();
  }
}

static void test_read(void) {
  static uint8_t out[100000];
  begin("a/1");
  int files = open_files();
  ty_tree_read_args r = {
      .path = (const uint8_t *)"a/1", .path_bytes = 3, .most = 1000, .out = out, .out_capacity = 1000};
  CHECK(ty_tree_read(tree, &r, &err) == TY_OK && r.outcome == TY_TREE_READ_BINARY && r.bytes == 0); /* of zeros */
  FILE *f = fopen(full("a/1"), "w");
  memset(out, 'x', sizeof out);
  CHECK(f != NULL && fwrite(out, 1, 70000, f) == 70000 && fclose(f) == 0);
  CHECK(ty_tree_read(tree, &r, &err) == TY_OK && r.outcome == TY_TREE_READ_TOO_LARGE && r.size == 70000);
  r.most = 70000;
  CHECK(ty_tree_read(tree, &r, &err) == TY_OK && r.outcome == TY_TREE_READ_BUFFER && r.bytes == 0);
  r.out_capacity = 70000;
  CHECK(ty_tree_read(tree, &r, &err) == TY_OK && r.outcome == TY_TREE_READ_OK && r.bytes == 70000 && r.mark > 0);
  ty_tree_rest(tree);
  /* Each system call fails in turn: the root, the folder, the file, its state, two reads, the close. */
  static const int codes[] = {EIO, EMFILE, ENOENT};
  for (uint64_t n = 1; n <= 6; n++) {
    for (int i = 0; i < 3; i++) {
      ty_tree_rest(tree);
      ty_test_fail(env, n, codes[i], 0);
      ty_status status = ty_tree_read(tree, &r, &err);
      ty_test_fail(env, 0, 0, 0);
      CHECK_MESSAGE(i == 1 ? status == TY_IO : status == TY_OK, "call %d: %d", (int)n, status);
      if (i != 1) CHECK(r.outcome == (i == 0 ? TY_TREE_READ_UNREADABLE : TY_TREE_READ_GONE) && r.bytes == 0);
    }
  }
  ty_tree_rest(tree);
  CHECK(open_files() == files);
  end();
}

int main(int argc, char **argv) {
  const char *temporary = getenv("TMPDIR");
  uint64_t seed = argc > 1 && strcmp(argv[1], "-") != 0 ? strtoull(argv[1], NULL, 10) : (uint64_t)getpid() * 7919;
  int rounds = argc > 2 ? atoi(argv[2]) : 60;
  printf("seed %llu\n", (unsigned long long)seed);
  snprintf(base, sizeof base, "%s/tree-test-XXXXXX", temporary != NULL ? temporary : "/tmp");
  if (mkdtemp(base) == NULL || ty_env_open(ame_kernel_table(), 1, &env, &err) != TY_OK) return 2;
  plain = env->os;
  test_types();
  test_verdicts();
  test_order();
  test_stop();
  test_long();
  test_untyped();
  test_devices();
  test_race();
  test_read();
  test_failing();
  for (uint64_t i = 0; i < 4; i++) test_any(seed + i, rounds);
  ty_env_close(env);
  erase(base);
  return check_report();
}

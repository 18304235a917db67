/* The storage half against a model: semantics, random operations, followers, readers beside a rewrite, failures of
 * every system call. */
#include <pthread.h>
#include <stdatomic.h>
#include "../../ffi/ty_runtime/calls/newest.h"
#include "../../ffi/ty_runtime/disk/format.h"
#include "../../ffi/ty_runtime/rows/vector.h"
#include "../../ffi/ty_runtime/state/state.h"
#include "store_history.h"
#include "store_model.h"

/* More system calls than any operation makes. */
#define CALLS_MOST 2000u

static ty_env *env;
static ty_error err;

static void test_semantics(void) {
  FRESH_DIR(dir);
  ty_collection *c = open_new(env, dir);
  static batch b;
  model m = {0};
  ty_put_args args;
  ty_collection *none;
  CHECK(model_equal(c, &m));
  CHECK(ty_collection_open(env, dir, &none, &err) == TY_NOT_FOUND);
  b.n = 0;
  batch_add(&b, 1, 1);
  args = batch_args(&b, TY_ADD);
  CHECK(ty_put(c, &args, NULL, &err) == TY_STATE);
  CHECK(ty_begin(c, &err) == TY_OK);
  CHECK(ty_begin(c, &err) == TY_STATE);
  CHECK(ty_put(c, &args, NULL, &err) == TY_OK && args.inserted == 1);
  model_put(&m, 1, 1);
  CHECK(ty_put(c, &args, NULL, &err) == TY_KEY_EXISTS && strstr(err.message, "k1") != NULL);
  b.n = 0; /* a new id and one that exists: nothing of it may be in */
  batch_add(&b, 2, 2);
  batch_add(&b, 1, 3);
  args = batch_args(&b, TY_ADD);
  CHECK(ty_put(c, &args, NULL, &err) == TY_KEY_EXISTS);
  CHECK(model_equal(c, &m));
  b.n = 0; /* the same id twice */
  batch_add(&b, 2, 2);
  batch_add(&b, 2, 3);
  args = batch_args(&b, TY_ADD);
  CHECK(ty_put(c, &args, NULL, &err) == TY_KEY_EXISTS);
  args = batch_args(&b, TY_UPDATE);
  CHECK(ty_put(c, &args, NULL, &err) == TY_NOT_FOUND);
  args = batch_args(&b, TY_UPSERT);
  CHECK(ty_put(c, &args, NULL, &err) == TY_OK && args.inserted == 1 && args.replaced == 0);
  model_put(&m, 2, 3);
  CHECK(model_equal(c, &m));
  args = batch_args(&b, TY_UPDATE);
  b.vectors[3] = 1.0f / 0.0f;
  CHECK(ty_put(c, &args, NULL, &err) == TY_INVALID);
  CHECK(ty_save(c, &err) == TY_OK);
  CHECK(model_equal(c, &m) && saved_equal(env, dir, &m));
  ty_rollback(c); /* safe without a begin */
  CHECK(ty_save(c, &err) == TY_STATE);
  /* rolling back */
  CHECK(ty_begin(c, &err) == TY_OK);
  model before = m;
  random_changes(c, &m, 9);
  ty_rollback(c);
  m = before;
  CHECK(model_equal(c, &m));
  /* paging */
  CHECK(ty_begin(c, &err) == TY_OK);
  for (int i = 0; i < 5; i++) random_changes(c, &m, 12);
  CHECK(ty_save(c, &err) == TY_OK);
  ty_ids_args all = {.column = TY_NO_FILTER, .out = answer, .out_capacity = sizeof answer};
  CHECK(ty_ids(c, &all, &err) == TY_OK);
  char after[64];
  uint64_t seen = 0, after_bytes = 0;
  for (;;) {
    ty_ids_args page = {.column = TY_NO_FILTER,
                        .after = seen ? (uint8_t *)after : NULL,
                        .after_bytes = after_bytes,
                        .limit = 1,
                        .out = answer,
                        .out_capacity = sizeof answer};
    CHECK(ty_ids(c, &page, &err) == TY_OK);
    if (page.out_count == 0) break;
    after_bytes = ((ty_record *)answer)->id_bytes;
    memcpy(after, answer + sizeof(ty_record), after_bytes);
    seen++;
  }
  CHECK(seen == all.out_count);
  ty_ids_args small = {.column = TY_NO_FILTER, .out = answer, .out_capacity = 8};
  CHECK(ty_ids(c, &small, &err) == TY_BUFFER && small.out_bytes == all.out_bytes);
  /* the manifest's keys */
  CHECK(ty_begin(c, &err) == TY_OK);
  CHECK(ty_set(c, "name", (const uint8_t *)"1", 1, &err) == TY_INVALID);
  CHECK(ty_set(c, "default_target_recall", (const uint8_t *)"2", 1, &err) == TY_INVALID);
  CHECK(ty_set(c, "default_target_recall", (const uint8_t *)"0.95", 4, &err) == TY_OK);
  CHECK(ty_save(c, &err) == TY_OK);
  ty_manifest_args manifest = {.out = answer, .out_capacity = sizeof answer};
  CHECK(ty_manifest(c, &manifest, &err) == TY_OK);
  CHECK(memmem(answer, manifest.out_bytes, "\"default_target_recall\": 0.95", 29) != NULL);
  CHECK_MESSAGE(ty_verify(c, NULL, &err) == TY_OK, "verify: %s", err.message);
  ty_stats_args stats;
  CHECK(ty_stats(c, &stats, &err) == TY_OK && stats.values[TY_STAT_GENERATION] == 3 &&
        stats.values[TY_STAT_UNSAVED_ROWS] == 0);
  close_checked(c);
}

static void test_empty(void) {
  FRESH_DIR(dir);
  model m = {0};
  ty_collection *c = open_new(env, dir);
  CHECK(ty_begin(c, &err) == TY_OK && ty_save(c, &err) == TY_OK);
  CHECK(saved_equal(env, dir, &m));
  ty_compact_args compact = {0};
  ty_ivf_args ivf = {.min_rows = 1, .target_recall = 0.9};
  ty_lexical_args lexical = {1.2, 0.75};
  CHECK(ty_begin(c, &err) == TY_OK && ty_compact(c, &compact, NULL, &err) == TY_OK);
  CHECK(ty_begin(c, &err) == TY_OK);
  CHECK_MESSAGE(ty_build_ivf(c, &ivf, NULL, &err) == TY_OK, "%s", err.message);
  CHECK(ty_begin(c, &err) == TY_OK);
  CHECK_MESSAGE(ty_build_lexical(c, &lexical, NULL, &err) == TY_OK, "%s", err.message);
  CHECK(saved_equal(env, dir, &m));
  CHECK(ty_begin(c, &err) == TY_OK);
  random_changes(c, &m, 5);
  CHECK(ty_save(c, &err) == TY_OK && saved_equal(env, dir, &m) && ty_verify(c, NULL, &err) == TY_OK);
  close_checked(c);
}

/* Saves, roll-backs, rewrites and reopenings in random order; a second handle follows all of it. */
static void test_random(uint64_t seed) {
  FRESH_DIR(dir);
  rng_state = seed;
  model m = {0};
  ty_collection *c = open_new(env, dir);
  CHECK(ty_begin(c, &err) == TY_OK);
  random_changes(c, &m, 12);
  CHECK(ty_save(c, &err) == TY_OK);
  ty_collection *follower = open_saved(env, dir);
  for (int i = 0; i < 60; i++) {
    model before = m;
    CHECK_MESSAGE(ty_begin(c, &err) == TY_OK, "begin: %s", err.message);
    CHECK(ty_begin(follower, &err) == TY_BUSY && err.sys_errno == EWOULDBLOCK);
    random_changes(c, &m, 1 + (uint32_t)(rng() % 12));
    CHECK_MESSAGE(model_equal(c, &m), "seed %llu step %d: unsaved", (unsigned long long)seed, i);
    CHECK_MESSAGE(model_equal(follower, &before), "seed %llu step %d: the follower saw something unsaved",
                  (unsigned long long)seed, i);
    uint64_t what = rng() % 10;
    ty_compact_args compact = {0};
    ty_ivf_args ivf = {.min_rows = 4, .target_recall = 0.9};
    ty_lexical_args lexical = {1.2, 0.75};
    ty_status status = TY_OK;
    if (what == 0) ty_rollback(c), m = before;
    else if (what == 1) status = ty_compact(c, &compact, NULL, &err);
    else if (what == 2) status = ty_build_ivf(c, &ivf, NULL, &err);
    else if (what == 3) status = ty_build_lexical(c, &lexical, NULL, &err);
    else status = ty_save(c, &err);
    CHECK_MESSAGE(status == TY_OK, "seed %llu step %d: %s", (unsigned long long)seed, i, err.message);
    CHECK_MESSAGE(model_equal(c, &m), "seed %llu step %d: after %d", (unsigned long long)seed, i, (int)what);
    CHECK_MESSAGE(model_equal(follower, &m), "seed %llu step %d: the follower after %d", (unsigned long long)seed, i,
                  (int)what);
    if (i % 10 == 9) {
      CHECK_MESSAGE(saved_equal(env, dir, &m), "seed %llu step %d: reopened", (unsigned long long)seed, i);
      CHECK_MESSAGE(ty_verify(follower, NULL, &err) == TY_OK, "verify: %s", err.message);
    }
    if (rng() % 4 == 0) { /* the two change places */
      ty_collection *other = c;
      c = follower;
      follower = other;
    }
  }
  close_checked(c);
  close_checked(follower);
}

/* ---- Failures -------------------------------------------------------------------------------------------------------
 */
enum { FIRST, SAVE, COMPACT, IVF, LEXICAL };

static ty_status finish(ty_collection *c, int what) {
  ty_compact_args compact = {0};
  ty_ivf_args ivf = {.min_rows = 4, .target_recall = 0.9};
  ty_lexical_args lexical = {1.2, 0.75};
  if (what == COMPACT) return ty_compact(c, &compact, NULL, &err);
  if (what == IVF) return ty_build_ivf(c, &ivf, NULL, &err);
  if (what == LEXICAL) return ty_build_lexical(c, &lexical, NULL, &err);
  return ty_save(c, &err);
}

/* Random changes may come to nothing, and may add no vector of meaning; this one does not. */
static void certain_change(ty_collection *c, model *m) {
  static batch b;
  b.n = 0;
  batch_add(&b, 0, next_version);
  model_put(m, 0, next_version++);
  ty_put_args args = batch_args(&b, TY_UPSERT);
  args.flags |= TY_PUT_MEANING;
  CHECK(ty_put(c, &args, NULL, &err) == TY_OK);
}

/* The n-th call fails, for n = 1, 2, ... until one run needs fewer. After each the handle and a fresh one agree on the
 * state: the new one after a success, the old one after a plain failure, and either after one that says so. */
static void test_failures(int what, int code, uint32_t sticky) {
  FRESH_DIR(dir);
  model m = {0};
  ty_collection *c = NULL;
  if (what != FIRST) {
    c = open_new(env, dir);
    CHECK(ty_begin(c, &err) == TY_OK);
    random_changes(c, &m, 12);
    CHECK(ty_save(c, &err) == TY_OK);
  }
  uint64_t n = 1, unsure = 0;
  for (; n < CALLS_MOST; n++) {
    if (what == FIRST) {
      fresh_dir(dir);
      m = (model){0};
      c = open_new(env, dir);
    }
    model before = m;
    CHECK_MESSAGE(ty_begin(c, &err) == TY_OK, "begin: %s", err.message);
    random_changes(c, &m, 6);
    certain_change(c, &m);
    ty_test_fail(env, n, code, sticky);
    ty_status status = finish(c, what);
    uint64_t calls = ty_test_fail(env, 0, 0, 0);
    if (status == TY_OK) {
      CHECK(model_equal(c, &m));
    } else {
      bool is_unsure = status == TY_UNSURE;
      unsure += is_unsure;
      CHECK_MESSAGE(status == TY_IO || is_unsure, "status %d: %s", status, err.message);
      CHECK(code != ENOSPC || strstr(err.message, "the disk is full") != NULL);
      CHECK(is_unsure == (strstr(err.message, "the change may have been saved") != NULL) && err.sys_errno == code);
      if (!is_unsure || !model_equal(c, &m)) {
        m = before;
        CHECK_MESSAGE(model_equal(c, &m), "operation %d, call %llu, errno %d: the handle is neither old nor new", what,
                      (unsigned long long)n, code);
      }
    }
    ty_collection *again = NULL;
    ty_status opened = ty_collection_open(env, dir, &again, &err);
    bool never = what == FIRST && opened == TY_NOT_FOUND;
    CHECK_MESSAGE(never || (opened == TY_OK && model_equal(again, &m)),
                  "operation %d, call %llu, errno %d: reopened: %s", what, (unsigned long long)n, code, err.message);
    ty_collection_close(again);
    if (what == FIRST) ty_collection_close(c), remove_tree(dir);
    if (calls < n) break;
  }
  CHECK_MESSAGE(n > 8 && n < CALLS_MOST, "operation %d, errno %d: ended at call %llu", what, code,
                (unsigned long long)n);
  /* By the sync after the rename. What a later change calls depends on the failures before it. */
  CHECK(what != FIRST || unsure > 0);
  if (what == FIRST) return;
  CHECK(ty_begin(c, &err) == TY_OK && finish(c, COMPACT) == TY_OK);
  CHECK_MESSAGE(ty_verify(c, NULL, &err) == TY_OK, "verify: %s", err.message);
  CHECK(saved_equal(env, dir, &m));
  close_checked(c);
}

/* ---- Readers beside a rewrite ---------------------------------------------------------------------------------------
 */
typedef struct reader {
  const char *dir;
  const model *m;
  ty_collection *shared;
  _Atomic int stop;
  int wrong;
  _Atomic int asked, verified;
} reader;

static void *read_on(void *arg) {
  reader *r = arg;
  ty_error e;
  ty_collection *own = NULL;
  if (ty_collection_open(env, r->dir, &own, &e) != TY_OK) r->wrong++;
  while (!r->stop) {
    ty_count_args count = {.column = TY_NO_FILTER};
    for (int i = 0; i < 2; i++) {
      if (ty_count(i ? own : r->shared, &count, &e) != TY_OK || count.count != 10) r->wrong++;
      float query[DIM];
      uint8_t out[4096] __attribute__((aligned(8)));
      content_vector(3, query);
      ty_ask_args search = {
          .by = TY_BY_VECTOR, .vector = query, .top_k = 3, EXACTLY, ANSWER_IN(out), .what = TY_WITH_META};
      if (ty_ask(i ? own : r->shared, &search, &e) != TY_OK || search.out_count != 3) r->wrong++;
      r->asked++;
    }
  }
  close_checked(own);
  return NULL;
}

static void *verify_on(void *arg) {
  reader *r = arg;
  ty_error e;
  ty_collection *own = NULL;
  if (ty_collection_open(env, r->dir, &own, &e) != TY_OK) r->wrong++;
  while (!r->stop) {
    if (ty_verify(own, NULL, &e) != TY_OK) r->wrong++, fprintf(stderr, "verify beside a writer: %s\n", e.message);
    r->verified++;
  }
  close_checked(own);
  return NULL;
}

static void test_readers(void) {
  FRESH_DIR(dir);
  model m = {0};
  ty_collection *c = open_new(env, dir);
  static batch b;
  b.n = 0;
  for (uint32_t i = 0; i < 10; i++) batch_add(&b, i, i + 1), model_put(&m, i, i + 1);
  ty_put_args args = batch_args(&b, TY_ADD);
  CHECK(ty_begin(c, &err) == TY_OK && ty_put(c, &args, NULL, &err) == TY_OK && ty_save(c, &err) == TY_OK);
  reader r = {.dir = dir, .m = &m, .shared = c};
  reader checker = {.dir = dir};
  pthread_t thread, other;
  pthread_create(&thread, NULL, read_on, &r);
  pthread_create(&other, NULL, verify_on, &checker);
  /* On a busy machine the other threads may have hardly begun after 40. */
  for (int i = 0; i < 40 || r.asked <= 10 || checker.verified == 0; i++) {
    args = batch_args(&b, TY_UPSERT); /* the same rows again: the count never moves */
    CHECK(ty_begin(c, &err) == TY_OK && ty_put(c, &args, NULL, &err) == TY_OK);
    CHECK_MESSAGE(finish(c, i % 4 == 3 ? COMPACT : i % 8 == 5 ? LEXICAL : SAVE) == TY_OK, "%s", err.message);
  }
  r.stop = checker.stop = 1;
  pthread_join(thread, NULL);
  pthread_join(other, NULL);
  CHECK(checker.wrong == 0);
  CHECK_MESSAGE(r.wrong == 0, "%d of %d questions went wrong", r.wrong, r.asked);
  CHECK(model_equal(c, &m));
  close_checked(c);
}

/* ---- Files that are others than they were ---------------------------------------------------------------------------
 */
/* The bytes of all files of a directory whose names begin so, and the path of one of them. */
static uint64_t find_files(const char *dir, const char *prefix, char out[640]) {
  DIR *d = opendir(dir);
  struct dirent *e;
  struct stat st;
  uint64_t bytes = 0;
  out[0] = 0;
  while (d != NULL && (e = readdir(d)) != NULL) {
    if (strncmp(e->d_name, prefix, strlen(prefix)) != 0) continue;
    snprintf(out, 640, "%s/%s", dir, e->d_name);
    CHECK(stat(out, &st) == 0);
    bytes += (uint64_t)st.st_size;
  }
  if (d != NULL) closedir(d);
  CHECK(out[0] != 0);
  return bytes;
}

/* A directory is removed and made again with the same beginning: the same names and the same base, another and longer
 * delta. A handle that has the old one mapped must not read past its end. */
static void test_made_anew(void) {
  FRESH_DIR(dir);
  ty_collection *old[2] = {NULL, NULL};
  for (int round = 0; round < 2; round++) {
    model m = {0};
    ty_collection *c = open_new(env, dir);
    put_versions(c, &m, 0, 3, 1);
    CHECK(ty_save(c, &err) == TY_OK);
    for (uint32_t i = 0; i < (round == 0 ? 1u : 9u); i++) {
      put_versions(c, &m, 3, 30, 10 + (uint32_t)round * 100 + i * 30);
      CHECK(ty_save(c, &err) == TY_OK);
    }
    if (round == 0) {
      old[0] = open_saved(env, dir);
      old[1] = open_saved(env, dir);
      CHECK(model_equal(old[0], &m) && model_equal(old[1], &m));
    } else {
      CHECK(model_equal(old[0], &m)); /* a reader */
      put_versions(old[1], &m, 5, 1, 999);
      CHECK_MESSAGE(ty_save(old[1], &err) == TY_OK, "%s", err.message);
      CHECK(model_equal(old[1], &m) && model_equal(old[0], &m) && saved_equal(env, dir, &m));
    }
    close_checked(c);
    if (round == 0) remove_tree(dir);
  }
  close_checked(old[0]);
  close_checked(old[1]);
}

/* Names, sizes, inodes and times of a directory's files but the lock's, whose holder may change, as one number; 0
 * without the directory. */
static uint64_t fingerprint(const char *dir) {
  DIR *d = opendir(dir);
  struct dirent *e;
  struct stat st;
  char path[640];
  uint64_t sum = d != NULL;
  while (d != NULL && (e = readdir(d)) != NULL) {
    if (e->d_name[0] == '.' || strstr(e->d_name, "lock") != NULL) continue;
    snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
    CHECK(stat(path, &st) == 0);
    uint64_t one = (uint64_t)st.st_ino * 31 + (uint64_t)st.st_size;
    one = one * 1000003 + (uint64_t)st.st_mtim.tv_nsec;
    for (const char *p = e->d_name; *p != 0; p++) one = one * 131 + (uint8_t)*p;
    sum += one;
  }
  if (d != NULL) closedir(d);
  return sum;
}

/* The directory is removed, and with `saves` another process makes it again with as many generations, so that its files
 * have the names that this process would use next. */
typedef struct foreign {
  const char *dir;
  uint32_t saves;
  ty_env *env;
  model m;
  uint64_t print;
} foreign;

static void make_anew(foreign *f) {
  remove_tree(f->dir);
  f->m = (model){0};
  ty_collection *c = f->saves > 0 ? open_new(f->env, f->dir) : NULL;
  for (uint32_t i = 0; i < f->saves; i++) {
    put_versions(c, &f->m, 20 + i, 2, 500 + i);
    ty_error e;
    CHECK(ty_save(c, &e) == TY_OK);
  }
  close_checked(c);
  f->print = fingerprint(f->dir);
}

/* It happens after the n-th sync or close of the thread under test: in a long rewrite, between the checks. */
static foreign *hooked;
static uint64_t hook_at;
static pthread_t hook_thread;
static ty_os plain;

static void hook(void) {
  if (!pthread_equal(hook_thread, pthread_self()) || hooked == NULL || --hook_at > 0) return;
  foreign *f = hooked;
  hooked = NULL;
  make_anew(f);
}
static int hook_sync(ty_os *os, int fd) {
  int result = plain.sync(os, fd);
  hook();
  return result;
}
static int hook_close(ty_os *os, int fd) {
  int result = plain.close(os, fd);
  hook();
  return result;
}

static const char *const gone_message = "the collection's directory was removed or replaced: nothing was saved";

/* Afterwards nothing of the foreign directory is other than it was, and the handle follows it. */
static void check_foreign(ty_collection *c, const foreign *f, bool saved, int what, uint64_t n) {
  model m = f->m;
  CHECK_MESSAGE(fingerprint(f->dir) == f->print, "operation %d, at %llu: a foreign file was touched", what,
                (unsigned long long)n);
  if (f->saves == 0) {
    CHECK(ty_begin(c, &err) == (saved ? TY_NOT_FOUND : TY_OK));
    ty_rollback(c);
    return;
  }
  CHECK_MESSAGE(saved_equal(f->env, f->dir, &m) && model_equal(c, &m), "operation %d, at %llu: the foreign rows", what,
                (unsigned long long)n);
  CHECK_MESSAGE(ty_verify(c, NULL, &err) == TY_OK, "operation %d, at %llu: %s", what, (unsigned long long)n,
                err.message);
  put_versions(c, &m, 1, 2, 700);
  CHECK_MESSAGE(ty_save(c, &err) == TY_OK, "%s", err.message);
  CHECK(model_equal(c, &m) && saved_equal(f->env, f->dir, &m) && ty_verify(c, NULL, &err) == TY_OK);
}

/* `before`: saves of our own. At 0 the directory goes while the change waits for its save. True where the operation had
 * an n-th moment. */
static bool foreign_once(foreign *f, int what, uint32_t before, uint64_t n) {
  FRESH_DIR(dir);
  f->dir = dir;
  model m = {0};
  ty_collection *c = open_new(env, dir);
  for (uint32_t i = 0; i < before; i++) {
    put_versions(c, &m, i, 3, 1 + i);
    CHECK(ty_save(c, &err) == TY_OK);
  }
  put_versions(c, &m, 5, 9, 300);
  if (n == 0) {
    make_anew(f);
  } else {
    plain = env->os;
    env->os.sync = hook_sync;
    env->os.close = hook_close;
    hook_thread = pthread_self();
    hook_at = n;
    hooked = f;
  }
  ty_status status = finish(c, what);
  bool happened = hooked == NULL;
  hooked = NULL;
  if (n > 0) env->os.sync = plain.sync, env->os.close = plain.close;
  /* After the rename it was saved before the directory was removed. */
  CHECK_MESSAGE(n > 0 ? status == TY_OK || status == TY_IO : status == TY_IO, "operation %d, at %llu: %d %s", what,
                (unsigned long long)n, (int)status, err.message);
  if (status != TY_OK)
    CHECK_MESSAGE(err.sys_errno == 0 && strcmp(err.message, gone_message) == 0, "operation %d, at %llu: %s", what,
                  (unsigned long long)n, err.message);
  if (happened) check_foreign(c, f, before > 0 || status == TY_OK, what, n);
  else CHECK(status == TY_OK && model_equal(c, &m));
  ty_collection_close(c);
  remove_tree(dir);
  return happened;
}

static void test_foreign(void) {
  foreign f = {0};
  CHECK(env_open(2, &f.env));
  for (int what = FIRST; what <= LEXICAL; what++) {
    for (uint32_t before = what != FIRST; before <= (what != FIRST ? 3u : 0u); before++) {
      for (f.saves = 0; f.saves <= before + 1; f.saves++) {
        uint64_t n = 0;
        while (n < CALLS_MOST && foreign_once(&f, what, before, n))
          n += n == 0 ? 1 + ((uint64_t)what + before + f.saves) % stride : stride;
        CHECK_MESSAGE(n > 3 && n < CALLS_MOST, "operation %d ended at %llu", what, (unsigned long long)n);
      }
    }
  }
  ty_env_close(f.env);
}

/* A new collection with six rows in two saves. */
static ty_collection *saved_twice(char dir[320], model *m) {
  fresh_dir(dir);
  ty_collection *c = open_new(env, dir);
  put_versions(c, m, 0, 3, 1);
  CHECK(ty_save(c, &err) == TY_OK);
  put_versions(c, m, 3, 3, 11);
  CHECK(ty_save(c, &err) == TY_OK);
  return c;
}

/* A tool puts a copy of the delta in its place, byte for byte, while it is open: what is appended goes to the copy. */
static void test_copied_over(void) {
  char dir[320], path[640], copy[660];
  model m = {0};
  ty_collection *c = saved_twice(dir, &m);
  uint64_t bytes = find_files(dir, "delta-", path);
  snprintf(copy, sizeof copy, "%s.copy", path);
  FILE *in = fopen(path, "rb"), *out = fopen(copy, "wb");
  CHECK(fread(answer, 1, bytes, in) == bytes && fwrite(answer, 1, bytes, out) == bytes);
  fclose(in);
  fclose(out);
  CHECK(rename(copy, path) == 0);
  model before = m;
  put_versions(c, &m, 6, 30, 21);
  CHECK(ty_save(c, &err) == TY_CORRUPT && strstr(err.message, "another file") != NULL);
  m = before;
  CHECK(model_equal(c, &m)); /* the next look reads everything again */
  put_versions(c, &m, 6, 30, 21);
  CHECK_MESSAGE(ty_save(c, &err) == TY_OK, "%s", err.message);
  CHECK(model_equal(c, &m) && saved_equal(env, dir, &m) && ty_verify(c, NULL, &err) == TY_OK);
  close_checked(c);
}

/* What a full disk took of a save is given back: there may be nothing else to delete and compact in. */
static void test_tail_cut(void) {
  char dir[320], path[640];
  model m = {0};
  ty_collection *c = saved_twice(dir, &m);
  uint64_t bytes = find_files(dir, "delta-", path);
  for (uint64_t n = 1, failed = 0;; n++) {
    model before = m;
    put_versions(c, &m, 6, 20, (uint32_t)(100 + n * 20));
    ty_test_fail(env, n, ENOSPC, 0);
    ty_status status = ty_save(c, &err);
    uint64_t calls = ty_test_fail(env, 0, 0, 0);
    if (status == TY_OK && calls < n) {
      CHECK(failed > 3);
      break;
    }
    failed += status != TY_OK;
    bool saved = status == TY_OK || model_equal(c, &m); /* it could do without, or it failed after the rename */
    if (!saved) m = before;
    if (saved || strstr(err.message, "rename") != NULL) { /* a failed rename may have happened */
      bytes = find_files(dir, "delta-", path);
      continue;
    }
    CHECK_MESSAGE(find_files(dir, "delta-", path) <= bytes, "call %llu: a tail is left", (unsigned long long)n);
    CHECK_MESSAGE(ty_verify(c, NULL, &err) == TY_OK, "call %llu: %s", (unsigned long long)n, err.message);
  }
  CHECK(saved_equal(env, dir, &m));
  close_checked(c);
}

/* A save or compaction fails in one process after it put its id map into place; the other one had compared the map
 * before. */
static void test_id_map_of_another(int what) {
  for (uint64_t n = 1; n < CALLS_MOST; n++) {
    FRESH_DIR(dir);
    model m = {0};
    ty_collection *a = open_new(env, dir);
    put_versions(a, &m, 0, 3, 1);
    CHECK(ty_save(a, &err) == TY_OK);
    put_versions(a, &m, 1, 2, 11);
    CHECK(ty_save(a, &err) == TY_OK);
    ty_collection *b = open_saved(env, dir);
    model changed = m;
    put_versions(b, &changed, 3, 1, 21); /* an id so long that the map is written again */
    ty_test_fail(env, n, EIO, 0);
    ty_status status = finish(b, what);
    uint64_t calls = ty_test_fail(env, 0, 0, 0);
    if (model_equal(b, &changed)) m = changed;
    put_versions(a, &m, 7, 2, 31);
    CHECK_MESSAGE(ty_save(a, &err) == TY_OK, "%s", err.message);
    CHECK_MESSAGE(ty_verify(a, NULL, &err) == TY_OK, "call %llu: %s", (unsigned long long)n, err.message);
    CHECK(model_equal(a, &m) && model_equal(b, &m));
    close_checked(a);
    close_checked(b);
    remove_tree(dir);
    if (status == TY_OK && calls < n) break;
  }
}

/* A vector is damaged: a rewrite of the base must say so and not give it a checksum that fits. */
static void test_damaged_source(void) {
  char dir[320], path[640];
  fresh_dir(dir);
  model m = {0};
  ty_collection *c = open_new(env, dir);
  put_versions(c, &m, 0, 6, 1);
  CHECK(ty_save(c, &err) == TY_OK);
  close_checked(c);
  uint64_t bytes = find_files(dir, "base-", path), at = 0;
  FILE *f = fopen(path, "r+b");
  CHECK(fread(answer, 1, bytes, f) == bytes);
  ty_slab_header h;
  memcpy(&h, answer, sizeof h);
  for (uint32_t i = 0; i < h.sections; i++) {
    ty_slab_section section;
    memcpy(&section, answer + sizeof h + i * sizeof section, sizeof section);
    if (section.id == TY_SECTION_VECTORS) at = section.offset + 5;
  }
  fseek(f, (long)at, SEEK_SET);
  fputc(answer[at] ^ 1, f);
  fclose(f);
  c = open_saved(env, dir);
  ty_compact_args compact = {0};
  CHECK(ty_begin(c, &err) == TY_OK);
  CHECK(ty_compact(c, &compact, NULL, &err) == TY_CORRUPT && strstr(err.message, "base-") != NULL);
  CHECK(ty_verify(c, NULL, &err) == TY_CORRUPT);
  put_versions(c, &m, 6, 2, 11); /* saving goes on */
  CHECK(ty_save(c, &err) == TY_OK);
  ty_collection_close(c);
}

/* ---- The pool -------------------------------------------------------------------------------------------------------
 */
static _Atomic int done_count;
static void on_done(uint32_t token, int32_t status) {
  if (status == (int32_t)(token == 7 ? TY_OK : TY_STATE)) done_count++;
}

static void test_submit(void) {
  FRESH_DIR(dir);
  ty_env *own;
  CHECK(env_open(2, &own));
  ty_collection *c = open_new(own, dir);
  ty_error errors[6];
  CHECK(ty_begin(c, &err) == TY_OK);
  CHECK(ty_submit(own, TY_OP_SAVE, c, NULL, NULL, &errors[0], on_done, 7) == TY_OK);
  CHECK(ty_submit(own, 99, c, NULL, NULL, &errors[0], on_done, 7) == TY_INVALID);
  while (done_count < 1) usleep(100);
  for (int i = 1; i < 6; i++) CHECK(ty_submit(own, TY_OP_SAVE, c, NULL, NULL, &errors[i], on_done, 8) == TY_OK);
  while (done_count < 6) usleep(100);
  close_checked(c);
  ty_env_close(own);
}

/* Closing waits for queries that were handed to workers. */
static _Atomic int answered;
static void on_answer(uint32_t token, int32_t status) {
  if (token == 1 && status == TY_OK) answered++;
}

static void test_close_waits(void) {
  FRESH_DIR(dir);
  model m = {0};
  ty_collection *c = open_new(env, dir);
  put_versions(c, &m, 0, 30, 1);
  CHECK(ty_save(c, &err) == TY_OK);
  ty_error errors[8];
  for (int i = 0; i < 8; i++) CHECK(ty_submit(env, TY_OP_VERIFY, c, NULL, NULL, &errors[i], on_answer, 1) == TY_OK);
  close_checked(c);
  for (int i = 0; i < 10000 && answered < 8; i++) usleep(100);
  CHECK(answered == 8);
}

/* The other process made it first. */
static void test_adopt(void) {
  FRESH_DIR(dir);
  model m = {0};
  ty_collection *a = open_new(env, dir), *b = open_new(env, dir), *d = NULL;
  const char *other = "{\"name\":\"notes\",\"dim\":8,\"dtype\":\"f32\",\"key_name\":\"s\",\"filter_columns\":[\"s\"],"
                      "\"telys_version\":\"1\",\"default_target_recall\":1,"
                      "\"applied_tuner\":null,\"lexical\":false,\"embedder_profile\":null}";
  CHECK(ty_collection_new(env, dir, (const uint8_t *)other, strlen(other), &d, &err) == TY_OK);
  CHECK(ty_begin(a, &err) == TY_OK);
  random_changes(a, &m, 9);
  CHECK(ty_save(a, &err) == TY_OK);
  CHECK(ty_begin(b, &err) == TY_OK && model_equal(b, &m));
  random_changes(b, &m, 9);
  CHECK(ty_save(b, &err) == TY_OK && model_equal(a, &m));
  CHECK(ty_begin(d, &err) == TY_INVALID && strstr(err.message, "dim") != NULL);
  close_checked(a);
  close_checked(b);
  ty_collection_close(d);
}

#include "store_ask.h"
#include "store_bytes.h"
#include "store_first.h"
#include "store_copy.h"
#include "store_digest.h"
#include "store_embed.h"
#include "store_ahead.h"
#include "store_like.h"
#include "store_meaning.h"
#include "store_notes.h"
#include "store_same.h"
#include "store_spare.h"
#include "store_spill.h"
#include "store_times.h"
#include "store_turns.h"

int main(int argc, char **argv) {
  uint64_t seed;
  if (!program_begin(argc, argv, "store-test", 2, &seed, &env)) return 2;
  rng_state = seed;
  test_spill();
  test_spare();
  test_semantics();
  test_empty();
  test_adopt();
  for (uint64_t i = 0; i < 12; i++) {
    set_vertical(env, i >= 6);
    model_codes = i >= 9 ? ALL_CODES : NO_CODES;
    test_random(seed + i);
  }
  for (uint64_t i = 0; i < 4; i++) test_meaning(seed + i);
  test_meaning_refused();
  test_meaning_of_another_model();
  test_meaning_damaged();
  test_meaning_of_another_collection();
  test_meaning_truncated();
  test_meaning_alike();
  test_meaning_moved();
  for (int what = FIRST; what <= LEXICAL; what++) {
    test_failures(what, EIO, 0); /* vertical rows, which are their codes */
    test_failures(what, ENOSPC, 1);
  }
  set_vertical(env, false);
  model_codes = NO_CODES;
  test_times();
  test_given_times();
  test_days();
  test_notes();
  test_notes_damaged();
  test_newest();
  test_time_bounds();
  test_reserved();
  test_sections_of_one_id();
  test_versions();
  test_find_without_memory();
  test_first_save();
  test_copy();
  test_digest();
  test_foreign_slabs();
  test_made_anew();
  test_foreign();
  test_copied_over();
  test_tail_cut();
  test_id_map_of_another(SAVE);
  test_id_map_of_another(COMPACT);
  test_damaged_source();
  test_readers();
  test_follow_is_bounded();
  test_bounded_questions();
  test_bounded_dimensions();
  test_embedded_rows();
  test_embedding_refused();
  test_ahead();
  test_ahead_unused();
  test_ahead_refused();
  test_like_rows();
  test_like_refused();
  test_like_damaged();
  test_same_texts();
  test_turns();
  test_undone_rows();
  test_first_failure();
  test_submit();
  test_close_waits();
  return program_end(env);
}

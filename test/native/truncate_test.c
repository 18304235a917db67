/* Files that are truncated while they are open: no call ends the process, none answers with zeros, no save commits
 * them, other collections go on, and the collection answers again once its file is whole. Run under AddressSanitizer
 * too: what was checked when the files were opened reads as zeros. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "../../ffi/ty_runtime/os/guard.h"
#include "../../ffi/ty_runtime/state/state.h"
#include "store_kinds.h"
#include "store_reads.h"

#define PAGE 4096u

static ty_env *env;
static ty_error err;
static uint64_t calls, corrupt;

static void cut(const char *dir, const char *name, uint64_t bytes) {
  char path[640];
  snprintf(path, sizeof path, "%s/%s", dir, name);
  CHECK(truncate(path, (off_t)bytes) == 0);
}

/* All rows, or the error that a file was truncated or does not hold what it should. */
static void right_or_damaged(ty_collection *c, const model *m) {
  ty_ids_args ids = {.column = TY_NO_FILTER, .what = 7, .out = answer, .out_capacity = sizeof answer};
  ty_status status = ty_ids(c, &ids, &err);
  calls++;
  corrupt += status == TY_CORRUPT;
  /* Further calls of the comparison may be the first that read there. */
  bool right = status == TY_OK && (model_equal(c, m) || ty_files_whole(&c->store->files, NULL) != TY_OK);
  CHECK_MESSAGE(status == TY_CORRUPT || right, "status %d: %s", status, status == TY_OK ? "other rows" : err.message);
}

/* A change of one kind. What it says is so on disk once the file is whole again. */
static void change(const char *dir, const file *f, ty_collection *c, const model *m, int kind) {
  static batch b;
  model after = *m;
  ty_compact_args compact = {.keep = 1};
  ty_ivf_args ivf = {.min_rows = 4, .target_recall = 0.9};
  ty_lexical_args lexical = {1.2, 0.75};
  if (ty_begin(c, &err) != TY_OK) return;
  ty_status status = TY_OK;
  if (kind == 0) {
    b.n = 0;
    tick();
    for (uint32_t i = 0; i < 8; i++) batch_add(&b, i, 900 + i), model_put(&after, i, 900 + i);
    ty_put_args args = batch_args(&b, TY_UPSERT);
    status = ty_put(c, &args, NULL, &err);
    if (status == TY_OK) status = ty_save(c, &err);
  } else if (kind == 1) {
    uint64_t end;
    char id[64];
    end = content_id(7, id);
    ty_delete_args gone = {.n = 1, .ids = (uint8_t *)id, .id_ends = &end};
    status = ty_delete(c, &gone, &err);
    after.version[7] = 0;
    if (status == TY_OK) status = ty_save(c, &err);
  } else if (kind == 2) {
    status = ty_compact(c, &compact, NULL, &err);
  } else {
    status = kind == 3 ? ty_build_ivf(c, &ivf, NULL, &err) : ty_build_lexical(c, &lexical, NULL, &err);
  }
  ty_rollback(c);
  calls++;
  corrupt += status == TY_CORRUPT;
  if (status != TY_OK) return;
  char path[640];
  snprintf(path, sizeof path, "%s/%s", dir, f->name);
  int there = access(path, F_OK);
  if (there == 0 && strncmp(f->name, "delta-", 6) != 0) write_file(dir, f->name, f->data, f->bytes);
  CHECK_MESSAGE(saved_equal(env, dir, &after), "change %d over %s was saved with other rows", kind, f->name);
}

static void truncate_all(void) {
  char dir[320], other_dir[320];
  model m = {0}, other_m = {0};
  fresh_dir(other_dir);
  ty_collection *other = open_new(env, other_dir);
  put_versions(other, &other_m, 0, 20, 1);
  CHECK(ty_save(other, &err) == TY_OK);
  fresh_dir(dir);
  ty_collection *c = open_new(env, dir);
  ty_lexical_args lexical = {1.2, 0.75};
  ty_ivf_args ivf = {.min_rows = 4, .target_recall = 0.9};
  put_versions(c, &m, 0, IDS, 1);
  CHECK(ty_build_lexical(c, &lexical, NULL, &err) == TY_OK);
  put_versions(c, &m, 10, 30, 100); /* which the history gets */
  CHECK(ty_save(c, &err) == TY_OK);
  CHECK(ty_begin(c, &err) == TY_OK && ty_build_ivf(c, &ivf, NULL, &err) == TY_OK);
  put_versions(c, &m, 3, 20, 50);
  CHECK(ty_save(c, &err) == TY_OK);
  close_checked(c);
  read_files(dir);
  for (int i = 0; i < file_count; i++) {
    const file *f = &files[i];
    if (strstr(f->name, ".slab") == NULL) continue;
    for (uint64_t page = 0; page * PAGE < f->bytes; page++) {
      for (int kind = 0; kind < 10; kind++) {
        c = open_saved(env, dir);
        if (kind % 2 == 1) ask_all(c), CHECK(model_equal(c, &m));
        cut(dir, f->name, page * PAGE);
        if (kind < 2) {
          ask_all(c);
          right_or_damaged(c, &m);
          right_or_damaged(c, &m);
          ty_verify(c, NULL, &err);
        }
        change(dir, f, c, &m, kind / 2);
        restore_files(dir);
        CHECK_MESSAGE(model_equal(c, &m), "%s cut at page %llu: not open again", f->name, (unsigned long long)page);
        close_checked(c);
        CHECK(model_equal(other, &other_m));
      }
    }
  }
  close_checked(other);
  free_files();
}

/* ---- Threads and signals -------------------------------------------------------------------------------------------
 */
static _Atomic int asking;
static void *ask_on(void *arg) {
  while (asking) ask_all(arg);
  return NULL;
}

/* Two threads read each of two collections while the files of one of them are cut, again and again. */
static void test_threads(void) {
  char dir[320], whole_dir[320];
  model m = {0};
  make_all_kinds(env, dir);
  fresh_dir(whole_dir);
  ty_collection *whole = open_new(env, whole_dir), *c = open_saved(env, dir);
  put_versions(whole, &m, 0, 20, 1);
  CHECK(ty_save(whole, &err) == TY_OK);
  pthread_t threads[3];
  ty_collection *const of[3] = {c, c, whole};
  asking = 1;
  for (int i = 0; i < 3; i++) CHECK(pthread_create(&threads[i], NULL, ask_on, of[i]) == 0);
  for (int round = 0; round < 40; round++) {
    for (int i = 0; i < file_count; i++) {
      if (strstr(files[i].name, ".slab") == NULL) continue;
      cut(dir, files[i].name, (uint64_t)(round % 4) * PAGE < files[i].bytes ? (uint64_t)(round % 4) * PAGE : 0);
      usleep(500);
      restore_files(dir);
    }
  }
  CHECK(model_equal(whole, &m));
  asking = 0;
  for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
  ty_collection_close(c);
  close_checked(whole);
  free_files();
}

/* Whether `work`, in a process of its own, is ended by what it does: by a signal, or a sanitizer's report of one. */
static bool ends(void (*work)(void)) {
  pid_t pid = fork();
  if (pid == 0) {
    work();
    _exit(0);
  }
  int state = 0;
  waitpid(pid, &state, 0);
  return WIFSIGNALED(state) || WEXITSTATUS(state) != 0;
}

static volatile uint8_t *unwatched;
static void read_unwatched(void) { (void)*unwatched; }
static void send_bus(void) { kill(getpid(), SIGBUS); }

/* A fault elsewhere, and a signal that was sent, do what they would without the handler. */
static void test_others(void) {
  char path[400];
  snprintf(path, sizeof path, "%s/unwatched", root);
  FILE *out = fopen(path, "wb");
  fputc('x', out);
  fclose(out);
  int fd = open(path, O_RDWR);
  unwatched = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
  CHECK(unwatched != MAP_FAILED && *unwatched == 'x');
  CHECK(truncate(path, 0) == 0);
  CHECK(ends(read_unwatched));
  CHECK(ends(send_bus));
  munmap((void *)(uintptr_t)unwatched, PAGE);
  close(fd);
}

/* More mappings than the table begins with. */
static void test_many_guards(void) {
  enum { MANY = 1000 };
  static uint8_t bytes[MANY];
  static ty_guard *guards[MANY];
  for (int i = 0; i < MANY; i++) CHECK((guards[i] = ty_guard_take(&bytes[i], 1)) != NULL && !ty_guard_lost(guards[i]));
  for (int i = 0; i < MANY; i++) ty_guard_drop(guards[i]);
  ty_guard *again = ty_guard_take(bytes, 1);
  CHECK(again != NULL);
  ty_guard_drop(again);
}

int main(int argc, char **argv) {
  uint64_t seed;
  if (!program_begin(argc, argv, "truncate-test", 2, &seed, &env)) return 2;
  rng_state = seed;
  static const char *const dtypes[] = {"f32", "f32", "int8", "int4", "f16"};
  for (int i = 0; i < (argc > 2 && strcmp(argv[2], "few") == 0 ? 2 : 5); i++) {
    set_vertical(env, i == 1);
    model_dtype = dtypes[i];
    truncate_all();
  }
  CHECK_MESSAGE(corrupt > 0 && corrupt < calls, "%d of %d calls found damage", (int)corrupt, (int)calls);
  set_vertical(env, false);
  test_threads();
  test_many_guards();
  test_others();
  return program_end(env);
}

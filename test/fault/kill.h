/* Kills: a process of its own repeats each operation and is killed at the n-th call that changes the file system, for
 * every n, and in the middle of each write. What it leaves opens to the old state or the whole new one, the new one if
 * the call had returned, and can be saved to. */
#pragma once

#include <sys/mman.h>
#include <sys/wait.h>
#include "workload.h"

static struct {
  uint64_t kills, old, new, torn;
} kill_counts;

static void copy_file(const char *from, const char *to) {
  static char data[1 << 16];
  int in = open(from, O_RDONLY | O_NOFOLLOW), out = open(to, O_WRONLY | O_CREAT | O_EXCL, 0600);
  CHECK(in >= 0 && out >= 0);
  for (ssize_t n; (n = read(in, data, sizeof data)) > 0;) CHECK(write(out, data, (size_t)n) == n);
  close(in);
  close(out);
}

/* A directory of files; without one, none is made. */
static void copy_dir(const char *from, const char *to) {
  DIR *d = opendir(from);
  struct dirent *e;
  char a[640], b[640];
  remove_tree(to);
  if (d == NULL) return;
  CHECK(mkdir(to, 0700) == 0);
  while ((e = readdir(d)) != NULL) {
    if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
    snprintf(a, sizeof a, "%s/%s", from, e->d_name);
    snprintf(b, sizeof b, "%s/%s", to, e->d_name);
    copy_file(a, b);
  }
  closedir(d);
}

/* What the killed process says before it dies. */
typedef struct child_report {
  _Atomic uint32_t returned; /* 1: with TY_OK, 2: with an error */
  char message[256];
} child_report;
static child_report *shared_report;

typedef struct kill_run {
  ty_env *judge;
  uint32_t k;
  int kind;
  const content *now; /* before the operation */
  source from;
} kill_run;

/* In the process that is killed: the operation, on a handle of its own. */
static _Noreturn void kill_child(const kill_run *r, const char *dir, const char *copy, fate how, uint64_t n) {
  ty_env *env;
  ty_error e = {0};
  content next;
  ty_collection *c = NULL;
  if (!env_open(1, &env)) _exit(2);
  calls_wrap(env);
  source_set(r->from);
  if (r->now->saved && ty_collection_open(env, dir, &c, &e) != TY_OK) _exit(2);
  if (!r->now->saved) c = open_new(env, dir);
  call_fate(how, n, 0, how == FATE_DIE_HALF ? CALL_WRITE : CALL_CHANGES, 0);
  ty_status status = operate(env, c, dir, copy, r->kind, r->now, &next, &e);
  snprintf(shared_report->message, sizeof shared_report->message, "%s", e.message);
  shared_report->returned = status == TY_OK ? 1 : 2;
  _exit(0);
}

/* Whether what is in `dir` is as it has to be, and one more save works there. */
static bool kill_judge(const kill_run *r, const char *dir, const content *next, bool returned, ty_error *e) {
  content s = *next, after;
  bool new = saved_holds(r->judge, dir, next, e);
  if (!new) {
    if (returned || !saved_holds(r->judge, dir, r->now, e)) return false;
    s = *r->now;
  }
  kill_counts.new += new;
  kill_counts.old += !new;
  ty_collection *c = NULL;
  ty_status status = s.saved ? ty_collection_open(r->judge, dir, &c, e) : TY_OK;
  if (status == TY_OK && !s.saved) c = open_new(r->judge, dir);
  if (status == TY_OK) status = operate(r->judge, c, dir, "", OP_UPSERT, &s, &after, e);
  if (status == TY_OK) status = ty_verify(c, NULL, e);
  bool good = status == TY_OK && holds(c, &after) && saved_holds(r->judge, dir, &after, e);
  ty_collection_close(c);
  return good;
}

/* One operation, killed at each of its calls. `dir` has the state before it, and the state after it on return. */
static void kill_each(const kill_run *r, const char *dir, content *now) {
  ty_error e = {0};
  char work[340], copy[340], done[340];
  content next;
  snprintf(work, sizeof work, "%s-work", dir);
  snprintf(copy, sizeof copy, "%s-copy", dir);
  snprintf(done, sizeof done, "%s-done", dir);
  /* Without a kill, for the state that it leads to. */
  copy_dir(dir, done);
  source_set(r->from);
  ty_collection *c = NULL;
  if (now->saved) c = open_saved(r->judge, done);
  else c = open_new(r->judge, done);
  CHECK_MESSAGE(operate(r->judge, c, done, copy, r->kind, now, &next, &e) == TY_OK, "%s", e.message);
  source to = source_now();
  ty_collection_close(c);
  remove_tree(copy);
  for (int half = 0; half < 2; half++) {
    for (uint64_t n = 1;; n++) {
      copy_dir(dir, work);
      shared_report->returned = 0;
      fflush(stdout);
      pid_t child = fork();
      if (child == 0) kill_child(r, work, copy, half ? FATE_DIE_HALF : FATE_DIE, n);
      int how = 0;
      waitpid(child, &how, 0);
      bool killed = WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL, returned = shared_report->returned == 1;
      kill_counts.kills += killed;
      kill_counts.torn += killed && half;
      if (!killed && !returned)
        check_at(0, "kill.h", __LINE__, "operation %u (%s): it ended by itself: %s", r->k, op_names[r->kind],
                 shared_report->message);
      bool good = kill_judge(r, work, &next, returned, &e);
      if (returned && r->kind == OP_COPY && r->now->saved) good = good && saved_holds(r->judge, copy, &next, &e);
      check_at(good, "kill.h", __LINE__, "operation %u (%s), killed %s call %llu: %s", r->k, op_names[r->kind],
               half ? "in the middle of" : "before", (unsigned long long)n, e.message);
      remove_tree(copy);
      if (!killed || enough()) break;
    }
  }
  source_set(to);
  *now = next;
  remove_tree(work);
  remove_tree(dir);
  CHECK(rename(done, dir) == 0 || !next.saved);
}

static void test_kills(ty_env *judge, uint64_t seed, uint32_t operations) {
  char dirs[2][320];
  content now[2] = {nothing, nothing};
  rng_state = seed;
  shared_report = mmap(NULL, sizeof *shared_report, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANON, -1, 0);
  for (int i = 0; i < 2; i++) fresh_dir(dirs[i]);
  for (uint32_t k = 0; k < operations && !enough(); k++) {
    int which = op_second(k);
    if (op_kind(k) == OP_READ || op_kind(k) == OP_ROLLBACK) continue; /* they change nothing */
    if (k % ANEW == 4) {
      remove_tree(dirs[which]);
      fresh_dir(dirs[which]);
      now[which] = nothing;
    }
    kill_run r = {judge, k, op_kind(k), &now[which], source_now()};
    content before = now[which];
    r.now = &before;
    kill_each(&r, dirs[which], &now[which]);
  }
}

/* Failing calls: the n-th call of every operation fails, for every n. The handle that ran the operation, one that
 * follows it and a fresh one agree on the old state or the whole new one, the error says which, and a retry works. */
#pragma once

#include "workload.h"

#define CLASSES 17

/* More calls than any operation makes. */
#define CALLS_MOST 4000u

static const struct {
  const char *name;
  int code;
  uint32_t later; /* classes that fail from then on, where it is to last */
} failures[] = {
    {"EIO", EIO, CALL_ALL},
    {"ENOSPC", ENOSPC,
     CALL_CREATE | CALL_WRITE | CALL_SYNC | CALL_SYNC_DIR | CALL_RENAME | CALL_MKDIR | CALL_TRUNCATE | CALL_ROOM},
    {"EMFILE", EMFILE, CALL_OPEN | CALL_CREATE | CALL_LIST},
    {"EROFS", EROFS, CALL_CREATE | CALL_WRITE | CALL_RENAME | CALL_UNLINK | CALL_MKDIR | CALL_TRUNCATE | CALL_ROOM},
};
#define FAILURES (sizeof failures / sizeof *failures)

typedef struct place { /* a collection that is worked on */
  char dir[320];
  ty_collection *handles[2];
  content now;
} place;

static struct {
  uint64_t runs, failed, unsure; /* failing calls; operations that failed, and of those with TY_UNSURE */
  uint64_t classes[CLASSES];     /* failing calls of each */
} fail_counts;

static void place_open(ty_env *env, place *p) {
  fresh_dir(p->dir);
  p->now = nothing;
  for (int i = 0; i < 2; i++) p->handles[i] = open_new(env, p->dir);
}

static void place_close(place *p) {
  for (int i = 0; i < 2; i++) {
    if (p->now.saved) close_checked(p->handles[i]);
    else ty_collection_close(p->handles[i]);
  }
}

typedef struct fail_run {
  ty_env *env, *judge;
  uint32_t k; /* number of the operation */
  int kind, failure;
  bool lasting;
} fail_run;

#define SAY(r, n, ...) fail_say(r, n, __LINE__, __VA_ARGS__)
static void fail_say(const fail_run *r, uint64_t n, int line, const char *what, const char *message) {
  check_at(0, "fail.h", line, "operation %u (%s), call %llu (class %u), %s%s: %s: %s", r->k, op_names[r->kind],
           (unsigned long long)n, faults.hit, failures[r->failure].name, r->lasting ? " from then on" : "", what,
           message);
}

/* After an operation: all three views agree, on `next` where that is given. A directory that nothing was saved in may
 * have no collection yet. */
static bool agree(fail_run *r, place *p, const content *s, ty_error *e) {
  for (int i = 0; i < 2; i++) {
    if (!holds(p->handles[i], s)) {
      snprintf(e->message, sizeof e->message, "handle %d has other rows", i);
      return false;
    }
  }
  return saved_holds(r->judge, p->dir, s, e);
}

/* One operation with the n-th call failing, and its retry. False: it made fewer calls. */
static bool fail_once(fail_run *r, place *p, uint64_t n) {
  ty_error e = {0}, why = {0};
  char copy[340];
  ty_collection *c = p->handles[r->k / 2 % 2];
  content before = p->now, next;
  uint32_t counted = r->lasting ? failures[r->failure].later : CALL_ALL;
  snprintf(copy, sizeof copy, "%s-copy", p->dir);
  call_fate(FATE_FAIL, n, failures[r->failure].code, counted, r->lasting ? counted : 0);
  ty_status status = operate(r->env, c, p->dir, copy, r->kind, &before, &next, &e);
  uint32_t hit = call_fate_end();
  if (hit != 0) {
    fail_counts.runs++;
    for (int i = 0; i < CLASSES; i++) fail_counts.classes[i] += hit == 1u << i;
  } else if (status != TY_OK) {
    SAY(r, n, "it failed although no call did", e.message);
  }
  if (status == TY_OK) {
    p->now = next;
    if (r->kind == OP_COPY && before.saved && !saved_holds(r->judge, copy, &before, &why))
      SAY(r, n, "the copy is not the state", why.message);
    if (!agree(r, p, &next, &why)) SAY(r, n, "it succeeded, but", why.message);
    else CHECK(true);
    remove_tree(copy);
    return hit != 0;
  }
  fail_counts.failed++;
  remove_tree(copy);
  bool old = agree(r, p, &before, &why), new = !old &&agree(r, p, &next, &why);
  if (status == TY_UNSURE) fail_counts.unsure++;
  else if (status != TY_IO) SAY(r, n, "it failed with another status than TY_IO and TY_UNSURE", e.message);
  else if (new) SAY(r, n, "its message says that nothing was saved, but all was", e.message);
  if (!old && !new) SAY(r, n, "neither the old state nor the new one is there", e.message);
  else CHECK(true);
  if (new) p->now = next;
  before = p->now;
  status = operate(r->env, c, p->dir, copy, r->kind, &before, &next, &e);
  if (status != TY_OK) SAY(r, n, "the retry failed", e.message);
  else p->now = next;
  remove_tree(copy);
  if (status != TY_OK || !agree(r, p, &next, &why)) {
    if (status == TY_OK) SAY(r, n, "after the retry", why.message);
    return false;
  }
  return true;
}

static void place_anew(ty_env *env, place *p) {
  place_close(p);
  remove_tree(p->dir);
  place_open(env, p);
}

/* An operation with each of its calls failing in turn. A first save is made in a directory of its own each time. */
static void fail_each(fail_run *r, place *p) {
  bool first = !p->now.saved;
  uint32_t files = 0;
  for (uint64_t n = 1; fail_once(r, p, n) && !enough(); n++) {
    if (first) place_anew(r->env, p);
    if (n == 1) files = open_files();
    if (n == CALLS_MOST) SAY(r, n, "it has no end", "");
    if (n == CALLS_MOST) break;
  }
  if (files > 0 && open_files() > files) SAY(r, 0, "descriptors are left open", "");
}

/* The workload of so many operations. Each call of each fails once and, among the classes that such a failure has, from
 * then on; `all`: with every errno, else with one that changes from call to call. */
static void test_failing_calls(ty_env *env, ty_env *judge, uint64_t seed, uint32_t operations, bool all) {
  place places[2];
  rng_state = seed;
  for (int i = 0; i < 2; i++) place_open(env, &places[i]);
  for (uint32_t k = 0; k < operations && !enough(); k++) {
    place *p = &places[op_second(k)];
    if (k % ANEW == 4) {
      place_anew(env, p);
    }
    for (uint32_t v = 0; v < 2 * FAILURES && !enough(); v++) {
      fail_run r = {env, judge, k, op_kind(k), (int)(v / 2), v % 2 == 1};
      if (!all && (v / 2 != (k + v % 2) % FAILURES)) continue;
      fail_each(&r, p);
    }
  }
  for (int i = 0; i < 2; i++) place_close(&places[i]);
}

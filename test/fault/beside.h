/* Between any two calls of a reader, and of a writer that waits for the lock, another process saves or rewrites: what
 * was asked succeeds and is of the newest state afterwards. */
#pragma once

#include "fail.h"

enum { BESIDE_REFRESH, BESIDE_OPEN, BESIDE_ASK, BESIDE_BEGIN, BESIDE_KINDS };
static const char *const beside_names[BESIDE_KINDS] = {"a refresh", "an opening", "a question", "a save"};
/* What the other process does meanwhile: operations, OP_KINDS ends them. */
static const uint8_t meanwhile[][3] = {{OP_ADD, OP_KINDS},
                                       {OP_DELETE, OP_KINDS},
                                       {OP_CHANGE_AND_COMPACT, OP_KINDS},
                                       {OP_LEXICAL, OP_UPSERT, OP_KINDS},
                                       {OP_BESIDE, OP_KINDS},
                                       {OP_IVF, OP_CHANGE_AND_COMPACT, OP_KINDS}};

static struct {
  ty_env *env;
  ty_collection *c;
  const char *dir;
  content now;
  int what;
  uint64_t acts;
} other;

/* A writer that holds the lock itself is not disturbed. */
static void other_acts(void) {
  ty_error e;
  for (int i = 0; i < 3 && meanwhile[other.what][i] != OP_KINDS; i++) {
    content next;
    ty_status status = operate(other.env, other.c, other.dir, "", meanwhile[other.what][i], &other.now, &next, &e);
    if (status == TY_BUSY) return;
    CHECK_MESSAGE(status == TY_OK, "the other process: %s", e.message);
    other.now = next;
    other.acts++;
  }
}

/* What is done with the handle `c`, which may be replaced. */
static ty_status beside_do(ty_env *env, int kind, ty_collection **c, ty_error *e) {
  ty_status status = TY_OK;
  content next;
  switch (kind) {
  case BESIDE_REFRESH: return ty_refresh(*c, e);
  case BESIDE_OPEN:
    ty_collection_close(*c);
    *c = NULL;
    return ty_collection_open(env, other.dir, c, e);
  case BESIDE_ASK: {
    ty_count_args count = {.column = TY_NO_FILTER};
    return ty_count(*c, &count, e);
  }
  default: /* its rows are those of what it found after it had the lock */
    status = ty_begin(*c, e);
    call_fate_end(); /* from here on it holds the lock */
    if (status != TY_OK) return status;
    next = other.now;
    status = op_change(*c, OP_ADD, &next, e);
    if (status == TY_OK) status = ty_save(*c, e);
    else ty_rollback(*c);
    if (status == TY_OK) {
      remembered_save(&next.remembered, &other.now.m, &next.m, 0);
      other.now = next;
    }
    return status;
  }
}

static void test_beside(ty_env *env, ty_env *judge, uint64_t seed) {
  char dir[320];
  ty_error e;
  rng_state = seed;
  fresh_dir(dir);
  other.env = judge;
  other.dir = dir;
  other.now = nothing;
  other.c = open_new(judge, dir);
  other.what = 0;
  other_acts();
  ty_collection *c = open_saved(env, dir);
  for (int kind = 0; kind < BESIDE_KINDS; kind++) {
    for (other.what = 0; other.what < (int)(sizeof meanwhile / sizeof *meanwhile); other.what++) {
      for (uint64_t n = 1; n < CALLS_MOST; n++) {
        if (n % 2 || remembered_is_long(&other.now.remembered)) other_acts(); /* something to follow */
        faults.act = other_acts;
        call_fate(FATE_ACT, n, 0, CALL_ALL, 0);
        ty_status status = beside_do(env, kind, &c, &e);
        bool hit = call_fate_end() != 0;
        bool good = check_at(status == TY_OK, "beside.h", __LINE__, "%s, beside %s before call %llu: %s",
                             beside_names[kind], op_names[meanwhile[other.what][0]], (unsigned long long)n, e.message);
        good = good && check_at(holds(c, &other.now), "beside.h", __LINE__,
                                "%s, beside %s before call %llu: the handle has other rows", beside_names[kind],
                                op_names[meanwhile[other.what][0]], (unsigned long long)n);
        if (!good) return;
        if (!hit) break;
      }
    }
  }
  close_checked(c);
  close_checked(other.c);
}

/* Calls on workers. A job is a whole call; a query's own threads are not workers. */
#include "work/pool.h"

#include <stdlib.h>

#include "rows/collection.h"
#include "tree/tree.h"

typedef struct job {
  ty_work work; /* first: run() casts it to the job */
  uint32_t op, token;
  ty_collection *c; /* NULL: ty_ask_many of `many`, or a walk of `tree` */
  ty_many_args *many;
  ty_tree *tree;
  void *args;
  ty_progress *progress;
  ty_error *err;
  ty_done_fn done;
} job;

static ty_status call(const job *j) {
  if (j->many != NULL) return ty_ask_many(j->many, j->args, j->progress, j->err);
  if (j->c == NULL) return ty_tree_walk(j->tree, j->args, j->progress, j->err);
  switch (j->op) {
  case TY_OP_PUT: return ty_put(j->c, j->args, j->progress, j->err);
  case TY_OP_ENCODE_AHEAD: return ty_encode_ahead(j->c, j->args, j->progress, j->err);
  case TY_OP_DELETE: return ty_delete(j->c, j->args, j->err);
  case TY_OP_SAVE: return ty_save(j->c, j->err);
  case TY_OP_SAVE_STAGED: return ty_save_staged(j->c, j->err);
  case TY_OP_COMPACT: return ty_compact(j->c, j->args, j->progress, j->err);
  case TY_OP_COMPACT_BESIDE: return ty_compact_beside(j->c, j->args, j->progress, j->err);
  case TY_OP_BUILD_IVF: return ty_build_ivf(j->c, j->args, j->progress, j->err);
  case TY_OP_BUILD_LEXICAL: return ty_build_lexical(j->c, j->args, j->progress, j->err);
  case TY_OP_ASK: return ty_ask(j->c, j->args, j->err);
  case TY_OP_VERIFY: return ty_verify(j->c, j->progress, j->err);
  case TY_OP_SEARCH_MANY: return ty_search_many(j->c, j->args, j->progress, j->err);
  case TY_OP_COPY: return ty_copy(j->c, j->args, j->progress, j->err);
  case TY_OP_CHECK: return ty_check(j->c, j->args, j->progress, j->err);
  case TY_OP_MEANING_ENCODE: return ty_meaning_encode(j->c, j->args, j->progress, j->err);
  default: return ty_fail(j->err, TY_INVALID, "there is no operation %u", j->op);
  }
}

/* The number of collections that a job has, and each of them. */
static uint64_t count_of(const job *j) { return j->many != NULL ? j->many->n : j->c != NULL; }
static ty_collection *one_of(const job *j, uint64_t i) { return j->many != NULL ? j->many->collections[i] : j->c; }

static void hold(ty_collection *c) {
  pthread_mutex_lock(&c->submitted_lock);
  c->submitted++;
  pthread_mutex_unlock(&c->submitted_lock);
}

static void let_go(ty_collection *c) {
  pthread_mutex_lock(&c->submitted_lock);
  TY_ASSERT(c->submitted > 0);
  if (--c->submitted == 0) pthread_cond_broadcast(&c->submitted_none);
  pthread_mutex_unlock(&c->submitted_lock); /* from here on the collection may be closed */
}

static void run(ty_work *work) {
  job *j = (job *)work;
  ty_status status = call(j);
  for (uint64_t i = 0, n = count_of(j); i < n; i++) let_go(one_of(j, i));
  j->done(j->token, (int32_t)status);
  free(j);
}

/* Whether a call waits for a coordinator's decision. */
static bool waits(const job *j) {
  if (j->c == NULL || j->c->decision == NULL) return false;
  switch (j->op) {
  case TY_OP_SAVE:
  case TY_OP_SAVE_STAGED:
  case TY_OP_COMPACT:
  case TY_OP_COMPACT_BESIDE:
  case TY_OP_BUILD_IVF:
  case TY_OP_BUILD_LEXICAL: return true;
  default: return false;
  }
}

static ty_status push(ty_env *env, job what, ty_error *err) {
  job *j = malloc(sizeof *j);
  if (j == NULL) return ty_fail(err, TY_NO_MEMORY, "out of memory for a job");
  *j = what;
  j->work.run = run;
  for (uint64_t i = 0, n = count_of(j); i < n; i++) hold(one_of(j, i));
  if (!waits(j)) {
    ty_pool_push(env->pool, &j->work);
  } else if (!ty_pool_push_apart(env->pool, &j->work)) {
    let_go(j->c);
    free(j);
    return ty_fail(err, TY_NO_MEMORY, "there is no thread for a save that waits for other programs");
  }
  return TY_OK;
}

ty_status ty_submit(ty_env *env, uint32_t op, ty_collection *c, void *args, ty_progress *progress, ty_error *err,
                    ty_done_fn done, uint32_t token) {
  if (op < TY_OP_PUT || op > TY_OP_ENCODE_AHEAD) return ty_fail(err, TY_INVALID, "there is no operation %u", op);
  job what = {.op = op, .token = token, .c = c, .args = args, .progress = progress, .err = err, .done = done};
  return push(env, what, err);
}

ty_status ty_submit_many(ty_many_args *many, ty_ask_args *args, ty_progress *progress, ty_error *err, ty_done_fn done,
                         uint32_t token) {
  if (many->n == 0) return ty_fail(err, TY_INVALID, "the collections are missing");
  job what = {.token = token, .many = many, .args = args, .progress = progress, .err = err, .done = done};
  return push(many->collections[0]->env, what, err);
}

ty_status ty_submit_walk(ty_tree *tree, ty_tree_walk_args *args, ty_progress *progress, ty_error *err, ty_done_fn done,
                         uint32_t token) {
  job what = {.token = token, .tree = tree, .args = args, .progress = progress, .err = err, .done = done};
  return push(tree->env, what, err);
}

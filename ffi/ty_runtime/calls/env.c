/* The environment of a process; opening and closing collections. */
#include <stdlib.h>
#include "lexical/lexical.h"
#include "lexical/runs.h"
#include "rows/vertical.h"
#include "rows/weights.h"
#include "scan/scanner.h"
#include "state/load.h"
#include "work/pool.h"

uint32_t ty_abi_version(void) { return TY_ABI_VERSION; }

ty_status ty_env_open(const ame_kernel *kernel, uint32_t threads, ty_env **out, ty_error *err) {
  *out = NULL;
  if (kernel == NULL || kernel->abi != AME_ABI_VERSION || kernel->size != sizeof(ame_kernel))
    return ty_fail(err, TY_ABI, "the kernel's table is of version %u and %u bytes, expected were %u and %u",
                   kernel == NULL ? 0 : kernel->abi, kernel == NULL ? 0 : kernel->size, AME_ABI_VERSION,
                   (unsigned)sizeof(ame_kernel));
  if (threads < 1 || threads > 256) return ty_fail(err, TY_INVALID, "%u threads: allowed are 1 to 256", threads);
  ty_env *env = calloc(1, sizeof *env);
  if (env == NULL) return ty_fail(err, TY_NO_MEMORY, "out of memory for an environment");
  env->kernel = kernel;
  ty_os_init(&env->os);
  env->spill_from = TY_SPILL_FROM;
  env->spill_leave = TY_SPILL_LEAVE;
  env->rewrite_resident = TY_RESIDENT_REWRITE;
  env->run_memory = TY_RUN_MEMORY;
  env->run_chunk = TY_RUN_CHUNK;
  env->vertical_least = TY_VERTICAL_LEAST;
  env->vertical_density = TY_VERTICAL_DENSITY;
  env->parted_least = TY_PARTED_LEAST;
  env->expected_least = TY_EXPECTED_LEAST;
  env->weighed_from = TY_WEIGHED_FROM;
  env->summed_from = TY_SUMMED_FROM;
  env->coded_from = TY_CODED_FROM;
  env->weighed_bytes = TY_WEIGHED_BYTES;
  ty_spare_open(env);
  ty_status status = ty_pool_open(threads, &env->pool, err);
  if (status == TY_OK) {
    *out = env;
  } else {
    ty_spare_close(env);
    free(env);
  }
  return status;
}

ty_status ty_env_model(ty_env *env, const uint8_t *model, uint64_t bytes, ty_error *err) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  ty_status status = TY_OK;
  pthread_mutex_lock(&lock);
  const uint8_t *have = atomic_load(&env->model);
  if (have != NULL && have != model) {
    status = ty_fail(err, TY_STATE, "this environment has a model of the sentence encoder already");
  } else if (model == NULL || bytes > SIZE_MAX || env->kernel->encoder_check(model, (size_t)bytes) != 0) {
    status = ty_fail(err, TY_INVALID, "the model of the sentence encoder is damaged, or of another version");
  } else if (have == NULL) {
    env->encoder = env->kernel->encoder_id(model);
    atomic_store(&env->model, model);
  }
  pthread_mutex_unlock(&lock);
  return status;
}

void ty_env_label(ty_env *env, const char *label) {
  size_t n = 0;
  for (; *label != 0 && n + 1 < sizeof env->label; label++) {
    if (*label >= ' ' && *label <= '~') env->label[n++] = *label;
  }
  env->label[n] = 0;
}

void ty_env_close(ty_env *env) {
  if (env == NULL) return;
  ty_pool_close(env->pool);
  ty_spare_close(env);
  free(env);
}

ty_status ty_collection_new(ty_env *env, const char *dir, const uint8_t *schema, uint64_t schema_bytes,
                            ty_collection **out, ty_error *err) {
  *out = NULL;
  ty_schema parsed;
  ty_collection *c = NULL;
  ty_status status = ty_schema_read((ty_slice){schema, schema_bytes}, &parsed, err);
  if (status == TY_OK) status = ty_shell(env, dir, &c, err);
  if (status == TY_OK) status = ty_adopt_schema(c, &parsed, err);
  if (status == TY_OK && c->words) status = ty_lexical_new(&c->lexical_index, err);
  if (status == TY_OK) *out = c;
  else ty_shell_free(c);
  return status;
}

ty_status ty_collection_at(ty_env *env, const char *dir, ty_collection **out, ty_error *err) {
  *out = NULL;
  return ty_shell(env, dir, out, err);
}

ty_status ty_collection_open(ty_env *env, const char *dir, ty_collection **out, ty_error *err) {
  *out = NULL;
  ty_collection *c = NULL;
  ty_status status = ty_shell(env, dir, &c, err);
  if (status == TY_OK) status = ty_follow(c, false, err);
  if (status == TY_OK) *out = c;
  else ty_shell_free(c);
  return status;
}

void ty_collection_close(ty_collection *c) {
  if (c == NULL) return;
  pthread_mutex_lock(&c->submitted_lock);
  while (c->submitted > 0) pthread_cond_wait(&c->submitted_none, &c->submitted_lock);
  pthread_mutex_unlock(&c->submitted_lock);
  ty_rollback(c);
  ty_shell_free(c);
}

uint64_t ty_test_fail(ty_env *env, uint64_t nth, int32_t sys_errno, uint32_t sticky) {
  ty_os *os = &env->os;
  __atomic_store_n(&os->fail_nth, 0, __ATOMIC_RELAXED);
  uint64_t calls = __atomic_exchange_n(&os->calls, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&os->fail_errno, sys_errno, __ATOMIC_RELAXED);
  __atomic_store_n(&os->fail_sticky, sticky, __ATOMIC_RELAXED);
  __atomic_store_n(&os->fail_nth, nth, __ATOMIC_RELAXED);
  return calls;
}

uint64_t ty_test_disk(ty_env *env, uint64_t bytes) {
  /* One more than is free, so that 0 switches it off. */
  return __atomic_exchange_n(&env->os.disk, bytes + 1, __ATOMIC_RELAXED) - 1;
}

/* The terms of texts, without a collection. */
#include <inttypes.h>
#include <stdlib.h>

#include "lexical/tally.h"
#include "os/env.h"

typedef struct taking {
  uint32_t *out;
  uint64_t capacity, count;
} taking;

static void take_hash(void *context, uint32_t hash) {
  taking *t = context;
  if (t->count < t->capacity) t->out[t->count] = hash;
  t->count++;
}

ty_status ty_terms(ty_env *env, ty_terms_args *a, ty_error *err) {
  taking t = {.out = a->out, .capacity = a->out_capacity};
  ame_token_cache *cache = NULL;
  uint32_t texts = 0;
  uint64_t start = 0;
  a->out_count = 0;
  if (a->n > 0 && (a->text_ends == NULL || a->out_ends == NULL))
    return ty_fail(err, TY_INVALID, "the ends of the texts are missing");
  for (uint64_t i = 0; i < a->n; start = a->text_ends[i++]) {
    if (a->text_ends[i] < start)
      return ty_fail(err, TY_INVALID, "the ends of the texts are not ascending at text %" PRIu64, i);
  }
  if (start > 0 && a->texts == NULL) return ty_fail(err, TY_INVALID, "the texts are missing");
  start = 0;
  for (uint64_t i = 0; i < a->n; start = a->text_ends[i++]) {
    uint64_t bytes = a->text_ends[i] - start;
    if (bytes > 0) env->kernel->token_hashes(ty_token_cache(&cache, &texts), a->texts + start, bytes, take_hash, &t);
    a->out_ends[i] = t.count;
  }
  free(cache);
  a->out_count = t.count;
  if (t.count <= t.capacity) return TY_OK;
  return ty_fail(err, TY_BUFFER, "the texts have %" PRIu64 " terms", t.count);
}

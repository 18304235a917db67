#include "lexical/rebuilt.h"

#include <stdlib.h>

#include "lexical/index.h"
#include "lexical/stored_terms.h"
#include "rows/checks.h"

/* Of codes, in the time that a byte of text takes: an index is made of 115 MB a second, 10 GB are scanned. */
#define CODES_PER_TEXT 90u

static uint64_t text_bytes(const ty_segment *base) {
  if (base->symbols != NULL) return base->symbols->head.text_bytes;
  return base->count == 0 || base->text_ends == NULL ? 0 : base->text_ends[base->count - 1];
}

uint64_t ty_rebuilt_cost(const ty_lexical *x, const ty_collection *c) {
  return atomic_load(&x->rebuilt) != NULL ? 0 : text_bytes(&c->base) * CODES_PER_TEXT;
}

typedef struct image {
  const ty_collection *c;
  ty_growing bytes;
  bool failed;
} image;

static bool append(void *context, const void *data, uint64_t bytes) {
  image *to = context;
  void *at = ty_growing_room(ty_dir_of(to->c), &to->bytes, bytes);
  to->failed = at == NULL;
  if (at != NULL) memcpy(at, data, (size_t)bytes);
  return at != NULL;
}

/* All rows of the base in their places, dead ones without terms. */
static ty_status encode(const ty_lexical *x, const ty_collection *c, image *to, ty_error *err) {
  uint64_t n = c->base.count;
  ty_ref *rows = malloc((size_t)(n + 1) * sizeof *rows);
  if (rows == NULL) return ty_fail(err, TY_NO_MEMORY, "not enough memory for a lexical index");
  for (uint64_t at = 0; at < n; at++) rows[at] = (ty_ref){&c->base, at};
  ty_rebase r = {.c = c,
                 .rows = rows,
                 .count = n,
                 .most = TY_RESIDENT_MOST,
                 .want_lexical = true,
                 .lexical_built = true,
                 .live_only = true,
                 .k1 = x->k1,
                 .b = x->b};
  ty_status status = ty_lexical_encode(&r, &(ty_lexical_sink){append, to}, err);
  if (to->failed) status = ty_fail(err, TY_NO_MEMORY, "not enough memory for a lexical index");
  free(rows);
  return status;
}

static ty_status make(const ty_lexical *x, const ty_collection *c, ty_lexical **out, ty_error *err) {
  uint64_t lost = ty_stored_terms_lost(c), texts = text_bytes(&c->base);
  ty_error why;
  *out = NULL;
  if (lost > 0) return ty_stored_terms_refusal(lost, err);
  if (c->base.checks != NULL && c->base.checks->symbols_lost)
    return ty_fail(
        err, TY_INDEX,
        "the lexical index is damaged, and cannot be made of the texts: the symbols that these are coded with "
        "are damaged");
  if (texts > TY_REBUILT_TEXTS) return ty_lexical_refusal(x, err);
  ty_lexical *made;
  ty_status status = ty_lexical_new(&made, err);
  if (status != TY_OK) return status;
  image to = {.c = c};
  status = encode(x, c, &to, &why);
  made->memory = to.bytes.memory;
  if (status == TY_OK) {
    ty_intact bytes = {.data = made->memory.data, .bytes = to.bytes.used};
    const char *what = ty_lexical_read(made, c->env->kernel, c->base.count, &bytes);
    TY_ASSERT(what == NULL);
    if (what != NULL) status = ty_fail(&why, TY_INDEX, "the lexical index cannot be made of the texts: %s", what);
  }
  if (status == TY_OK) {
    *out = made;
    return TY_OK;
  }
  ty_lexical_free(c->env, made);
  /* A text that cannot be read is damage of a row, and so of the answer. */
  if (status == TY_NO_MEMORY) return ty_fail(err, TY_NO_MEMORY, "%s", why.message);
  return ty_fail(err, TY_INDEX, "the lexical index is damaged, and cannot be made of the texts: %s", why.message);
}

ty_status ty_rebuilt(ty_lexical *x, const ty_collection *c, ty_lexical **out, ty_error *err) {
  *out = atomic_load(&x->rebuilt);
  if (*out != NULL) return TY_OK;
  pthread_mutex_lock(&x->lock);
  ty_status status = TY_OK;
  *out = atomic_load(&x->rebuilt);
  if (*out == NULL) status = make(x, c, out, err);
  if (status == TY_OK) atomic_store(&x->rebuilt, *out);
  pthread_mutex_unlock(&x->lock);
  return status;
}

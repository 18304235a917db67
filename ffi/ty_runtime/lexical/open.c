/* Opening a stored lexical index: only its head and foot are checked, the rest at each use, so that opening reads two
 * pages and not the whole index. */
#include <stdio.h>
#include <stdlib.h>

#include "lexical/index.h"
#include "os/fail.h"

ame_bm25 ty_lexical_norms(double k1, double b, double mean) {
  return (ame_bm25){.fixed = (float)(k1 * (1 - b)), .slope = (float)(k1 * b / mean)};
}

double ty_mean_length(uint64_t tokens, uint64_t docs) {
  return docs == 0 || tokens == 0 ? 1 : (double)tokens / (double)docs;
}

bool ty_lexical_place(uint64_t docs, const ty_lexical_foot *foot, ty_lexical_layout *out) {
  if (docs > UINT32_MAX / 2 || foot->terms > UINT32_MAX || foot->lists_bytes > UINT64_MAX / 4 ||
      foot->entries_bytes > UINT32_MAX)
    return false;
  out->lengths = (sizeof(ty_lexical_head) + foot->lists_bytes + 63) & ~(uint64_t)63;
  out->fences = out->lengths + docs * 4;
  out->entries = out->fences + (foot->terms + TY_DICT_TERMS - 1) / TY_DICT_TERMS * 8;
  out->foot = (out->entries + foot->entries_bytes + 63) & ~(uint64_t)63;
  out->total = out->foot + sizeof *foot;
  return true;
}

/* Opens an image; returns what is wrong with it, or NULL. */
static const char *read_image(ty_lexical *x, const ame_kernel *k, uint64_t rows, ty_slice bytes) {
  ty_lexical_head head;
  ty_lexical_foot foot;
  ty_lexical_layout place;
  x->trouble = TY_INDEX;
  if (bytes.bytes < sizeof head + sizeof foot) return "it is too short";
  memcpy(&head, bytes.data, sizeof head);
  memcpy(&foot, bytes.data + bytes.bytes - sizeof foot, sizeof foot);
  uint32_t crc = k->crc32c(k->crc32c(0, &head, sizeof head), &foot, sizeof foot - sizeof foot.crc);
  if (crc != foot.crc) return "its head does not match its checksum";
  if (!ty_all_zero(head.reserved, sizeof head.reserved) || !ty_all_zero(foot.reserved, sizeof foot.reserved))
    return "a reserved field is not zero";
  if (!(head.k1 >= 0 && head.k1 <= TY_LEXICAL_K1_MAX) || !(head.b >= 0 && head.b <= 1) || head.built > 1)
    return "a parameter is out of range";
  x->built = head.built != 0;
  x->k1 = head.k1;
  x->b = head.b;
  if (head.version != k->token_version()) {
    x->trouble = TY_STATE;
    return "it was built by another way of tokenising";
  }
  if (head.docs != rows) return "it is over another number of rows than the base";
  if (!ty_lexical_place(head.docs, &foot, &place) || place.total != bytes.bytes || (uintptr_t)bytes.data % 4 != 0)
    return "its length does not fit its counts";
  x->image = (ty_lexical_image){.docs = head.docs,
                                .tokens = foot.tokens,
                                .terms = foot.terms,
                                .lists = bytes.data + sizeof head,
                                .lists_bytes = foot.lists_bytes,
                                .lengths = (const uint32_t *)(const void *)(bytes.data + place.lengths),
                                .fences = bytes.data + place.fences,
                                .entries = bytes.data + place.entries,
                                .entries_bytes = foot.entries_bytes};
  x->trouble = TY_OK;
  return NULL;
}

static void refuse(ty_lexical *x, const char *what) {
  snprintf(x->message, sizeof x->message,
           "the lexical index cannot be read, %.380s: run svc_build_lexical to make it anew", what);
}

ty_status ty_lexical_new(ty_lexical **out, ty_error *err) {
  ty_lexical *x = calloc(1, sizeof *x);
  *out = NULL;
  if (x == NULL) return ty_fail(err, TY_NO_MEMORY, "not enough memory to open a lexical index");
  if (pthread_mutex_init(&x->lock, NULL) != 0) {
    free(x);
    return ty_fail(err, TY_NO_MEMORY, "no mutex for a lexical index");
  }
  x->k1 = TY_LEXICAL_K1;
  x->b = TY_LEXICAL_B;
  x->stale = x->restart = true;
  *out = x;
  return TY_OK;
}

ty_status ty_lexical_open(const ty_collection *c, const ty_segment *base, ty_slice bytes, ty_lexical **out,
                          ty_error *err) {
  ty_status status = ty_lexical_new(out, err);
  if (status != TY_OK) return status;
  const char *what = read_image(*out, c->env->kernel, base->count, bytes);
  if (what != NULL) refuse(*out, what);
  return TY_OK;
}

ty_status ty_lexical_open_none(const ty_error *why, ty_lexical **out, ty_error *err) {
  ty_status status = ty_lexical_new(out, err);
  if (status != TY_OK) return status;
  (*out)->trouble = TY_INDEX;
  refuse(*out, why->message);
  return TY_OK;
}

void ty_lexical_found_damage(ty_lexical *x) { atomic_store(&x->damaged, true); }

bool ty_lexical_usable(const ty_lexical *x) { return x != NULL && x->trouble == TY_OK; }

bool ty_lexical_parameters(const ty_lexical *x, double *k1, double *b, uint64_t *terms) {
  *k1 = x->k1;
  *b = x->b;
  *terms = x->image.terms;
  return x->built;
}

ty_status ty_lexical_damaged(ty_error *err, const char *what) {
  return ty_fail(err, TY_INDEX, "the lexical index is damaged (%s): run svc_build_lexical to make it anew", what);
}

/* Opening a stored lexical index: only its head and foot are checked, the rest as it is read, so that opening reads two
 * pages and not the whole index. */
#include <stdlib.h>

#include "lexical/index.h"

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

const char *ty_lexical_read(ty_lexical *x, const ame_kernel *k, uint64_t rows, const ty_intact *bytes) {
  ty_lexical_head head;
  ty_lexical_foot foot;
  ty_lexical_layout place;
  const uint8_t *data = bytes->data;
  x->trouble = TY_INDEX;
  x->intact = *bytes;
  if (bytes->bytes < sizeof head + sizeof foot) return "it is too short";
  memcpy(&head, data, sizeof head);
  memcpy(&foot, data + bytes->bytes - sizeof foot, sizeof foot);
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
    x->trouble = TY_UNBUILT;
    return "it was built by another way of tokenising";
  }
  if (head.docs != rows) return "it is over another number of rows than the base";
  if (!ty_lexical_place(head.docs, &foot, &place) || place.total != bytes->bytes || (uintptr_t)data % 4 != 0)
    return "its length does not fit its counts";
  x->image = (ty_lexical_image){.intact = &x->intact,
                                .docs = head.docs,
                                .tokens = foot.tokens,
                                .terms = foot.terms,
                                .lists = data + sizeof head,
                                .lists_bytes = foot.lists_bytes,
                                .lengths = (const uint32_t *)(const void *)(data + place.lengths),
                                .fences = data + place.fences,
                                .entries = data + place.entries,
                                .entries_bytes = foot.entries_bytes};
  x->trouble = TY_OK;
  return NULL;
}

static uint64_t fence_bytes(const ty_lexical_image *x) { return (x->terms + TY_DICT_TERMS - 1) / TY_DICT_TERMS * 8; }

uint64_t ty_lexical_unread(const ty_lexical *x) {
  return atomic_load(&x->looked) ? 0 : x->image.docs * sizeof *x->image.lengths + fence_bytes(&x->image);
}

ty_status ty_lexical_look(ty_lexical *x, ty_error *err) {
  const ty_lexical_image *image = &x->image;
  if (atomic_load(&x->looked)) return TY_OK;
  if (!ty_image_good(image, image->lengths, image->docs * sizeof *image->lengths))
    return ty_lexical_damaged(err, "lengths");
  if (!ty_image_good(image, image->fences, fence_bytes(image))) return ty_lexical_damaged(err, "dictionary");
  atomic_store(&x->looked, true);
  return TY_OK;
}

static void refuse(ty_lexical *x, const char *what) {
  snprintf(x->message, sizeof x->message, "the lexical index cannot be read, %.380s", what);
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
  x->image.intact = &x->intact;
  *out = x;
  return TY_OK;
}

ty_status ty_lexical_open(const ty_collection *c, const ty_segment *base, const ty_intact *bytes, ty_lexical **out,
                          ty_error *err) {
  ty_status status = ty_lexical_new(out, err);
  if (status != TY_OK) return status;
  (*out)->built = c->lexical;
  const char *what = ty_lexical_read(*out, c->env->kernel, base->count, bytes);
  if (what != NULL) refuse(*out, what);
  return TY_OK;
}

ty_status ty_lexical_open_none(const ty_collection *c, const ty_error *why, ty_lexical **out, ty_error *err) {
  ty_status status = ty_lexical_new(out, err);
  if (status != TY_OK) return status;
  (*out)->built = c->lexical;
  (*out)->trouble = TY_INDEX;
  refuse(*out, why->message);
  return TY_OK;
}

void ty_lexical_found_damage(ty_lexical *x) { atomic_store(&x->damaged, true); }

bool ty_lexical_usable(const ty_lexical *x) { return x != NULL && x->trouble == TY_OK && !atomic_load(&x->damaged); }

ty_status ty_lexical_refusal(const ty_lexical *x, ty_error *err) {
  if (ty_lexical_usable(x)) return TY_OK;
  if (x->trouble != TY_OK) return ty_fail(err, x->trouble, "%s", x->message);
  return ty_fail(err, TY_INDEX, "the lexical index is damaged");
}

bool ty_lexical_parameters(const ty_lexical *x, double *k1, double *b, uint64_t *terms) {
  *k1 = x->k1;
  *b = x->b;
  *terms = ty_lexical_usable(x) ? x->image.terms : 0;
  return x->built;
}

ty_status ty_lexical_damaged(ty_error *err, const char *what) {
  return ty_fail(err, TY_INDEX, "the lexical index is damaged (%s)", what);
}

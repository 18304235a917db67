#include "calls/arguments.h"

#include <inttypes.h>
#include <string.h>

#include "disk/format.h"
#include "lexical/labels.h"

static ty_status check_ends(const uint8_t *bytes, const uint64_t *ends, uint64_t n, uint64_t least, uint64_t most,
                            const char *what, ty_error *err) {
  if (n > 0 && ends == NULL) return ty_fail(err, TY_INVALID, "the %s are missing", what);
  uint64_t before = 0;
  for (uint64_t i = 0; i < n; i++) {
    if (ends[i] < before)
      return ty_fail(err, TY_INVALID, "the ends of the %s are not ascending at row %llu", what, (unsigned long long)i);
    if (ends[i] - before < least || ends[i] - before > most)
      return ty_fail(err, TY_INVALID, "one of the %s has %llu bytes, allowed are %llu to %llu", what,
                     (unsigned long long)(ends[i] - before), (unsigned long long)least, (unsigned long long)most);
    before = ends[i];
  }
  if (before > 0 && bytes == NULL) return ty_fail(err, TY_INVALID, "the %s are missing", what);
  return TY_OK;
}

ty_status ty_check_ids(const uint8_t *ids, const uint64_t *ends, uint64_t n, ty_error *err) {
  ty_status status = check_ends(ids, ends, n, 1, TY_ID_MAX, "ids", err);
  if (status == TY_OK && n > 0 && memchr(ids, 0, (size_t)ends[n - 1]) != NULL)
    return ty_fail(err, TY_INVALID, "an id holds a NUL");
  return status;
}

ty_status ty_check_texts(const uint8_t *texts, const uint64_t *ends, uint64_t n, ty_error *err) {
  if (n > TY_ROWS_MAX) return ty_fail(err, TY_INVALID, "too many texts in one call");
  return check_ends(texts, ends, n, 0, TY_TEXT_MAX, "texts", err);
}

ty_status ty_check_vectors(const ty_collection *c, const float *vectors, uint64_t floats, bool many, ty_error *err) {
  char row[24] = "";
  uint64_t at = 0;
  if (c->env->kernel->all_finite(vectors, (size_t)floats)) return TY_OK;
  while (c->env->kernel->all_finite(vectors + at, 1)) at++;
  if (many) snprintf(row, sizeof row, "s[%" PRIu64 "]", at / c->dim);
  /* src/checks/vectors.ts has the same message. */
  return ty_fail(err, TY_INVALID,
                 "vector%s[%" PRIu64 "] is NaN or infinite; a vector holds numbers that are finite in single precision",
                 row, at % c->dim);
}

ty_status ty_check_model(const ty_collection *c, uint64_t model, ty_error *err) {
  uint32_t dim = model > UINT32_MAX ? 0 : c->env->kernel->embed_dim((uint32_t)model);
  if (dim == c->dim) return TY_OK;
  return ty_fail(err, TY_INVALID, "a text is embedded into %" PRIu32 " numbers; the collection has dim %" PRIu32, dim,
                 c->dim);
}

static ty_status check_labels(const ty_collection *c, const ty_put_args *a, ty_error *err) {
  if (a->labels == NULL && a->label_ends == NULL) return TY_OK;
  if (!c->lexical || (a->flags & TY_PUT_DROP_TEXT) == 0)
    return ty_fail(err, TY_INVALID, "labels need a collection with a lexical index, and rows whose texts are not kept");
  ty_status status =
      check_ends(a->labels, a->label_ends, a->n, 0, (uint64_t)TY_LABELS_MAX * (TY_LABEL_MAX + 1), "labels", err);
  for (uint64_t i = 0; i < a->n && status == TY_OK; i++)
    status = ty_labels_check(ty_nth(a->labels, a->label_ends, i), err);
  return status;
}

ty_status ty_check_put(const ty_collection *c, const ty_put_args *a, ty_error *err) {
  uint64_t floats, keys;
  if (a->mode > TY_UPDATE) return ty_fail(err, TY_INVALID, "an unknown mode of put");
  if (a->n > TY_ROWS_MAX || !ty_mul(a->n, c->dim, &floats) || !ty_mul(a->n, c->columns, &keys))
    return ty_fail(err, TY_INVALID, "too many rows in one call");
  const bool from_history = (a->flags & TY_PUT_CHANGES) != 0;
  if (from_history && (a->changes == NULL || a->vectors != NULL))
    return ty_fail(err, TY_INVALID, "rows of the history need `changes`, and no vectors");
  if (a->n > 0 && a->vectors == NULL && a->text_ends == NULL && !from_history)
    return ty_fail(err, TY_INVALID, "the vectors are missing, and there are no texts to embed");
  ty_status status = ty_check_ids(a->ids, a->id_ends, a->n, err);
  if (status == TY_OK && (a->metas != NULL || a->meta_ends != NULL))
    status = check_ends(a->metas, a->meta_ends, a->n, 0, TY_META_MAX, "metadata", err);
  if (status == TY_OK && (a->texts != NULL || a->text_ends != NULL))
    status = check_ends(a->texts, a->text_ends, a->n, 0, TY_TEXT_MAX, "texts", err);
  if (status == TY_OK) status = check_labels(c, a, err);
  if (status == TY_OK) status = check_ends(a->keys, a->key_ends, keys, 0, TY_KEY_MAX, "filter values", err);
  if (status == TY_OK && (a->likes != NULL || a->like_ends != NULL))
    status = check_ends(a->likes, a->like_ends, a->n, 0, TY_ID_MAX, "ids of like rows", err);
  for (uint64_t i = 0; a->updated != NULL && i < a->n && status == TY_OK; i++) {
    if (a->updated[i] > TY_TIME_MAX) status = ty_fail(err, TY_INVALID, "a time is beyond 2^48 - 1 milliseconds");
  }
  for (uint64_t i = 0; a->created != NULL && i < a->n && status == TY_OK; i++) {
    if (a->updated == NULL || a->created[i] > a->updated[i])
      status = ty_fail(err, TY_INVALID, "a row was created after it was updated");
  }
  if (status != TY_OK || a->n == 0 || from_history) return status;
  return a->vectors == NULL ? ty_check_model(c, a->model, err) : ty_check_vectors(c, a->vectors, floats, true, err);
}

#include "lexical/tally.h"

#include <inttypes.h>
#include <stdlib.h>

#include "lexical/bag.h"
#include "lexical/bits.h"
#include "lexical/labels.h"
#include "os/assert.h"

#define FIRST_CAPACITY 512u
/* Of the stored form: what comes before its terms. */
#define HEAD_MOST 32u
/* Texts after which a cache of words pays: its 384 KiB are mapped page by page. */
#define TEXTS_BEFORE_CACHE 16u

ame_token_cache *ty_token_cache(ame_token_cache **cache, uint32_t *texts) {
  if (*cache == NULL && (*texts)++ == TEXTS_BEFORE_CACHE) *cache = calloc(1, sizeof **cache);
  return *cache;
}

/* Sorts the terms and adds up equal ones. */
static void collapse(ty_tally *t) {
  ty_sort_by_hash(t->items, t->scratch, t->count);
  uint64_t kept = 0;
  for (uint64_t i = 0; i < t->count;) {
    uint64_t hash = t->items[i] >> 32, tf = 0;
    for (; i < t->count && t->items[i] >> 32 == hash; i++) tf += (uint32_t)t->items[i];
    t->failed |= tf > TY_TF_MAX;
    TY_ASSERT(kept == 0 || t->items[kept - 1] >> 32 < hash);
    t->items[kept++] = hash << 32 | (uint32_t)tf;
  }
  t->count = kept;
}

/* Ensures space for one more. A long text of few words is collapsed again and again instead of stored token by
 * token. */
static bool room(ty_tally *t) {
  if (t->count < t->capacity) return true;
  if (t->count > 0) collapse(t);
  if (t->failed || (t->capacity > 0 && t->count <= t->capacity / 2)) return !t->failed;
  uint64_t capacity = t->capacity == 0 ? FIRST_CAPACITY : 2 * t->capacity;
  uint64_t *items = capacity <= SIZE_MAX / 16 ? realloc(t->items, (size_t)capacity * sizeof *items) : NULL;
  if (items != NULL) t->items = items;
  uint64_t *scratch = items == NULL ? NULL : malloc((size_t)capacity * sizeof *scratch);
  if (scratch == NULL) {
    t->failed = true;
    return false;
  }
  free(t->scratch);
  t->scratch = scratch;
  t->capacity = capacity;
  return true;
}

static void add(ty_tally *t, uint32_t hash, uint32_t tf) {
  if (!t->failed && room(t)) t->items[t->count++] = (uint64_t)hash << 32 | tf;
}

void ty_tally_term(ty_tally *t, uint32_t hash, uint32_t tf) {
  add(t, hash, tf);
  t->tokens += tf;
}

static void take_hash(void *context, uint32_t hash) { ty_tally_term(context, hash, 1); }

void ty_tally_text(ty_tally *t, const ame_kernel *k, ty_slice text) {
  k->token_hashes(ty_token_cache(&t->cache, &t->texts), text.data, (size_t)text.bytes, take_hash, t);
}

bool ty_tally_end(ty_tally *t) {
  if (!t->failed && t->count > 0) collapse(t);
  return !t->failed && t->tokens <= INT32_MAX;
}

void ty_tally_clear(ty_tally *t) {
  t->count = t->tokens = 0;
  t->failed = false;
}

void ty_tally_free(ty_tally *t) {
  free(t->items);
  free(t->scratch);
  free(t->cache);
  ty_buffer_free(&t->reader.text);
  memset(t, 0, sizeof *t);
}

ty_status ty_tally_row(ty_tally *t, const ame_kernel *k, ty_ref row, ty_error *err) {
  ty_tally_clear(t);
  ty_term_reader reader;
  bool has_text, whole = ty_terms_open(&reader, ty_row_terms(row.segment, row.at));
  ty_slice text = ty_row_text(row.segment, row.at, &t->reader, &has_text);
  if (ty_terms_are_of_text(&reader, has_text, k)) {
    ty_tally_text(t, k, text);
  } else {
    while (whole && ty_terms_next(&reader)) add(t, reader.hash, reader.tf);
    t->tokens = reader.tokens;
    if (!whole || !ty_terms_whole(&reader, has_text))
      return ty_fail(err, TY_CORRUPT, "the stored terms of row %" PRIu64 " are damaged", row.segment->row[row.at]);
  }
  if (!t->reader.text.failed && ty_tally_end(t)) return TY_OK;
  return ty_fail(err, TY_NO_MEMORY, "not enough memory for the terms of row %" PRIu64, row.segment->row[row.at]);
}

void ty_terms_put(const uint64_t *items, uint64_t n, uint64_t tokens, uint32_t version, ty_buffer *out) {
  unsigned parameter = ty_terms_parameter(n);
  uint64_t next = 0; /* the smallest hash that can follow */
  uint8_t *at = n == 0 ? NULL : ty_buffer_room(out, HEAD_MOST + TY_TERM_MOST * n);
  if (at == NULL) return;
  at[0] = (uint8_t)version;
  uint64_t head = 1 + ty_leb_put(at + 1, n);
  head += ty_leb_put(at + head, tokens);
  ty_bits_out b = {.data = at + head};
  for (uint64_t i = 0; i < n; i++) {
    uint64_t hash = items[i] >> 32;
    TY_ASSERT(hash >= next && (uint32_t)items[i] > 0);
    ty_bits_put_rice(&b, (uint32_t)(hash - next), parameter);
    ty_bits_put_gamma(&b, (uint32_t)items[i]);
    next = hash + 1;
  }
  out->bytes += head + ty_bits_end(&b);
}

ty_status ty_terms_encode(ty_tally *t, const ame_kernel *k, ty_slice text, const ty_slice *met, ty_slice labels,
                          ty_buffer *out, ty_error *err) {
  uint64_t *named = NULL, m = 0;
  ty_tally_clear(t);
  if (met == NULL) ty_tally_text(t, k, text);
  for (uint64_t at = 0; met != NULL && at < met->bytes; at += sizeof(uint64_t)) {
    uint64_t item;
    memcpy(&item, met->data + at, sizeof item);
    ty_tally_term(t, (uint32_t)(item >> 32), (uint32_t)item);
  }
  bool good = ty_labels_sorted(labels, &named, &m);
  for (uint64_t i = 0; i < m; i++) add(t, (uint32_t)(named[i] >> 32), 1);
  good = good && ty_tally_end(t);
  if (good) ty_terms_put(t->items, t->count, t->tokens, k->token_version(), out);
  free(named);
  if (good && !out->failed) return TY_OK;
  return ty_fail(err, TY_NO_MEMORY, "not enough memory for the terms of a text of %" PRIu64 " bytes", text.bytes);
}

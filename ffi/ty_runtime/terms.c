/* A row's tokens in the form that is kept: see "Terms" in internal.h. */
#include <stdlib.h>
#include <string.h>

#include "lexical.h"

/* ---- The set of hashes ----------------------------------------------------------------------------------------------*/

/* Hashes are mixed already; the multiplication only guards against sets chosen to collide in the low bits. */
static uint32_t bag_slot(const ty_bag *b, uint32_t hash) {
  return (hash * 0x9e3779b1u >> 7 ^ hash) & (b->table_size - 1);
}

uint32_t ty_bag_find(const ty_bag *b, uint32_t hash) {
  if (b->table_size == 0) return TY_NO_TERM;
  for (uint32_t i = bag_slot(b, hash);; i = (i + 1) & (b->table_size - 1)) {
    uint32_t number = b->table[i];
    if (number == 0) return TY_NO_TERM;
    if (b->hash[number - 1] == hash) return number - 1;
  }
}

static bool bag_grow(ty_bag *b) {
  if (b->capacity > UINT32_MAX / 8) return false;
  uint32_t capacity = b->capacity == 0 ? 64 : 2 * b->capacity;
  uint32_t *hash = realloc(b->hash, (size_t)capacity * sizeof *hash);
  if (hash == NULL) return false;
  b->hash = hash;
  uint32_t *table = calloc((size_t)capacity * 2, sizeof *table);
  if (table == NULL) return false;
  free(b->table);
  b->table = table;
  b->capacity = capacity;
  b->table_size = capacity * 2;
  for (uint32_t number = 0; number < b->count; number++) {
    uint32_t i = bag_slot(b, b->hash[number]);
    while (table[i] != 0) i = (i + 1) & (b->table_size - 1);
    table[i] = number + 1;
  }
  return true;
}

uint32_t ty_bag_add(ty_bag *b, uint32_t hash) {
  uint32_t number = ty_bag_find(b, hash);
  if (number != TY_NO_TERM) return number;
  if (b->count == b->capacity && !bag_grow(b)) return TY_NO_TERM;
  uint32_t i = bag_slot(b, hash);
  while (b->table[i] != 0) i = (i + 1) & (b->table_size - 1);
  b->hash[b->count] = hash;
  b->table[i] = ++b->count;
  return b->count - 1;
}

void ty_bag_free(ty_bag *b) {
  free(b->hash);
  free(b->table);
  memset(b, 0, sizeof *b);
}

void ty_sort_by_hash(uint64_t *items, uint64_t *scratch, uint64_t n) {
  if (n < 48) { /* insertion: four passes over 256 counters cost more */
    for (uint64_t i = 1; i < n; i++) {
      uint64_t moving = items[i], j = i;
      for (; j > 0 && items[j - 1] >> 32 > moving >> 32; j--) items[j] = items[j - 1];
      items[j] = moving;
    }
    return;
  }
  uint64_t *from = items, *to = scratch;
  for (unsigned shift = 32; shift < 64; shift += 8) { /* an even number of passes: the result is in `items` again */
    uint64_t starts[257] = {0};
    for (uint64_t i = 0; i < n; i++) starts[(from[i] >> shift & 255) + 1]++;
    for (unsigned d = 0; d < 256; d++) starts[d + 1] += starts[d];
    for (uint64_t i = 0; i < n; i++) to[starts[from[i] >> shift & 255]++] = from[i];
    uint64_t *swap = from;
    from = to;
    to = swap;
  }
}

/* ---- Reading --------------------------------------------------------------------------------------------------------*/

bool ty_terms_open(ty_term_reader *r, ty_slice terms) {
  memset(r, 0, sizeof *r);
  if (terms.bytes == 0) return true;
  r->at = terms.data;
  r->end = terms.data + terms.bytes;
  if (!ty_leb_get(&r->at, r->end, &r->distinct) || !ty_leb_get(&r->at, r->end, &r->tokens)) return false;
  /* Two bytes at least for each term, and each term at least once: what breaks this would only waste a caller's memory. */
  return r->distinct <= (uint64_t)(r->end - r->at) / 2 && r->tokens >= r->distinct && r->tokens <= UINT32_MAX;
}

bool ty_terms_next(ty_term_reader *r) {
  if (r->seen >= r->distinct) return false;
  uint64_t step, tf;
  if (!ty_leb_get(&r->at, r->end, &step) || !ty_leb_get(&r->at, r->end, &tf)) return false;
  if ((step == 0 && r->seen != 0) || step > UINT32_MAX - r->hash || tf == 0 || tf > UINT32_MAX) return false;
  r->hash += (uint32_t)step;
  r->tf = (uint32_t)tf;
  r->seen++;
  return true;
}

/* ---- Writing --------------------------------------------------------------------------------------------------------*/

typedef struct encoder {
  ty_bag bag;
  uint32_t *tf; /* by number */
  uint32_t capacity;
  uint64_t tokens;
  bool failed;
} encoder;

static void take_token(void *context, uint32_t hash, const uint8_t *term, size_t term_bytes) {
  (void)term, (void)term_bytes;
  encoder *e = context;
  if (e->failed) return;
  uint32_t known = e->bag.count, number = ty_bag_add(&e->bag, hash);
  if (number == TY_NO_TERM) {
    e->failed = true;
    return;
  }
  if (e->capacity < e->bag.capacity) {
    uint32_t *grown = realloc(e->tf, (size_t)e->bag.capacity * sizeof *grown);
    if (grown == NULL) {
      e->failed = true;
      return;
    }
    e->tf = grown;
    e->capacity = e->bag.capacity;
  }
  if (number == known) e->tf[number] = 0;
  e->tf[number]++;
  e->tokens++;
}

ty_status ty_terms_encode(const ame_kernel *k, ty_slice text, ty_buffer *out, ty_error *err) {
  encoder e = {0};
  uint64_t *sorted = NULL;
  uint8_t *bytes = NULL;
  ty_status status = TY_OK;
  k->tokenize(text.data, (size_t)text.bytes, take_token, &e);
  uint64_t n = e.bag.count;
  if (e.failed || e.tokens > UINT32_MAX) goto no_memory;
  sorted = malloc((size_t)(2 * n + 1) * sizeof *sorted);
  bytes = malloc((size_t)(20 + 10 * n));
  if (sorted == NULL || bytes == NULL) goto no_memory;
  for (uint64_t i = 0; i < n; i++) sorted[i] = (uint64_t)e.bag.hash[i] << 32 | e.tf[i];
  ty_sort_by_hash(sorted, sorted + n, n);
  uint64_t length = ty_leb_put(bytes, n);
  length += ty_leb_put(bytes + length, e.tokens);
  uint32_t before = 0;
  for (uint64_t i = 0; i < n; i++) {
    uint32_t hash = (uint32_t)(sorted[i] >> 32);
    length += ty_leb_put(bytes + length, hash - before);
    length += ty_leb_put(bytes + length, (uint32_t)sorted[i]);
    before = hash;
  }
  ty_buffer_append(out, bytes, length);
  if (!out->failed) goto done;
no_memory:
  status = ty_fail(err, TY_NO_MEMORY, "not enough memory for the terms of a text of %llu bytes",
                   (unsigned long long)text.bytes);
done:
  free(sorted);
  free(bytes);
  free(e.tf);
  ty_bag_free(&e.bag);
  return status;
}

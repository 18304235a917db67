/* Terms beside the embedding: the vectors are those of embed, the terms those of token_hashes. */
#include "kernel_common.h"

#include <stdio.h>

#define BYTES_MOST (1u << 20)
#define TEXTS_MOST 24u

/* Hash and text of a token, each occurrence. */
typedef struct tokens {
  uint64_t *items;
  size_t count, room;
  uint64_t text;
  int wrong;
} tokens;

static void add(tokens *t, uint64_t text, uint32_t hash) {
  if (t->count == t->room) {
    t->room = t->room == 0 ? 4096 : 2 * t->room;
    t->items = realloc(t->items, t->room * sizeof *t->items);
    if (t->items == NULL) abort();
  }
  t->items[t->count++] = text << 32 | hash;
}

static void take_met(void *ctx, uint64_t text, uint32_t hash, uint32_t count) {
  tokens *t = ctx;
  t->wrong |= text < t->text || count == 0;
  t->text = text;
  for (uint32_t i = 0; i < count; i++) add(t, text, hash);
}

static void take_hash(void *ctx, uint32_t hash) {
  tokens *t = ctx;
  add(t, t->text, hash);
}

static int ascending(const void *a, const void *b) {
  uint64_t x, y;
  memcpy(&x, a, sizeof x);
  memcpy(&y, b, sizeof y);
  return x < y ? -1 : x > y;
}

static void check_terms(uint32_t model, const uint8_t *bytes, const uint64_t *ends, uint64_t n) {
  static float one[TEXTS_MOST * 2048], other[TEXTS_MOST * 2048];
  tokens met = {0}, told = {0};
  uint32_t dim = kernel->embed_dim(model);
  CHECK(kernel->embed_terms(model, AME_ROLE_DOCUMENT, bytes, ends, n, one, take_met, &met) == 0);
  CHECK(kernel->embed(model, AME_ROLE_DOCUMENT, bytes, ends, n, other) == 0);
  CHECK(!met.wrong && memcmp(one, other, n * dim * sizeof *one) == 0);
  for (told.text = 0; told.text < n; told.text++) {
    uint64_t from = told.text == 0 ? 0 : ends[told.text - 1];
    kernel->token_hashes(NULL, bytes + from, (size_t)(ends[told.text] - from), take_hash, &told);
  }
  if (met.count > 0) qsort(met.items, met.count, sizeof *met.items, ascending);
  if (told.count > 0) qsort(told.items, told.count, sizeof *told.items, ascending);
  CHECK_MESSAGE(met.count == told.count, "%zu tokens were met, %zu are there", met.count, told.count);
  CHECK(met.count != told.count || met.count == 0 || memcmp(met.items, told.items, met.count * 8) == 0);
  free(met.items);
  free(told.items);
}

/* Words of all kinds, of which a text takes more than a block of the embedder holds where `words` is large. */
static size_t random_text(uint8_t *out, size_t most, uint64_t words) {
  static const char *const kinds[] = {"%llurunning ",
                                      "HTTPServer%llu_the ",
                                      "t\u00f4i \u0111\u00e3 %llu ",
                                      "\u6f22\u5b57%llu",
                                      "\u0440\u0430\u0431\u043e\u0442\u0430%llu ",
                                      "the cats' ",
                                      "x %llu\n",
                                      "\U0001f600 it's %llu "};
  size_t n = 0;
  while (n + 64 < most) {
    unsigned long long word = random_u64() % words;
    /* Letters for digits: numbers alone would be one kind of word. */
    int wrote = snprintf((char *)out + n, 64, kinds[random_u64() % 8], word);
    if (random_u64() % 2) {
      for (int i = 0; i < wrote; i++) {
        if (out[n + (size_t)i] >= '0' && out[n + (size_t)i] <= '9') out[n + (size_t)i] += 'a' - '0';
      }
    }
    n += (size_t)wrote;
  }
  return n;
}

int main(void) {
  kernel = ame_kernel_table();
  uint8_t *bytes = malloc(BYTES_MOST);
  uint64_t ends[TEXTS_MOST];
  if (bytes == NULL) abort();
  for (uint32_t model = AME_MODEL_MULTIGRAM; model <= AME_MODEL_BIGRAM; model++) {
    for (int round = 0; round < 30; round++) {
      uint64_t n = 1 + random_u64() % TEXTS_MOST, at = 0;
      for (uint64_t i = 0; i < n; i++) {
        size_t most = random_u64() % (round % 5 == 0 ? 40000 : 2000);
        at += random_text(bytes + at, most, round % 3 == 0 ? 20 : 100000);
        ends[i] = at;
      }
      check_terms(model, bytes, ends, n);
    }
    /* More often than a vector counts. */
    for (size_t i = 0; i + 4 <= 400000; i += 4) memcpy(bytes + i, "ab c", 4);
    ends[0] = 400000;
    check_terms(model, bytes, ends, 1);
    for (size_t i = 0; i < 1000; i++) bytes[i] = (uint8_t)random_u64();
    ends[0] = 1000;
    check_terms(model, bytes, ends, 1);
    ends[0] = 0;
    check_terms(model, bytes, ends, 1);
  }
  free(bytes);
  return check_report();
}

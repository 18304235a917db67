/* Any bytes through the tokenizer and both embedders: no access out of bounds, no undefined behaviour, and the promises that
 * hold for every text. With -fsanitize=fuzzer this is a libFuzzer target; with -DSTANDALONE it drives itself:
 *   kernel_fuzz [rounds] [seed]      (the seed is printed; a failure repeats with it) */
#include "../../ffi/ame_kernel/ame_kernel.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct tally {
  uint64_t tokens, bytes;
  uint32_t hash;
} tally;

static void require(int ok, const char *what) {
  if (ok) return;
  fprintf(stderr, "broken promise: %s\n", what);
  abort();
}

static void count(void *ctx, uint32_t hash, const uint8_t *term, size_t bytes) {
  tally *t = ctx;
  require(bytes > 0 && bytes <= 64, "a term has 1 to 64 bytes");
  for (size_t i = 0; i < bytes; i++)
    require(term[i] > ' ' && term[i] != 0x7f && !(term[i] >= 'A' && term[i] <= 'Z'), "a term is folded");
  t->tokens++;
  t->bytes += bytes;
  t->hash = t->hash * 31 + hash;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static float row[1024], again[1024];
  tally once = {0, 0, 0}, twice = {0, 0, 0};
  ame_tokenize(data, size, count, &once);
  ame_tokenize(data, size, count, &twice);
  require(once.tokens == twice.tokens && once.bytes == twice.bytes && once.hash == twice.hash,
          "tokens are the same twice");
  require(once.tokens <= 2 * size + 1, "at most two tokens a byte");
  uint64_t end = size;
  for (uint32_t model = 0; model < 2; model++) {
    for (uint32_t role = 0; role < 2; role++) {
      uint32_t dim = ame_embed_dim(model);
      require(ame_embed(model, role, data, &end, 1, row) == 0 && ame_embed(model, role, data, &end, 1, again) == 0,
              "embed");
      require(memcmp(row, again, dim * sizeof(float)) == 0, "a vector is the same twice");
      double square = 0;
      for (uint32_t i = 0; i < dim; i++) square += (double)row[i] * row[i];
      require(square == 0 || fabs(square - 1) < 1e-5, "unit length or zero");
      require(square == 0 || once.tokens > 0, "no tokens, no vector");
    }
  }
  return 0;
}

#ifdef STANDALONE

static uint64_t state;
static uint64_t next(void) {
  uint64_t z = (state += 0x9e3779b97f4a7c15ull);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

/* Bytes at random are nearly all separators; pieces of real scripts, joined and then damaged, go deeper. */
static const char *const pieces[] = {
    "a",
    "Z",
    "word",
    "HTTPServer",
    "snake_case_",
    "9",
    "1234567890",
    " ",
    "  ",
    "\n",
    "'s",
    "\xe2\x80\x99s",
    "_",
    "y",
    "ing",
    "ational",
    "\xc3\xa9",
    "\xc3\x9f",
    "e\xcc\x81",
    "\xe5\x8c\x97",
    "\xe4\xba\xac",
    "\xe3\x82\xab",
    "\xed\x95\x9c",
    "\xe0\xb8\xa2",
    "\xd0\x9c",
    "\xd8\xa3",
    "\xf0\x9f\x91\xa8",
    "\xe2\x80\x8d",
    "\xf0\x9f\x8f\xbd",
    "\xef\xb8\x8f",
    "\xf0\xa0\x80\x80",
    "\xef\xbc\xa1",
    "\xd9\xa3",
    "\xf4\x8f\xbf\xbf",
    "\xf4\x90\x80\x80",
    "\xed\xa0\x80",
    "\xc0\xaf",
    "\x80",
    "\xff",
    "\xe6\xb0",
    "\xcc",
    "\xef\xbf\xbd",
    "\xe2\x80\x8f",
    "\xce\xa3",
};

int main(int argc, char **argv) {
  uint64_t rounds = argc > 1 ? strtoull(argv[1], NULL, 10) : 2000;
  uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
  printf("seed %llu, %llu rounds\n", (unsigned long long)seed, (unsigned long long)rounds);
  fflush(stdout);
  for (uint64_t r = 0; r < rounds; r++) {
    state = seed * 1000003 + r;
    size_t limit = r % 64 == 63 ? 60000 : (size_t)1 << (next() % 11), size = 0;
    uint8_t *data = malloc(limit + 16);
    if (!data) return 1;
    uint64_t narrow = 1 + next() % (sizeof pieces / sizeof pieces[0]); /* few kinds of pieces make long runs */
    uint64_t shift = next();
    while (size < limit) {
      const char *p = pieces[(next() % narrow + shift) % (sizeof pieces / sizeof pieces[0])];
      size_t n = strlen(p);
      memcpy(data + size, p, n);
      size += n;
    }
    for (uint64_t damage = next() % 4; damage && size; damage--) data[next() % size] = (uint8_t)next();
    uint8_t *exact = malloc(size ? size : 1); /* so that the sanitizer sees the first byte beyond */
    if (!exact) return 1;
    memcpy(exact, data, size);
    LLVMFuzzerTestOneInput(exact, size);
    free(exact);
    free(data);
  }
  printf("1 passed, 0 failed\n");
  return 0;
}

#endif

/* Any bytes through the tokenizer, both embedders and the pieces of the sentence encoder, and as floats through the
 * rotation, the four-bit codes and their bounds: no access out of bounds, no undefined behaviour, and the guarantees
 * for every text and every vector. With -fsanitize=fuzzer this is a libFuzzer target; with -DSTANDALONE it drives
 * itself: kernel_fuzz [rounds] [seed] [model] (the seed is printed; a failure repeats with it) */
#include "../../ffi/ame_kernel/ame_kernel.h"
#include "../../ffi/ame_kernel/text/partners.h"
#include "encode_model.h"

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

static void count(void *ctx, uint32_t hash, ame_form form, const uint8_t *term, size_t bytes) {
  tally *t = ctx;
  require(bytes > 0 && bytes <= 64, "a term has 1 to 64 bytes");
  for (size_t i = 0; i < bytes; i++)
    require(term[i] > ' ' && term[i] != 0x7f && !(term[i] >= 'A' && term[i] <= 'Z'), "a term is folded");
  t->tokens++;
  t->bytes += bytes;
  t->hash = t->hash * 31 + hash;
}

static void count_edit(void *ctx, uint32_t hash, const uint8_t *term, size_t bytes, const uint8_t *word, size_t n) {
  (void)word;
  require(n > 0 && n <= 64, "an edit has 1 to 64 bytes");
  count(ctx, hash, AME_FORM_OWN, term, bytes);
}

static uint32_t count_word(void *ctx, const ame_word *w) {
  tally edits = {0, 0, 0};
  count(ctx, w->hash, AME_FORM_OWN, w->term, w->term_bytes);
  require(w->from < w->to && w->word_bytes > 0 && w->word_bytes <= 64, "a word is somewhere");
  if (w->hash % 16 == 0) {
    uint32_t n = ame_kernel_table()->term_edits(w->word, w->word_bytes, count_edit, &edits);
    require(n == edits.tokens && n < 4096, "as many edits as said");
  }
  return 0;
}

#define FUZZ_DIM  100
#define FUZZ_ROWS 32

/* Floats from bytes: any finite ones, or ones of like size, where codes matter more. */
static void floats_of(const uint8_t *data, size_t count, int alike, float *out) {
  for (size_t i = 0; i < count; i++) {
    uint32_t bits;
    memcpy(&bits, data + 4 * i, sizeof bits);
    uint32_t exponent = bits >> 23 & 255;
    exponent = alike ? 120 + exponent % 8 : exponent == 255 ? 254 : exponent;
    bits = (bits & 0x807fffffu) | exponent << 23;
    memcpy(out + i, &bits, sizeof bits);
  }
}

typedef struct screened {
  uint8_t codes[FUZZ_ROWS * AME_I4_BYTES(FUZZ_DIM)], blocks[FUZZ_ROWS / AME_BLOCK_ROWS * AME_BLOCK_BYTES(FUZZ_DIM)];
  ame_i4_info info[FUZZ_ROWS];
  uint16_t survivors[FUZZ_ROWS / AME_BLOCK_ROWS];
  float middle[FUZZ_ROWS], half[FUZZ_ROWS], decoded[FUZZ_DIM];
} screened;

/* All rows through one path; two blocks, whose last rows may be zero. */
static void screen_rows(const ame_kernel *k, const float *q, const float *rows, size_t n, size_t dim, float threshold,
                        screened *s) {
  memset(s, 0, sizeof *s);
  size_t bytes = AME_I4_BYTES(dim);
  k->quantize_i4(rows, n, dim, s->codes, s->info);
  for (size_t i = 0; i < FUZZ_ROWS; i++) {
    uint8_t *at = s->blocks + i / AME_BLOCK_ROWS * AME_BLOCK_BYTES(dim) + i % AME_BLOCK_ROWS * 4;
    const float columns[5] = {s->info[i].scale, s->info[i].offset, s->info[i].err, i < n ? s->info[i].norm : 1, 0};
    for (size_t g = 0; g < bytes / 4; g++) memcpy(at + 64 * g, s->codes + i * bytes + 4 * g, 4);
    for (size_t c = 0; c < 5; c++) memcpy(at + 16 * bytes + 64 * c, &columns[c], 4);
  }
  int8_t codes[AME_CODE_STRIDE(FUZZ_DIM)];
  ame_code_info info;
  k->quantize_i8(q, 1, dim, codes, &info);
  ame_i4_query question = {codes, 0, info.scale, info.norm, 0, 0, 0x1p-21f, info.norm};
  double norm = 0;
  for (size_t j = 0; j < dim; j++) {
    question.sum += codes[j];
    norm += (double)q[j] * q[j];
  }
  double each = ((double)info.err + sqrt(norm) * (1 + 0x1p-30) * (double)dim * 0x1p-22) * (1 + 0x1p-18);
  question.per_err = question.per_norm = nextafterf((float)each, INFINITY);
  k->screen_i4(&question, s->blocks, FUZZ_ROWS / AME_BLOCK_ROWS, 0, dim, threshold, s->survivors, s->middle, s->half);
  if (n) k->dequantize_i4(s->codes, s->info, dim, s->decoded);
}

static void fuzz_vectors(const uint8_t *data, size_t size) {
  static float values[(FUZZ_ROWS + 1) * FUZZ_DIM];
  static screened all, some, truth;
  if (size < 2) return;
  size_t dim = 1 + data[0] % FUZZ_DIM, n = (size - 2) / 4 / dim;
  if (n < 2) return;
  n = n - 1 < FUZZ_ROWS ? n - 1 : FUZZ_ROWS;
  floats_of(data + 2, (n + 1) * dim, data[1] & 1, values);
  const ame_kernel *k = ame_kernel_table();
  const float *q = values, *rows = values + dim;
  const char *best = ame_isa_active();
  float largest = 0, threshold = 0;
  for (size_t j = 0; j < dim; j++) largest = fabsf(q[j]) > largest ? fabsf(q[j]) : largest;
  int asked = largest >= 0x1p-49f && largest <= 0x1p46f; /* then the length is in range, and screening is allowed */
  for (uint32_t p = 0; p < ame_isa_count(); p++) {
    if (ame_isa_force(ame_isa_name(p))) continue;
    screen_rows(k, q, rows, n, dim, -INFINITY, p ? &some : &all);
    require(p == 0 || !asked || memcmp(&some, &all, sizeof all) == 0, "bounds are the same on every path");
    require(memcmp(p ? some.codes : all.codes, all.codes, sizeof all.codes) == 0, "codes are the same on every path");
    if (p == 0) threshold = all.middle[data[1] / 2 % n] + all.half[data[1] / 2 % n];
    screen_rows(k, q, rows, n, dim, threshold, p ? &some : &truth);
    require(p == 0 || !asked || memcmp(&some, &truth, sizeof truth) == 0, "survivors are the same on every path");
  }
  ame_isa_force(best);
  for (size_t i = 0; i < n; i++) {
    long double sum = 0;
    for (size_t j = 0; j < dim; j++) sum += (long double)q[j] * rows[i * dim + j];
    require(all.survivors[i / 16] >> i % 16 & 1, "everything survives minus infinity");
    if (asked && !isinf(all.half[i])) {
      require(sum >= (long double)all.middle[i] - all.half[i] && sum <= (long double)all.middle[i] + all.half[i],
              "an inner product is within its bound");
      require(sum < threshold || truth.survivors[i / 16] >> i % 16 & 1, "what reaches the threshold survives");
    }
  }
}

/* Rows of like size turned on every path: the same bits, and lengths as before. */
static void fuzz_rotation(const uint8_t *data, size_t size) {
  static float rows[FUZZ_ROWS * FUZZ_DIM], turned[FUZZ_ROWS * FUZZ_DIM], truth[FUZZ_ROWS * FUZZ_DIM];
  if (size < 1) return;
  size_t dim = 1 + data[0] % FUZZ_DIM, n = (size - 1) / 4 / dim;
  n = n < FUZZ_ROWS ? n : FUZZ_ROWS;
  floats_of(data + 1, n * dim, 1, rows);
  const char *best = ame_isa_active();
  for (uint32_t p = 0; p < ame_isa_count(); p++) {
    if (ame_isa_force(ame_isa_name(p))) continue;
    float *out = p ? turned : truth;
    memcpy(out, rows, n * dim * sizeof(float));
    ame_kernel_table()->rotate(out, n, dim);
    require(memcmp(out, truth, n * dim * sizeof(float)) == 0, "a rotation is the same on every path");
  }
  ame_isa_force(best);
  for (size_t i = 0; i < n; i++) {
    double before = 0, after = 0;
    for (size_t j = i * dim; j < (i + 1) * dim; j++) {
      before += (double)rows[j] * rows[j];
      after += (double)truth[j] * truth[j];
    }
    require(fabs(before - after) <= before * 0x1p-18, "a rotation keeps lengths");
  }
}

static void given(void *ctx, uint32_t hash, const uint8_t *term, size_t term_bytes, const uint8_t *word,
                  size_t word_bytes) {
  require(term_bytes > 0 && term_bytes <= 64 && word_bytes <= 64, "a partner has 1 to 64 bytes");
  tally *t = ctx;
  t->tokens++;
  t->bytes += term_bytes;
  t->hash = t->hash * 31 + hash + term[term_bytes - 1] + (word_bytes > 0 ? word[word_bytes - 1] : 0);
}

static void look_up(void *ctx, uint32_t hash, ame_form form, const uint8_t *term, size_t bytes) {
  (void)form;
  (void)hash;
  for (uint32_t kind = 0; kind < 3; kind++) {
    tally t = {0, 0, 0};
    uint32_t count = ame_kernel_table()->term_partners(kind, term, bytes, given, &t);
    require(count == 0 ? t.tokens == 0 : count == t.tokens + 1, "partners are counted");
    *(uint64_t *)ctx += t.tokens;
  }
}

/* The bytes as a term, their tokens as terms, and the bytes as a table. */
static void fuzz_partners(const uint8_t *data, size_t size) {
  tally t = {0, 0, 0};
  uint64_t found = 0;
  look_up(&found, 0, AME_FORM_OWN, data, size);
  ame_tokenize(data, size, look_up, &found);
  size_t term = size < 3 ? size : 3;
  require(text_partners(data + term, size - term, data, term, given, &t) <= AME_PARTNERS_MOST + 1, "partners are few");
}

static encoder_model encoder; /* without one, its pieces are not tried */

static void fuzz_pieces(const uint8_t *data, size_t size) {
  encoder_tokens once, twice;
  if (!encoder.nodes) return;
  encoder_tokenize(&encoder, data, size, &once);
  encoder_tokenize(&encoder, data, size, &twice);
  require(once.count <= ENCODER_TOKENS && once.pieces <= once.count && once.unknown <= once.pieces,
          "pieces are counted");
  require(once.count == twice.count && memcmp(once.ids, twice.ids, once.count * sizeof once.ids[0]) == 0,
          "pieces are the same twice");
  for (uint32_t i = 0; i < once.count; i++) {
    require(once.ids[i] < ENCODER_PIECES, "a piece is one of the vocabulary");
    require(i == 0 || once.ids[i] || once.ids[i - 1], "unknown pieces in a row are one");
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static float row[2048], again[2 * 2048];
  tally once = {0, 0, 0}, twice = {0, 0, 0}, words = {0, 0, 0};
  fuzz_vectors(data, size);
  fuzz_rotation(data, size);
  fuzz_partners(data, size);
  fuzz_pieces(data, size);
  ame_tokenize(data, size, count, &once);
  ame_tokenize(data, size, count, &twice);
  require(once.tokens == twice.tokens && once.bytes == twice.bytes && once.hash == twice.hash,
          "tokens are the same twice");
  require(once.tokens <= 2 * size + 1, "at most two tokens a byte");
  ame_kernel_table()->token_words(data, size, count_word, &words);
  require(words.tokens == once.tokens && words.bytes == once.bytes && words.hash == once.hash,
          "the same tokens with their words");
  uint64_t end = size;
  uint8_t *both = malloc(2 * size + 1); /* the text, and itself once more: now its words are known */
  require(both != NULL, "memory");
  if (size) memcpy(both, data, size);
  if (size) memcpy(both + size, data, size);
  const uint64_t ends[2] = {size, 2 * size};
  for (uint32_t model = 0; model < 2; model++) {
    for (uint32_t role = 0; role < 2; role++) {
      uint32_t dim = ame_embed_dim(model);
      require(ame_embed(model, role, data, &end, 1, row) == 0 && ame_embed(model, role, both, ends, 2, again) == 0,
              "embed");
      require(memcmp(row, again, dim * sizeof(float)) == 0, "a vector is the same twice");
      require(memcmp(row, again + dim, dim * sizeof(float)) == 0, "a vector does not depend on the text before");
      double square = 0;
      for (uint32_t i = 0; i < dim; i++) square += (double)row[i] * row[i];
      require(square == 0 || fabs(sqrt(square) - 1) < 1e-5, "unit length or zero"); /* a scale has 17 bits */
      require(square == 0 || once.tokens > 0, "no tokens, no vector");
    }
  }
  free(both);
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
    "\xe1\x84\x92",
    "\xe1\x85\xa1",
    "\xe1\x86\xab",
    "\xed\x95\x98",
    "\xe3\x81\x8b",
    "\xe3\x81\xaf",
    "\xe3\x82\x99",
    "\xe3\x82\x9a",
    "\xef\xbd\xb6",
    "\xef\xbe\x9e",
    "\xef\xbe\x9f",
    "\xef\xac\x83",
    "\xef\xbb\xbb",
    "\xef\xb7\xb2",
    "\xef\xb7\xba",
    "\xef\xb9\xb6",
    "\xe0\xb8\xb3",
    "\xe0\xa7\x8b",
    "\xe0\xb7\x9d",
    "\xf0\x9d\x90\x80",
    "\xf0\x9d\x9f\x98",
    "\xe2\x85\xa7",
    "\xef\xa4\x80",
    "\xc4\x8c",
};

int main(int argc, char **argv) {
  uint64_t rounds = argc > 1 ? strtoull(argv[1], NULL, 10) : 2000;
  uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
  size_t model_bytes = 0;
  uint8_t *model = model_read(argc > 3 ? argv[3] : NULL, &model_bytes);
  if (model && ame_encoder_check(model, model_bytes)) return 1;
  if (model) encoder_open(model, &encoder);
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
  free(model);
  printf("1 passed, 0 failed\n");
  return 0;
}

#endif

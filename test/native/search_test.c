/* Queries of the runtime against naive answers: exact and probed search, filters, BM25, and damaged bytes. Arguments: a
 * seed or -, then `few` for a third of the shapes and rounds. */
#include <float.h>
#include "../../ffi/ty_runtime/os/numbers.h"
#include "search_fixture.h"

#include <inttypes.h>
#include <stdio.h>

#include "check.h"

static bool few;
static bool taken(uint64_t seed) { return !few || test_random(&seed) % 3 == 0; }

static uint8_t *out;
#define OUT_BYTES (64u << 20)

/* ---- Exact search ---- */

/* The score that ranks: the kernel's f32 inner product; where that overflows, the exact one cut to the range of a
 * float. */
static double kernel_score(const fixture *f, const float *query, const float *row) {
  float score;
  f->env.kernel->dot_f32(query, row, 1, f->c.dim, &score);
  if (isfinite(score)) return (double)score;
  double sum = 0;
  for (uint32_t i = 0; i < f->c.dim; i++) sum += (double)query[i] * (double)row[i];
  return sum > FLT_MAX ? FLT_MAX : sum < -FLT_MAX ? -FLT_MAX : (double)(float)sum;
}

typedef struct naive {
  uint64_t row;
  double score;
} naive;

static int by_score_then_row(const void *a, const void *b) {
  const naive *x = a, *y = b;
  if (x->score != y->score) return x->score > y->score ? -1 : 1;
  return x->row < y->row ? -1 : x->row > y->row;
}

static bool matches(const model_row *r, uint64_t column, uint32_t code) {
  return !r->dead && (column == TY_NO_FILTER || r->keys[column] == code);
}

static uint64_t naive_search(const fixture *f, const float *query, uint64_t column, uint32_t code, naive *best) {
  uint64_t n = 0;
  for (uint64_t i = 0; i < f->count; i++) {
    if (!matches(&f->rows[i], column, code)) continue;
    best[n++] = (naive){f->rows[i].row, kernel_score(f, query, f->rows[i].vector)};
  }
  qsort(best, (size_t)n, sizeof *best, by_score_then_row);
  return n;
}

static ty_ask_args search_args(const float *query, uint64_t k, uint64_t column, const char *key, double recall) {
  return (ty_ask_args){.by = TY_BY_VECTOR,
                       .vector = query,
                       .top_k = k,
                       .column = column,
                       .key = (const uint8_t *)key,
                       .key_bytes = key != NULL ? strlen(key) : 0,
                       .target_recall = recall,
                       .out = out,
                       .out_capacity = OUT_BYTES};
}

static uint64_t record_bytes(const ty_record *r) {
  return sizeof *r + ((r->id_bytes + 7ull) & ~7ull) + r->vector_bytes + ((r->extra_bytes + 7ull) & ~7ull);
}

static bool same_answer(const naive *want, uint64_t wanted, uint64_t got, double tolerance) {
  if (got != wanted) return false;
  const uint8_t *at = out;
  for (uint64_t i = 0; i < got; i++) {
    ty_record r;
    memcpy(&r, at, sizeof r);
    if (r.row != want[i].row || fabs(r.score - want[i].score) > tolerance * fabs(want[i].score)) return false;
    at += record_bytes(&r);
  }
  return true;
}

/* Kinds of vectors, each made to test the bound in another way. */
enum { RANDOM, ALL_EQUAL, ZERO, HUGE_VALUES, TINY, DENORMAL, ONE_HOT, MIXED, NEAR_TIES, INTEGERS, KINDS };

static void make_vector(float *v, uint32_t dim, int kind, uint64_t *seed) {
  for (uint32_t i = 0; i < dim; i++) v[i] = (float)test_normal(seed);
  switch (kind) {
  case ALL_EQUAL:
    for (uint32_t i = 0; i < dim; i++) v[i] = 0.25f;
    break;
  case ZERO:
    if (test_random(seed) % 4 != 0) memset(v, 0, dim * 4ul);
    break;
  case HUGE_VALUES:
    for (uint32_t i = 0; i < dim; i++) v[i] *= test_random(seed) % 2 == 0 ? 1e30f : 1e37f;
    break;
  case TINY:
    for (uint32_t i = 0; i < dim; i++) v[i] *= 1e-25f;
    break;
  case DENORMAL:
    for (uint32_t i = 0; i < dim; i++) v[i] *= 1e-42f;
    break;
  case ONE_HOT: {
    uint64_t hot = test_random(seed) % dim;
    for (uint32_t i = 0; i < dim; i++) v[i] = i == hot ? 3 : 0;
    break;
  }
  case MIXED: {
    float s = powf(10, (float)(test_random(seed) % 60) - 30);
    for (uint32_t i = 0; i < dim; i++) v[i] *= s;
    break;
  }
  case NEAR_TIES:
    for (uint32_t i = 0; i < dim; i++) v[i] = 1 + (test_random(seed) % 8 == 0 ? 1.2e-7f : 0);
    break;
  case INTEGERS:
    for (uint32_t i = 0; i < dim; i++) v[i] = (float)(int)(test_random(seed) % 3) - 1;
    break;
  default: break;
  }
}

static fixture *random_fixture(uint32_t dim, uint64_t base, uint64_t delta, int kind, uint64_t *seed,
                               float **vectors_out) {
  uint64_t n = base + delta;
  float *vectors = malloc((size_t)(n + 1) * dim * 4);
  model_row *rows = calloc(n + 1, sizeof *rows);
  for (uint64_t i = 0; i < n; i++) {
    make_vector(vectors + i * dim, dim, kind, seed);
    rows[i] = (model_row){.row = i + 5,
                          .keys = {1 + (uint32_t)(test_random(seed) % 4), 1 + (uint32_t)(test_random(seed) % 7)},
                          .dead = test_random(seed) % 9 == 0,
                          .vector = vectors + i * dim};
  }
  fixture *f = fixture_make(dim, rows, base, delta);
  free(rows);
  *vectors_out = vectors;
  return f;
}

static void test_exact(uint64_t seed, uint32_t dim, uint64_t base, uint64_t delta, int kind) {
  float *vectors, *query = malloc(dim * 4ul);
  fixture *f = random_fixture(dim, base, delta, kind, &seed, &vectors);
  naive *want = malloc((size_t)(f->count + 1) * sizeof *want);
  const uint64_t ks[] = {1, 2, 10, 100, f->count, f->count + 7};
  for (int q = 0; q < 3; q++) {
    make_vector(query, dim, q == 2 ? RANDOM : kind, &seed);
    for (int filter = 0; filter < 3; filter++) {
      uint64_t column = filter == 0 ? TY_NO_FILTER : (uint64_t)filter - 1;
      uint32_t code = 1 + (uint32_t)(test_random(&seed) % 8);
      char key[3] = {'k', (char)('0' + code), 0};
      uint64_t all = naive_search(f, query, column, code, want);
      for (size_t i = 0; i < sizeof ks / sizeof *ks; i++) {
        if (ks[i] == 0) continue;
        ty_error err;
        ty_ask_args args = search_args(query, ks[i], column, filter == 0 ? NULL : key, 1);
        bool right = ty_ask_entered(&f->c, &args, &err) == TY_OK &&
                     same_answer(want, all < ks[i] ? all : ks[i], args.out_count, 0);
        CHECK(right && args.probed_lists == 0 && args.scored_rows <= f->count);
        if (!right)
          fprintf(stderr, "exact: dim %u kind %d k %" PRIu64 " filter %d query %d\n", (unsigned)dim, kind, ks[i],
                  filter, q);
      }
    }
  }
  free(want);
  free(query);
  fixture_free(f);
  free(vectors);
}

static void test_arguments(void) {
  uint64_t seed = 3;
  float *vectors, query[4] = {1, 2, 3, 4};
  fixture *f = random_fixture(4, 20, 5, RANDOM, &seed, &vectors);
  ty_error err;
  ty_ask_args args = search_args(query, 0, TY_NO_FILTER, NULL, 1);
  CHECK(ty_ask_entered(&f->c, &args, &err) == TY_INVALID);
  args = search_args(query, 1, 2, "k1", 1);
  CHECK(ty_ask_entered(&f->c, &args, &err) == TY_INVALID);
  args = search_args(query, 1, TY_NO_FILTER, NULL, NAN);
  CHECK(ty_ask_entered(&f->c, &args, &err) == TY_INVALID);
  args = search_args(query, 5, 1, "", 1); /* the empty key never matches */
  CHECK(ty_ask_entered(&f->c, &args, &err) == TY_OK && args.out_count == 0);
  args = search_args(query, 5, 1, "unknown", 1);
  CHECK(ty_ask_entered(&f->c, &args, &err) == TY_OK && args.out_count == 0);
  args = search_args(query, 5, TY_NO_FILTER, NULL, 1);
  args.out_capacity = 16;
  CHECK(ty_ask_entered(&f->c, &args, &err) == TY_BUFFER && args.out_bytes > 16);
  query[2] = NAN;
  args = search_args(query, 1, TY_NO_FILTER, NULL, 1);
  CHECK(ty_ask_entered(&f->c, &args, &err) == TY_INVALID);
  query[2] = 3;
  const uint64_t no_ranking[] = {0, 4, UINT64_MAX};
  for (int i = 0; i < 3; i++) {
    args = search_args(query, 1, TY_NO_FILTER, NULL, 1);
    args.by = no_ranking[i];
    CHECK(ty_ask_entered(&f->c, &args, &err) == TY_INVALID);
  }
  const uint64_t wrong_model[] = {AME_MODEL_BIGRAM, 77, UINT64_MAX}; /* none of four dimensions */
  for (int i = 0; i < 3; i++) {
    args = search_args(NULL, 1, TY_NO_FILTER, NULL, 1);
    args.model = wrong_model[i];
    CHECK(ty_ask_entered(&f->c, &args, &err) == TY_INVALID);
  }
  args = search_args(query, 1, TY_NO_FILTER, NULL, 1);
  args.text_bytes = 5;
  CHECK(ty_ask_entered(&f->c, &args, &err) == TY_INVALID);
  args = search_args(query, 1, TY_NO_FILTER, NULL, 1);
  args.dense_weight = NAN;
  CHECK(ty_ask_entered(&f->c, &args, &err) == TY_INVALID);
  args = search_args(query, 1, TY_NO_FILTER, NULL, 1);
  args.under_column = 2;
  args.under = (const uint8_t *)"k1";
  args.under_bytes = 2;
  CHECK(ty_ask_entered(&f->c, &args, &err) == TY_INVALID);
  args = search_args(query, 1, TY_NO_FILTER, NULL, 1);
  args.by = TY_BY_BOTH; /* without an index by words: by vector */
  CHECK(ty_ask_entered(&f->c, &args, &err) == TY_OK && args.out_count == 1 && args.fused == 0);
  CHECK(f->c.searches == 4);
  fixture_free(f);
  free(vectors);
}

#include "search_ivf.h"
#include "search_signs.h"
#include "search_runs.h"

/* ---- BM25 ---- */

#define WORDS 60u
/* Some are Vietnamese: three of one form without tones and that form itself. No text has those from WORDS on, of which
 * one has a form that texts have. Near none of the others is one of four letters: unknown_test.c has misspelt words. */
static void word(char *to, uint64_t i) {
  static const char *const toned[] = {"phở", "phố", "pho", "bưởi"};
  if (i >= 30 && i < 34) strcpy(to, toned[i - 30]);
  else if (i == WORDS + 1) strcpy(to, "phổ");
  else sprintf(to, "%c%cq", (char)('x' + i / 26), (char)('a' + i % 26));
}

/* `longer` times as many words as usual, which moves the mean length. */
static char *make_text(uint64_t *seed, uint64_t longer) {
  uint64_t n = test_random(seed) % 12 == 0 ? 0 : (1 + test_random(seed) % 40) * longer, again = 0;
  if (test_random(seed) % 150 == 0) again = 50 + test_random(seed) % 5000; /* one word over and over: a large tf */
  char *text = calloc((n + again) * 8 + 1, 1), *at = text;
  for (uint64_t i = 0; i < n + again; i++) {
    uint64_t w = i < n ? (uint64_t)(test_unit(seed) * test_unit(seed) * WORDS) : 3;
    word(at, w);
    at += strlen(at);
    *at++ = ' ';
  }
  *at = 0;
  return text;
}

#define KINDS_MOST 80u
typedef struct counter {
  uint32_t hashes[KINDS_MOST], tfs[KINDS_MOST], kinds, length, last;
  float worth[KINDS_MOST];
  uint32_t toned[KINDS_MOST]; /* of a form without tones: the number of the first word with them, from 1 */
} counter;

static void collect(void *context, uint32_t hash, ame_form form, const uint8_t *term, size_t bytes) {
  counter *c = context;
  uint32_t before = c->last;
  c->length++;
  for (uint32_t i = 0; i < c->kinds; i++) {
    if (c->hashes[i] == hash) {
      c->tfs[i]++;
      c->last = i;
      if (form == AME_FORM_OWN) c->toned[i] = 0;
      return;
    }
  }
  if (c->kinds == KINDS_MOST) abort();
  c->last = c->kinds;
  c->toned[c->kinds] = form == AME_FORM_BARE ? before + 1 : 0;
  c->worth[c->kinds] = ame_kernel_table()->term_worth(term, bytes);
  c->hashes[c->kinds] = hash, c->tfs[c->kinds++] = 1;
}

static uint32_t tf_of(const counter *c, uint32_t hash) {
  for (uint32_t i = 0; i < c->kinds; i++) {
    if (c->hashes[i] == hash) return c->tfs[i];
  }
  return 0;
}

/* Long rows have a mean of their own: the length that rows are compared with is the harmonic mean of both means, each
 * as often as it has rows. */
typedef struct mean_of {
  double rows, tokens;
} mean_of;

static double length_of(double live, mean_of some, mean_of many) {
  if (many.rows == 0) return some.tokens == 0 ? 1 : some.tokens / live;
  double inverse = some.rows == 0 ? 0 : some.rows / (some.tokens / some.rows);
  return (some.rows + many.rows) / (inverse + many.rows / (many.tokens / many.rows));
}

/* Straight from the texts, for every live row and term: the whole numbers that are added up, in the order of the
 * question. Under a filter on the first column only the rows that match it are looked at. */
static uint64_t naive_bm25(const fixture *f, const char *query, double k1, double b, uint64_t column, uint32_t code,
                           naive *best) {
  const ame_kernel *k = f->env.kernel;
  counter terms = {0}, *rows = calloc(f->count + 1, sizeof *rows);
  mean_of some = {0}, many = {0};
  double live = 0, idf[KINDS_MOST], dfs[KINDS_MOST], all = 0;
  float weight[KINDS_MOST];
  k->tokenize((const uint8_t *)query, strlen(query), collect, &terms);
  for (uint64_t i = 0; i < f->count; i++) {
    const model_row *r = &f->rows[i];
    if (r->dead || (column == 0 && r->keys[0] != code)) continue;
    if (r->text != NULL) k->tokenize((const uint8_t *)r->text, strlen(r->text), collect, &rows[i]);
    mean_of *m = rows[i].length > 220 ? &many : &some;
    m->tokens += rows[i].length, m->rows += rows[i].length > 0, live++;
  }
  double mean = length_of(live, some, many);
  for (uint32_t t = 0; t < terms.kinds; t++) {
    double df = 0;
    for (uint64_t i = 0; i < f->count; i++) df += tf_of(&rows[i], terms.hashes[t]) != 0;
    idf[t] = ty_ln(1 + (live - df + 0.5) / (df + 0.5));
    dfs[t] = df;
    double said = terms.tfs[t] * 6.0 / (terms.tfs[t] + 5.0);
    double share = terms.toned[t] > 0 && dfs[terms.toned[t] - 1] > 0 ? 0.1 : 1;
    weight[t] = df == 0 ? 0 : (float)(idf[t] * said * (double)terms.worth[t] * share * (k1 + 1));
    all += (double)weight[t];
  }
  int scale = 0; /* the largest that leaves the sum of all weights below 2^30 */
  for (; all > 0 && ldexp(all, scale + 1) < 0x1p30; scale++) continue;
  for (; all > 0 && ldexp(all, scale) >= 0x1p30; scale--) continue;
  float fixed = (float)(k1 * (1 - b)), slope = (float)(k1 * b / mean);
  uint64_t n = 0;
  for (uint64_t i = 0; i < f->count; i++) {
    uint64_t sum = 0;
    for (uint32_t t = 0; t < terms.kinds; t++) {
      uint32_t count = tf_of(&rows[i], terms.hashes[t]);
      if (count == 0) continue;
      float tf = (float)count, product = slope * (float)rows[i].length, norm = fixed + product;
      float above = ldexpf(weight[t], scale) * tf, below = tf + norm, part = above / below, rounded = part + 0.5f;
      sum += rounded < 1 ? 1 : (uint64_t)rounded;
    }
    if (sum > 0 && matches(&f->rows[i], column, code)) best[n++] = (naive){f->rows[i].row, ldexp((double)sum, -scale)};
  }
  qsort(best, (size_t)n, sizeof *best, by_score_then_row);
  free(rows);
  return n;
}

static ty_ask_args lexical_args(const char *query, uint64_t k) {
  return (ty_ask_args){.by = TY_BY_WORDS,
                       .text = (const uint8_t *)query,
                       .text_bytes = strlen(query),
                       .top_k = k,
                       .column = TY_NO_FILTER,
                       .out = out,
                       .out_capacity = OUT_BYTES};
}

/* Partitions of one row of the base, and of rows of the delta only. */
#define ALONE "k5"
#define LATE  "k6"

static void check_bm25(fixture *f, const char *query, double k1, double b, naive *want) {
  static const struct {
    uint64_t column;
    const char *key;
  } filters[] = {{TY_NO_FILTER, ""}, {1, "k2"}, {0, "k2"}, {0, "k1"}, {0, ALONE}, {0, LATE}, {0, "k8"}};
  for (size_t filter = 0; filter < sizeof filters / sizeof *filters; filter++) {
    uint64_t column = filters[filter].column;
    const char *key = filters[filter].key;
    uint64_t all = naive_bm25(f, query, k1, b, column, filter == 0 ? 0 : (uint32_t)(key[1] - '0'), want);
    const uint64_t ks[] = {1, 30, f->count + 1, 2, 5, 605};
    for (int i = 0; i < (filter < 3 ? 6 : 3); i++) {
      uint64_t k = ks[i];
      ty_error err = {0};
      ty_ask_args args = lexical_args(query, k);
      args.column = column;
      args.key = (const uint8_t *)key;
      args.key_bytes = strlen(key);
      uint64_t wanted = all < k ? all : k;
      CHECK_MESSAGE(ty_ask_entered(&f->c, &args, &err) == TY_OK, "%s", err.message);
      CHECK_MESSAGE(same_answer(want, wanted, args.out_count, 0), "bm25: %s filter %zu k %" PRIu64, query, filter, k);
    }
  }
}

/* Gives the foot of a lexical index the checksum that fits. */
static void mend_lexical(const uint8_t *head, uint8_t *foot) {
  const ame_kernel *k = ame_kernel_table();
  size_t at = offsetof(ty_lexical_foot, crc);
  uint32_t crc = k->crc32c(k->crc32c(0, head, sizeof(ty_lexical_head)), foot, at);
  memcpy(foot + at, &crc, sizeof crc);
}

static bool open_lexical(fixture *f, const ty_buffer *bytes, ty_lexical **x) {
  ty_error err = {0};
  ty_intact whole = {.data = bytes->data, .bytes = bytes->bytes};
  return ty_lexical_open(&f->c, &f->c.base, &whole, x, &err) == TY_OK;
}

#define ASKED 20u

/* A question to a damaged index, by words. */
static ty_ask_args damage_args(char query[40], uint64_t w) {
  word(query, w);
  if (w % 3 == 2) strcat(query, " xaq yaq ybq");
  ty_ask_args args = lexical_args(query, w % 2 == 0 ? 10 : 5000);
  args.what = w % 4 == 0 ? TY_WITH_EXPLAIN : 0;
  return args;
}

/* Bits flipped anywhere, and files cut: by words the answers are those of the whole index, made of the texts where it
 * is not used; by both they are those, or by vector and say so. */
static void damage_lexical(fixture *f, ty_buffer *bytes, uint64_t *seed) {
  ty_lexical *good = f->c.lexical_index;
  ty_buffer truth[ASKED] = {0}, both[ASKED] = {0};
  ty_error err = {0};
  char query[40];
  double k1, b, got_k1, got_b;
  uint64_t terms, blocks = ty_sum_blocks(bytes->bytes), missed = 0;
  uint32_t *sums = malloc(blocks * sizeof *sums);
  float vector = 1;
  for (uint64_t i = 0; i < blocks; i++) {
    uint64_t at = i * TY_SUM_BLOCK, n = bytes->bytes - at < TY_SUM_BLOCK ? bytes->bytes - at : TY_SUM_BLOCK;
    sums[i] = f->env.kernel->crc32c(0, bytes->data + at, n);
  }
  ty_lexical_parameters(good, &k1, &b, &terms);
  for (uint64_t w = 0; w < ASKED; w++) {
    ty_ask_args args = damage_args(query, w);
    CHECK(ty_ask_entered(&f->c, &args, &err) == TY_OK && args.trouble == 0);
    ty_buffer_append(&truth[w], out, args.out_bytes);
    args.by = TY_BY_BOTH;
    args.vector = &vector;
    CHECK(ty_ask_entered(&f->c, &args, &err) == TY_OK && args.trouble == 0 && args.fused == 1);
    ty_buffer_append(&both[w], out, args.out_bytes);
  }
  for (int i = 0; i < 300; i++) {
    uint64_t ends = i % 6 == 0 ? 64 : bytes->bytes, at = test_random(seed) % ends;
    if (i % 6 == 3)
      at = bytes->bytes - 1 - test_random(seed) % (bytes->bytes < 4096 ? bytes->bytes : 4096); /* dictionary and foot */
    uint8_t flip = (uint8_t)(1u << test_random(seed) % 8);
    bytes->data[at] ^= flip;
    ty_lexical *damaged = NULL;
    ty_damage_list *list = ty_damage_list_new();
    ty_intact part = {.data = bytes->data,
                      .bytes = i % 10 == 9 ? test_random(seed) % bytes->bytes : bytes->bytes,
                      .sums = sums,
                      .damages = list,
                      .kernel = f->env.kernel};
    CHECK(ty_intact_open(&part, &err) == TY_OK);
    CHECK(ty_lexical_open(&f->c, &f->c.base, &part, &damaged, &err) == TY_OK && damaged != NULL);
    if (damaged == NULL) break;
    f->c.lexical_index = damaged;
    ty_lexical_parameters(damaged, &got_k1, &got_b, &terms);
    bool known = got_k1 == k1 && got_b == b;
    for (uint64_t w = 0; w < ASKED; w++) {
      ty_ask_args args = damage_args(query, w);
      uint64_t turn = (w + (uint64_t)i) % 3; /* damage is found by either, and stays known */
      if (turn != 0) {
        CHECK_MESSAGE(ty_ask_entered(&f->c, &args, &err) == TY_OK, "by words: %s", err.message);
        bool same = args.out_bytes == truth[w].bytes && memcmp(out, truth[w].data, args.out_bytes) == 0;
        CHECK(same || !known);
        CHECK(known || args.trouble == TY_TROUBLE_WORDS);
        CHECK(args.trouble == (ty_lexical_usable(damaged) ? 0 : TY_TROUBLE_WORDS));
      }
      if (turn == 1) continue;
      args.by = TY_BY_BOTH;
      args.vector = &vector;
      CHECK_MESSAGE(ty_ask_entered(&f->c, &args, &err) == TY_OK, "by both: %s", err.message);
      CHECK(args.out_count > 0 && args.fused == !args.trouble);
      CHECK(args.trouble || (args.out_bytes == both[w].bytes && memcmp(out, both[w].data, args.out_bytes) == 0));
    }
    missed += ty_lexical_usable(damaged);
    f->c.lexical_index = good;
    ty_lexical_free(f->c.env, damaged);
    ty_damage_list_free(list);
    bytes->data[at] ^= flip;
  }
  CHECK(missed < 300 / 10); /* in padding, or cut after it */
  for (uint64_t w = 0; w < ASKED; w++) {
    ty_buffer_free(&truth[w]);
    ty_buffer_free(&both[w]);
  }
  free(sums);
}

/* Of another way of tokenising, or nonsense: an index that says what is wrong, and k1 and b where they can be known. */
static void test_unusable(fixture *f, ty_buffer *bytes, double k1, double b) {
  static const struct {
    uint64_t at;
    uint8_t flip;
    bool mended; /* with a checksum that fits */
    ty_status status;
    bool known;
  } cases[] = {{offsetof(ty_lexical_head, version), 1, true, TY_UNBUILT, true},
               {offsetof(ty_lexical_head, version), 1, false, TY_INDEX, false},
               {offsetof(ty_lexical_head, reserved), 1, true, TY_INDEX, false},
               {offsetof(ty_lexical_head, built), 2, true, TY_INDEX, false},
               {offsetof(ty_lexical_head, b) + 7, 0x40, true, TY_INDEX, false}};
  ty_lexical *good = f->c.lexical_index;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    uint8_t *foot = bytes->data + bytes->bytes - sizeof(ty_lexical_foot), kept[sizeof(ty_lexical_foot)];
    memcpy(kept, foot, sizeof kept);
    bytes->data[cases[i].at] ^= cases[i].flip;
    if (cases[i].mended) mend_lexical(bytes->data, foot);
    ty_error err = {0};
    ty_lexical *x = NULL;
    double got_k1, got_b;
    uint64_t terms;
    bool known = cases[i].known;
    CHECK(open_lexical(f, bytes, &x) && !ty_lexical_usable(x));
    CHECK(ty_lexical_parameters(x, &got_k1, &got_b, &terms) && got_k1 == (known ? k1 : TY_LEXICAL_K1) &&
          got_b == (known ? b : TY_LEXICAL_B));
    CHECK(ty_lexical_refusal(x, &err) == cases[i].status && strstr(err.message, "cannot be read") != NULL);
    f->c.lexical_index = x;
    ty_ask_args args = lexical_args("xaq", 5);
    CHECK(ty_ask_entered(&f->c, &args, &err) == TY_OK && args.trouble == TY_TROUBLE_WORDS && args.out_count > 0);
    f->c.lexical_index = good;
    ty_lexical_free(f->c.env, x);
    bytes->data[cases[i].at] ^= cases[i].flip;
    memcpy(foot, kept, sizeof kept);
  }
}

/* A partition is answered as a collection that holds nothing else is, explanations too. */
static void check_alone(fixture *f, uint32_t code, double k1, double b) {
  model_row *live = calloc(f->count + 1, sizeof *live);
  uint64_t count = 0;
  for (uint64_t i = 0; i < f->count; i++) {
    if (!f->rows[i].dead && f->rows[i].keys[0] == code) live[count++] = f->rows[i];
  }
  fixture *g = fixture_make(1, live, count, 0);
  ty_span spans[16];
  ty_rebase r = fixture_rebase(g, spans);
  r.k1 = k1;
  r.b = b;
  ty_buffer bytes = {0};
  ty_error err = {0};
  CHECK(fixture_encode(&r, &bytes, &err) == TY_OK && open_lexical(g, &bytes, &g->c.lexical_index));
  char key[3] = {'k', (char)('0' + code), 0};
  for (uint64_t w = 0; w < WORDS; w += 7) {
    char query[64];
    word(query, w);
    strcat(query, " xaq nobodysaidthis xbq");
    ty_ask_args args = lexical_args(query, 40);
    args.what = TY_WITH_EXPLAIN;
    CHECK(ty_ask_entered(&g->c, &args, &err) == TY_OK);
    uint64_t alone_bytes = args.out_bytes;
    uint8_t *alone = malloc((size_t)alone_bytes + 1);
    memcpy(alone, out, (size_t)alone_bytes);
    args.column = 0;
    args.key = (const uint8_t *)key;
    args.key_bytes = 2;
    CHECK_MESSAGE(ty_ask_entered(&f->c, &args, &err) == TY_OK && args.out_bytes == alone_bytes &&
                      memcmp(alone, out, (size_t)alone_bytes) == 0,
                  "partition %u: %s", code, query);
    free(alone);
  }
  free(r.rows);
  fixture_free(g);
  ty_buffer_free(&bytes);
  free(live);
}

static void test_bm25(uint64_t seed, uint64_t base, uint64_t delta, uint64_t rounds, double k1, double b,
                      uint64_t run_memory) {
  uint64_t n = base + delta, arriving = delta > 100 ? delta / 2 : 20;
  float one = 1;
  model_row *rows = calloc(n, sizeof *rows);
  for (uint64_t i = 0; i < n; i++) {
    rows[i] = (model_row){.row = i,
                          .keys = {1 + (uint32_t)(test_random(&seed) % 4), 1 + (uint32_t)(test_random(&seed) % 3)},
                          .vector = &one,
                          .text = make_text(&seed, i < base ? 1 : 1 + seed % 4)};
    if (i >= base && i % 3 == 0) rows[i].keys[0] = 6;
  }
  rows[base / 2].keys[0] = 5;
  fixture *f = fixture_make(1, rows, base, delta);
  f->env.run_memory = f->env.run_chunk = run_memory;
  naive *want = malloc((size_t)(n + 1) * sizeof *want);
  ty_error err = {0};
  ty_ask_args args = lexical_args("xaq", 5);
  CHECK(ty_lexical_new(&f->c.lexical_index, &err) == TY_OK);
  CHECK(ty_ask_entered(&f->c, &args, &err) == TY_UNBUILT && strstr(err.message, "not built yet") != NULL);
  f->c.lexical = false;
  CHECK(ty_ask_entered(&f->c, &args, &err) == TY_NO_LEXICAL && strstr(err.message, "created without") != NULL);
  f->c.lexical = true;
  ty_lexical_free(f->c.env, f->c.lexical_index);

  /* Built over the base alone: the rebase is over positions, so the delta is hidden for the moment. */
  ty_segment later = f->c.delta;
  f->c.delta.count = f->c.delta.live = 0;
  f->count = base;
  ty_span spans[16];
  ty_rebase r = fixture_rebase(f, spans);
  r.want_lexical = true;
  r.k1 = k1;
  r.b = b;
  ty_buffer bytes = {0};
  ty_progress stop = {0, 0, 1};
  r.phases.progress = &stop;
  CHECK(fixture_encode(&r, &bytes, &err) == TY_CANCELLED);
  r.phases.progress = NULL;
  bytes.bytes = 0;
  CHECK(fixture_encode(&r, &bytes, &err) == TY_OK);
  CHECK(open_lexical(f, &bytes, &f->c.lexical_index));
  if (f->c.lexical_index == NULL) return;
  double got_k1, got_b;
  uint64_t terms;
  ty_lexical_parameters(f->c.lexical_index, &got_k1, &got_b, &terms);
  CHECK(got_k1 == k1 && got_b == b && (base < 100 || terms > 20));

  char query[128], w[8];
  check_bm25(f, "phở pho", k1, b, want); /* the form without tones is a word of the question as well */
  check_bm25(f, "pho phổ bưởi", k1, b, want);
  for (uint64_t round = 0; round < rounds; round++) {
    query[0] = 0;
    for (uint64_t i = 0; i < 1 + test_random(&seed) % 4; i++) {
      word(w, test_random(&seed) % (WORDS + 3));
      strcat(strcat(query, w), " ");
      if (test_random(&seed) % 3 == 0) strcat(strcat(query, w), " "); /* said twice, counts twice */
    }
    check_bm25(f, query, k1, b, want);
    if (round % 2 == 0 && f->count < n) { /* rows arrive, in order */
      uint64_t more = n - f->count < arriving ? n - f->count : arriving;
      f->c.delta.count += more;
      f->count += more;
      fixture_count(f); /* some died before they were removed */
      ty_lexical_added(f->c.lexical_index, f->c.delta.count - more);
    }
    for (int i = 0; i < 5; i++) fixture_kill(f, test_random(&seed) % f->count); /* some die twice */
    if (round == 15) { /* a change is undone: the last twenty rows are removed, a dead row is live again */
      f->c.delta.count -= 20;
      f->count -= 20;
      for (uint64_t i = 0; i < f->count; i++) {
        if (!f->rows[i].dead) continue;
        ty_segment *s = i < base ? &f->c.base : &f->c.delta;
        f->rows[i].dead = false;
        s->dead[i < base ? i : i - base] = 0;
        break;
      }
      fixture_count(f);
      ty_lexical_reset(f->c.lexical_index);
    }
  }
  /* What was kept up to date answers as a fresh index does, to the bit. */
  args = lexical_args("xaq xbq yaq", 50);
  args.what = TY_WITH_EXPLAIN;
  CHECK(ty_ask_entered(&f->c, &args, &err) == TY_OK && args.out_count > 0);
  uint64_t kept_bytes = args.out_bytes;
  uint8_t *kept = malloc((size_t)kept_bytes);
  memcpy(kept, out, (size_t)kept_bytes);
  ty_record first;
  ty_term share;
  memcpy(&first, out, sizeof first);
  double sum = 0;
  for (uint64_t at = sizeof first + 8, end = at + first.extra_bytes; at < end;
       at += sizeof share + ((share.term_bytes + 7ull) & ~7ull)) {
    memcpy(&share, out + at, sizeof share);
    sum += share.share;
  }
  CHECK(sum == first.score);
  ty_lexical_reset(f->c.lexical_index);
  CHECK(ty_ask_entered(&f->c, &args, &err) == TY_OK && args.out_bytes == kept_bytes &&
        memcmp(kept, out, (size_t)kept_bytes) == 0);
  /* And as an index over only the live rows does: a compaction changes neither scores nor order. */
  model_row *live = calloc(n, sizeof *live);
  uint64_t live_count = 0;
  for (uint64_t i = 0; i < f->count; i++) {
    if (!f->rows[i].dead) live[live_count++] = f->rows[i];
  }
  fixture *g = fixture_make(1, live, live_count, 0);
  ty_span live_spans[16];
  ty_rebase fresh = fixture_rebase(g, live_spans);
  fresh.k1 = k1;
  fresh.b = b;
  ty_buffer fresh_bytes = {0};
  CHECK(fixture_encode(&fresh, &fresh_bytes, &err) == TY_OK);
  CHECK(open_lexical(g, &fresh_bytes, &g->c.lexical_index));
  CHECK(ty_ask_entered(&g->c, &args, &err) == TY_OK && args.out_bytes == kept_bytes &&
        memcmp(kept, out, (size_t)kept_bytes) == 0);
  for (uint32_t code = 1; code <= 6; code++) check_alone(f, code, k1, b);
  CHECK_MESSAGE(ty_validate_lexical(&f->c, &err) == TY_OK, "%s", err.message);
  args = lexical_args("nobodysaidthis", 5);
  CHECK(ty_ask_entered(&f->c, &args, &err) == TY_OK && args.out_count == 0);
  args = lexical_args("", 5);
  CHECK(ty_ask_entered(&f->c, &args, &err) == TY_OK && args.out_count == 0);
  test_unusable(f, &bytes, k1, b);
  if (base < (few ? 1000 : 10000)) damage_lexical(f, &bytes, &seed);
  free(kept);
  free(live);
  free(fresh.rows);
  free(r.rows);
  fixture_free(g);
  f->c.delta = later;
  fixture_free(f);
  ty_buffer_free(&fresh_bytes);
  ty_buffer_free(&bytes);
  for (uint64_t i = 0; i < n; i++) free((void *)(uintptr_t)rows[i].text);
  free(rows);
  free(want);
}

/* A long text of few words is not held token by token. */
static void test_tally(void) {
  ty_tally t = {0};
  for (uint32_t i = 0; i < 3000000; i++) ty_tally_term(&t, i % 700 * 2654435761u, 1);
  CHECK(t.capacity <= 4096 && t.tokens == 3000000 && ty_tally_end(&t) && t.count == 700);
  uint64_t sum = 0;
  for (uint64_t i = 0; i < t.count; i++) sum += (uint32_t)t.items[i];
  CHECK(sum == 3000000);
  ty_tally_free(&t);
}

/* A query of thousands of terms is ranked in another way: each row's score is still the sum of its shares, and the rows
 * are in order. */
static void test_long_question(uint64_t seed) {
  enum { ROWS = 900, EACH = 9 };
  float one = 1;
  model_row *rows = calloc(ROWS, sizeof *rows);
  ty_buffer query = {0};
  for (uint64_t i = 0; i < ROWS; i++) {
    char *text = calloc(EACH * 12 + 200, 1), *at = text;
    for (uint64_t j = 0; j < EACH; j++) at += sprintf(at, "w%" PRIu64 "x ", i * EACH + j);
    for (uint64_t j = test_random(&seed) % 9; j > 0; j--) at += sprintf(at, "common often ");
    ty_buffer_append(&query, text, strlen(text));
    rows[i] = (model_row){.row = i, .keys = {1 + (uint32_t)i % 3, 1}, .vector = &one, .text = text};
  }
  fixture *f = fixture_make(1, rows, ROWS - 100, 100);
  ty_segment later = f->c.delta;
  ty_span spans[16];
  ty_error err = {0};
  ty_buffer bytes = {0};
  f->c.delta.count = f->c.delta.live = 0;
  f->count = ROWS - 100;
  ty_rebase r = fixture_rebase(f, spans);
  r.k1 = 1.2;
  r.b = 0.75;
  CHECK(fixture_encode(&r, &bytes, &err) == TY_OK && open_lexical(f, &bytes, &f->c.lexical_index));
  f->c.delta = later;
  f->count = ROWS;
  ty_ask_args args = lexical_args("", 2000);
  args.text = query.data;
  args.text_bytes = query.bytes;
  args.what = TY_WITH_EXPLAIN;
  CHECK_MESSAGE(ty_ask_entered(&f->c, &args, &err) == TY_OK && args.out_count == ROWS, "%s", err.message);
  double before = INFINITY;
  const uint8_t *at = out;
  for (uint64_t i = 0; i < args.out_count; i++) {
    ty_record record;
    ty_term share;
    memcpy(&record, at, sizeof record);
    double sum = 0;
    for (const uint8_t *s = at + sizeof record + 8, *end = s + record.extra_bytes; s < end;
         s += sizeof share + ((share.term_bytes + 7ull) & ~7ull)) {
      memcpy(&share, s, sizeof share);
      sum += share.share;
    }
    CHECK(sum == record.score && record.score <= before && record.score > 0);
    before = record.score;
    at += record_bytes(&record);
  }
  CHECK_MESSAGE(ty_validate_lexical(&f->c, &err) == TY_OK, "%s", err.message);
  ty_buffer_free(&query);
  ty_buffer_free(&bytes);
  free(r.rows);
  fixture_free(f);
  for (uint64_t i = 0; i < ROWS; i++) free((void *)(uintptr_t)rows[i].text);
  free(rows);
}

static void test_terms(uint64_t seed) {
  for (int i = 0; i < 200; i++) {
    char *text = make_text(&seed, 1);
    ty_buffer b = {0};
    ty_tally tally = {0};
    ty_error err;
    uint8_t labels[200];
    uint64_t run = 0, named = test_random(&seed) % 20;
    for (uint64_t n = 0; n < named; n++) { /* some of them twice */
      memcpy(labels + run, "Label_00", 9);
      labels[run + 7] = (uint8_t)('0' + test_random(&seed) % 30);
      run += 9;
    }
    CHECK(ty_terms_encode(&tally, ame_kernel_table(), (ty_slice){(const uint8_t *)text, strlen(text)}, NULL,
                          (ty_slice){labels, run}, &b, &err) == TY_OK);
    ty_term_reader r;
    uint64_t held = 0;
    bool ordered = true;
    CHECK(ty_terms_open(&r, (ty_slice){b.data, b.bytes}));
    uint32_t before = 0;
    while (ty_terms_next(&r)) {
      ordered &= r.seen == 1 || r.hash > before;
      before = r.hash;
      bool label = false;
      for (uint64_t n = 0; n < run && !label; n += 9) label = ty_label_hash((ty_slice){labels + n, 8}) == r.hash;
      held += label;
    }
    CHECK(ordered && held <= named && (held > 0) == (named > 0) && r.sum == r.tokens + held);
    CHECK(ty_terms_whole(&r, false) && ty_terms_whole(&r, true) == (held == 0));
    r.tokens = r.sum + 1;
    CHECK(!ty_terms_whole(&r, false));
    CHECK(r.version == (b.bytes > 0 ? ame_kernel_table()->token_version() : 0));
    if (b.bytes > 0) {
      b.data[test_random(&seed) % b.bytes] ^= (uint8_t)(1u << test_random(&seed) % 8);
      if (ty_terms_open(&r, (ty_slice){b.data, test_random(&seed) % (b.bytes + 1)})) {
        while (ty_terms_next(&r)) continue;
        CHECK(r.seen <= r.distinct);
      }
    }
    ty_tally_free(&tally);
    ty_buffer_free(&b);
    free(text);
  }
}

/* The terms of texts without a collection, against the kernel's tokens. */
static void test_texts(uint64_t seed) {
  static counter want[40];
  static uint32_t got[40 * 400], fewer[8];
  ty_env env = {.kernel = ame_kernel_table()};
  ty_error err;
  ty_buffer all = {0};
  uint64_t ends[40], out_ends[40], terms = 0, wrong = 0;
  memset(want, 0, sizeof want);
  for (uint32_t i = 0; i < 40; i++) {
    char *text = i % 5 == 3 ? calloc(1, 1) : make_text(&seed, 1);
    ty_buffer_append(&all, text, strlen(text));
    ends[i] = all.bytes;
    env.kernel->tokenize((const uint8_t *)text, strlen(text), collect, &want[i]);
    free(text);
  }
  ty_terms_args args = {.n = 40,
                        .texts = all.data,
                        .text_ends = ends,
                        .out = got,
                        .out_capacity = sizeof got / sizeof *got,
                        .out_ends = out_ends};
  CHECK(ty_terms(&env, &args, &err) == TY_OK);
  for (uint32_t i = 0; i < 40; i++) {
    counter of = {0};
    wrong += out_ends[i] - terms != want[i].length;
    for (; terms < out_ends[i]; terms++) {
      uint32_t kind = 0;
      while (kind < of.kinds && of.hashes[kind] != got[terms]) kind++;
      if (kind == of.kinds) of.hashes[of.kinds++] = got[terms];
      of.tfs[kind]++;
    }
    wrong += of.kinds != want[i].kinds || memcmp(of.hashes, want[i].hashes, of.kinds * sizeof *of.hashes) != 0 ||
             memcmp(of.tfs, want[i].tfs, of.kinds * sizeof *of.tfs) != 0;
  }
  CHECK(wrong == 0 && terms == args.out_count && terms > 100);
  args.out = fewer;
  args.out_capacity = 8;
  CHECK(ty_terms(&env, &args, &err) == TY_BUFFER && args.out_count == terms && memcmp(fewer, got, sizeof fewer) == 0);
  ends[20] = ends[19] - 1;
  CHECK(ty_terms(&env, &args, &err) == TY_INVALID && strstr(err.message, "text 20") != NULL);
  args.n = 0;
  CHECK(ty_terms(&env, &args, &err) == TY_OK && args.out_count == 0);
  args.n = 1;
  args.texts = NULL;
  CHECK(ty_terms(&env, &args, &err) == TY_INVALID);
  ty_buffer_free(&all);
}

/* The arguments of a fusion of its own; test/texts/fusion.test.ts has the scores. */
static void test_fuse_arguments(void) {
  double scores[2] = {1, 2}, priors[2] = {1, 0.5}, fused[2];
  ty_error err;
  ty_fuse_args args = {.n = 2, .vector = scores, .words = scores, .priors = priors, .dense_weight = 1, .out = fused};
  CHECK(ty_fuse_scores(&args, &err) == TY_OK && fused[0] == -1 && fused[1] == 1);
  args.dense_weight = NAN;
  CHECK(ty_fuse_scores(&args, &err) == TY_INVALID);
  args.dense_weight = 1;
  args.priors = NULL;
  CHECK(ty_fuse_scores(&args, &err) == TY_INVALID);
  args.priors = priors;
  args.n = UINT64_MAX;
  CHECK(ty_fuse_scores(&args, &err) == TY_NO_MEMORY);
}

/* ---- Through the whole runtime: what was saved, indexed, changed and compacted answers the same ---- */

#define STORE_DIM    16u
#define LEXICAL_HEAD 128 /* where the index begins in its file */
typedef struct answered {
  uint64_t count;
  double scores[64];
  char ids[64][16];
} answered;

static void read_answer(answered *a, uint64_t count) {
  const uint8_t *at = out;
  memset(a, 0, sizeof *a);
  a->count = count;
  for (uint64_t i = 0; i < count && i < 64; i++) {
    ty_record r;
    memcpy(&r, at, sizeof r);
    a->scores[i] = r.score;
    memcpy(a->ids[i], at + sizeof r, r.id_bytes < 15 ? r.id_bytes : 15);
    at += record_bytes(&r);
  }
}

static void put_rows(ty_collection *c, uint64_t from, uint64_t to, uint64_t *seed) {
  uint64_t n = to - from;
  float *vectors = malloc((size_t)n * STORE_DIM * 4);
  ty_buffer ids = {0}, texts = {0}, keys = {0};
  uint64_t *ends = calloc((size_t)n * 3, 8);
  for (uint64_t i = 0; i < n; i++) {
    char id[16];
    make_vector(vectors + i * STORE_DIM, STORE_DIM, RANDOM, seed);
    char *text = make_text(seed, 1);
    ty_buffer_append(&ids, id, (uint64_t)sprintf(id, "id%" PRIu64, from + i));
    ty_buffer_append(&texts, text, strlen(text));
    ty_buffer_append(&keys, i % 3 == 0 ? "a" : "b", 1);
    ends[i] = ids.bytes;
    ends[n + i] = texts.bytes;
    ends[2 * n + i] = keys.bytes;
    free(text);
  }
  ty_put_args args = {.n = n,
                      .mode = TY_UPSERT,
                      .vectors = vectors,
                      .ids = ids.data,
                      .id_ends = ends,
                      .metas = NULL,
                      .texts = texts.data,
                      .text_ends = ends + n,
                      .keys = keys.data,
                      .key_ends = ends + 2 * n};
  uint64_t *no_metas = calloc((size_t)n, 8);
  args.meta_ends = no_metas;
  ty_error err = {0};
  CHECK_MESSAGE(ty_put(c, &args, NULL, &err) == TY_OK, "put: %s", err.message);
  free(no_metas);
  free(ends);
  free(vectors);
  ty_buffer_free(&ids);
  ty_buffer_free(&texts);
  ty_buffer_free(&keys);
}

static void ask_both(ty_collection *c, const float *query, const char *words, answered *dense, answered *lexical) {
  ty_error err = {0};
  ty_ask_args args = search_args(query, 50, TY_NO_FILTER, NULL, 1);
  CHECK_MESSAGE(ty_ask(c, &args, &err) == TY_OK, "search: %s", err.message);
  read_answer(dense, args.out_count);
  ty_ask_args words_args = lexical_args(words, 50);
  CHECK_MESSAGE(ty_ask(c, &words_args, &err) == TY_OK, "lexical: %s", err.message);
  read_answer(lexical, words_args.out_count);
  CHECK_MESSAGE(ty_validate(c, &err) == TY_OK, "%s", err.message);
}

static ty_ask_args both_args(const float *query, const char *words, uint64_t k) {
  ty_ask_args args = search_args(query, k, TY_NO_FILTER, NULL, 1);
  args.by = TY_BY_BOTH;
  args.text = (const uint8_t *)words;
  args.text_bytes = strlen(words);
  args.dense_weight = 0.3;
  return args;
}

/* Writes into the newest file of a role; what was there comes back in `bytes`.
 * Files are mapped shared, so the handles see it. */
static void overwrite(const char *dir, const char *role, long at, uint8_t *bytes, size_t n) {
  char command[200], name[160];
  uint8_t kept[64];
  snprintf(command, sizeof command, "ls %s/%s-*.slab | tail -1", dir, role);
  FILE *list = popen(command, "r");
  if (list == NULL || fgets(name, sizeof name, list) == NULL) abort();
  pclose(list);
  name[strcspn(name, "\n")] = 0;
  FILE *file = fopen(name, "r+b");
  if (file == NULL || fseek(file, at, SEEK_SET) != 0 || fread(kept, 1, n, file) != n) abort();
  if (fseek(file, at, SEEK_SET) != 0 || fwrite(bytes, 1, n, file) != n || fclose(file) != 0) abort();
  memcpy(bytes, kept, n);
}

/* Makes the stored lexical index one of another way of tokenising. */
static void other_tokens(const char *dir) {
  uint8_t head[sizeof(ty_lexical_head)] = {0}, foot[sizeof(ty_lexical_foot)] = {0};
  ty_slab_section index = {0}; /* the first of the table */
  overwrite(dir, "lexical", sizeof(ty_slab_header), (uint8_t *)&index, sizeof index);
  long foot_at = (long)(index.offset + index.bytes - sizeof foot);
  overwrite(dir, "lexical", sizeof(ty_slab_header), (uint8_t *)&index, sizeof index);
  overwrite(dir, "lexical", LEXICAL_HEAD, head, sizeof head);
  overwrite(dir, "lexical", foot_at, foot, sizeof foot);
  head[offsetof(ty_lexical_head, version)]++;
  mend_lexical(head, foot);
  overwrite(dir, "lexical", LEXICAL_HEAD, head, sizeof head);
  overwrite(dir, "lexical", foot_at, foot, sizeof foot);
}

/* A lexical file that cannot be read costs no answer: queries by both rankings are answered by vector, those by words
 * from the texts, and both say so. A rewrite replaces it, with its k1 and b where they can still be read. */
static void test_damaged_file(ty_env *env, const char *dir) {
  static const struct {
    long at; /* 0: another way of tokenising */
    const char *put;
    bool known; /* k1, b, and that it was built */
  } cases[] = {
      {4, "no slab at all", false}, {0, "", true}, {LEXICAL_HEAD, "a k1", false}, {LEXICAL_HEAD + 64, "lists", true}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    uint8_t bytes[32] = {0};
    size_t n = strlen(cases[i].put);
    memcpy(bytes, cases[i].put, n);
    if (n > 0) overwrite(dir, "lexical", cases[i].at, bytes, n);
    else other_tokens(dir);
    ty_error err = {0};
    ty_collection *c = NULL;
    ty_stats_args stats;
    float query[STORE_DIM] = {1};
    CHECK_MESSAGE(ty_collection_open(env, dir, &c, &err) == TY_OK, "open: %s", err.message);
    if (c == NULL) return;
    bool lists = i == 3, version = i == 1; /* damage between head and foot is found by the query that reads there */
    ty_ask_args dense = search_args(query, 5, TY_NO_FILTER, NULL, 1);
    CHECK(ty_ask(c, &dense, &err) == TY_OK && dense.out_count == 5 && dense.trouble == 0);
    CHECK(ty_stats(c, &stats, &err) == TY_OK && stats.values[TY_STAT_LEXICAL_BUILT] == lists &&
          stats.values[TY_STAT_DAMAGES] == (lists || version ? 0 : 1));
    ty_ask_args words = lexical_args("xaq xdq", 5);
    words.most_bytes = 1; /* it is not made on a thread that must not block */
    CHECK(ty_ask(c, &words, &err) == TY_LARGE);
    words.most_bytes = 0;
    for (int again = 0; again < 2; again++)
      CHECK(ty_ask(c, &words, &err) == TY_OK && words.out_count == 5 && words.trouble == TY_TROUBLE_WORDS);
    ty_ask_args both = both_args(query, "xaq xdq", 5);
    CHECK_MESSAGE(ty_ask(c, &both, &err) == TY_OK, "both: %s", err.message);
    CHECK(both.out_count == 5 && both.trouble == TY_TROUBLE_WORDS && both.fused == 0);
    CHECK(ty_stats(c, &stats, &err) == TY_OK && stats.values[TY_STAT_LEXICAL_BUILT] == 0 &&
          stats.values[TY_STAT_DAMAGES] == (version ? 0 : 1));
    CHECK(ty_verify(c, NULL, &err) == TY_CORRUPT);
    ty_compact_args compact = {0};
    CHECK(ty_begin(c, &err) == TY_OK);
    CHECK_MESSAGE(ty_compact(c, &compact, NULL, &err) == TY_OK, "compact: %s", err.message);
    words = lexical_args("xaq xdq", 5);
    CHECK(ty_ask(c, &words, &err) == TY_OK && words.out_count == 5 && words.trouble == 0);
    CHECK(ty_stats(c, &stats, &err) == TY_OK && stats.values[TY_STAT_LEXICAL_BUILT] == 1 && stats.lexical_k1 == 1.2 &&
          stats.lexical_b == (cases[i].known ? 0.75 : TY_LEXICAL_B) && stats.values[TY_STAT_DAMAGES] == 0);
    both = both_args(query, "xaq xdq", 5);
    CHECK(ty_ask(c, &both, &err) == TY_OK && both.trouble == 0 && both.fused == 1);
    ty_lexical_args build = {1.2, 0.75};
    CHECK(ty_begin(c, &err) == TY_OK);
    CHECK_MESSAGE(ty_build_lexical(c, &build, NULL, &err) == TY_OK, "build: %s", err.message);
    words = lexical_args("xaq xdq", 5);
    CHECK(ty_ask(c, &words, &err) == TY_OK && words.out_count == 5 && ty_verify(c, NULL, &err) == TY_OK);
    ty_collection_close(c);
  }
}

static void test_store(uint64_t seed) {
  static const char schema[] =
      "{\"name\":\"t\",\"dim\":16,\"dtype\":\"f32\",\"key_name\":\"scope\",\"filter_columns\":[\"scope\"],\"telys_"
      "version\":\"1\","
      "\"default_target_recall\":1.0,\"applied_tuner\":null,\"lexical\":true,\"embedder_profile\":null}";
  char root[] = "/tmp/svc-search-test-XXXXXX", dir[64], command[80];
  if (mkdtemp(root) == NULL) abort();
  snprintf(dir, sizeof dir, "%s/t", root);
  ty_env *env = NULL;
  ty_collection *c = NULL;
  ty_error err = {0};
  float query[STORE_DIM];
  make_vector(query, STORE_DIM, RANDOM, &seed);
  const char *words = "xaq xdq yaq";
  answered dense[2], lexical[2];
  CHECK(ty_env_open(ame_kernel_table(), 1, &env, &err) == TY_OK);
  CHECK_MESSAGE(ty_collection_new(env, dir, (const uint8_t *)schema, sizeof schema - 1, &c, &err) == TY_OK, "new: %s",
                err.message);
  if (c == NULL) return;
  CHECK(ty_begin(c, &err) == TY_OK);
  put_rows(c, 0, 3000, &seed);
  CHECK_MESSAGE(ty_save(c, &err) == TY_OK, "save: %s", err.message);
  ty_ask_args early = lexical_args(words, 5), fused = both_args(query, words, 5);
  CHECK(ty_ask(c, &early, &err) == TY_UNBUILT);
  CHECK(ty_ask(c, &fused, &err) == TY_OK && fused.fused == 1 && fused.trouble == 0);
  ty_lexical_args build = {1.2, 0.75};
  CHECK(ty_begin(c, &err) == TY_OK);
  CHECK_MESSAGE(ty_build_lexical(c, &build, NULL, &err) == TY_OK, "build_lexical: %s", err.message);
  ask_both(c, query, words, &dense[0], &lexical[0]);
  ty_ivf_args ivf = {.min_rows = 1500, .target_recall = 0.9};
  CHECK(ty_begin(c, &err) == TY_OK);
  CHECK_MESSAGE(ty_build_ivf(c, &ivf, NULL, &err) == TY_OK && ivf.built == 1, "build_ivf: %s", err.message);
  ask_both(c, query, words, &dense[1], &lexical[1]); /* the rows lie elsewhere now */
  CHECK(memcmp(&dense[0], &dense[1], sizeof *dense) == 0 && memcmp(&lexical[0], &lexical[1], sizeof *lexical) == 0);
  CHECK(dense[0].count == 50 && lexical[0].count == 50);

  /* New, replaced and deleted rows, undone once, then for good; then a compaction. */
  for (int round = 0; round < 2; round++) {
    ty_delete_args gone = {
        .n = 1, .ids = (const uint8_t *)lexical[0].ids[0], .id_ends = (const uint64_t[]){strlen(lexical[0].ids[0])}};
    uint64_t same = 77;
    CHECK(ty_begin(c, &err) == TY_OK);
    put_rows(c, 2900, 3100, &same);
    CHECK(ty_delete(c, &gone, &err) == TY_OK && gone.removed == 1);
    ask_both(c, query, words, &dense[1], &lexical[1]);
    CHECK(strcmp(lexical[1].ids[0], lexical[0].ids[0]) != 0);
    if (round == 0) {
      ty_rollback(c);
      ask_both(c, query, words, &dense[1], &lexical[1]);
      CHECK(memcmp(&dense[0], &dense[1], sizeof *dense) == 0 && memcmp(&lexical[0], &lexical[1], sizeof *lexical) == 0);
    } else {
      CHECK_MESSAGE(ty_save(c, &err) == TY_OK, "save: %s", err.message);
    }
  }
  ask_both(c, query, words, &dense[0], &lexical[0]);
  ty_compact_args compact = {0};
  CHECK(ty_begin(c, &err) == TY_OK);
  CHECK_MESSAGE(ty_compact(c, &compact, NULL, &err) == TY_OK, "compact: %s", err.message);
  ask_both(c, query, words, &dense[1], &lexical[1]);
  CHECK(memcmp(dense[0].scores, dense[1].scores, sizeof dense->scores) == 0);
  CHECK(memcmp(lexical[0].scores, lexical[1].scores, sizeof lexical->scores) == 0);
  ty_ask_args probing = search_args(query, 10, 0, "b", 0);
  CHECK(ty_ask(c, &probing, &err) == TY_OK && probing.out_count == 10);
  CHECK_MESSAGE(ty_verify(c, NULL, &err) == TY_OK, "verify: %s", err.message);
  ty_collection_close(c);
  CHECK_MESSAGE(ty_collection_open(env, dir, &c, &err) == TY_OK, "open: %s", err.message);
  ask_both(c, query, words, &dense[0], &lexical[0]);
  CHECK(memcmp(&dense[0], &dense[1], sizeof *dense) == 0 && memcmp(&lexical[0], &lexical[1], sizeof *lexical) == 0);
  CHECK_MESSAGE(ty_verify(c, NULL, &err) == TY_OK, "verify: %s", err.message);
  ty_collection_close(c);
  test_damaged_file(env, dir);
  ty_env_close(env);
  snprintf(command, sizeof command, "rm -r %s", root);
  if (system(command) != 0) fprintf(stderr, "left behind: %s\n", root);
}

int main(int argc, char **argv) {
  uint64_t seed = argc > 1 && strcmp(argv[1], "-") != 0 ? strtoull(argv[1], NULL, 10) : 20250101;
  few = argc > 2 && strcmp(argv[2], "few") == 0;
  printf("seed %" PRIu64 "\n", seed);
  out = malloc(OUT_BYTES);
  const uint32_t dims[] = {1, 7, 63, 64, 384, 1024};
  for (size_t d = 0; d < sizeof dims / sizeof *dims; d++) {
    for (int kind = 0; kind < KINDS; kind++)
      if (taken(seed + d * 100 + (uint64_t)kind))
        test_exact(seed + d * 100 + (uint64_t)kind, dims[d], dims[d] > 100 ? 700 : 1300, 130, kind);
    test_exact(seed + d, dims[d], 0, 0, RANDOM);
    test_exact(seed + d, dims[d], 0, 3, RANDOM);
    test_exact(seed + d, dims[d], 600, 0, RANDOM);
  }
  test_arguments();
  test_terms(seed);
  test_texts(seed);
  test_fuse_arguments();
  test_tally();
  test_ivf_all(seed);
  test_signs_all(seed);
  test_runs(seed);
  test_bm25(seed, 700, 90, 24, 1.2, 0.75, TY_RUN_MEMORY);
  test_bm25(seed + 1, 700, 90, 24, 0, 0, 20000); /* many runs, and rows that lie in two of them */
  test_bm25(seed + 2, 700, 90, 24, 2, 1, 3000);
  test_bm25(seed + 3, 6000, 90, few ? 2 : 6, 1.2, 0.75, 100000);
  test_bm25(seed + 4, 1, 90, 4, 1.2, 0.75, TY_RUN_MEMORY);
  test_bm25(seed + 5, 9000, 90, few ? 1 : 2, 1.2, 0.75, 2000000);        /* many windows */
  test_bm25(seed + 6, 300, 5000, few ? 1 : 3, 1.2, 0.75, TY_RUN_MEMORY); /* the same in the delta */
  test_long_question(seed);
  test_store(seed);
  free(out);
  return check_report();
}

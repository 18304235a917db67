/* The scanner against a plain scan: the same rows in the same order with the same scores, whatever the vectors are. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../ffi/ty_runtime/rows/coding.h"
#include "../../ffi/ty_runtime/ivf/builder.h"
#include "../../ffi/ty_runtime/scan/scanner.h"
#include "check.h"

typedef struct world {
  ty_env env;
  ty_collection c;
  ty_segment segments[2]; /* base, delta */
  float *decoded;         /* all rows, base first */
  uint64_t counts[2];
} world;

static double unit(uint64_t *s) { return (double)(ty_random(s) >> 11) * 0x1p-53; }
/* Drawn from a table: half of the time went into logarithms and cosines. */
static double normals[1 << 16];
static void fill_normals(void) {
  uint64_t s = 1;
  for (size_t i = 0; i < sizeof normals / sizeof *normals; i++)
    normals[i] = sqrt(-2 * log(1 - unit(&s))) * cos(6.283185307179586 * unit(&s));
}
static double normal(uint64_t *s) { return normals[ty_random(s) >> 48]; }

enum { GAUSS, CLUSTERED, POSITIVE, TINY, HUGE_ONES, ONE_HOT, EQUAL, DENORMAL, MIXED, NEAR, KINDS };

static void make_row(float *x, uint32_t dim, int kind, uint64_t i, uint64_t *s) {
  if (kind == MIXED) kind = (int)(ty_random(s) % MIXED);
  for (uint32_t j = 0; j < dim; j++) {
    double g = normal(s);
    switch (kind) {
    case CLUSTERED: {
      uint64_t centre = 77 + (i % 7) * 1000 + j;
      x[j] = (float)(normal(&centre) + 0.3 * g);
      break;
    }
    case POSITIVE: x[j] = (float)fabs(g) * 40; break;
    case TINY: x[j] = (float)(g * 1e-33); break;
    case HUGE_ONES: x[j] = (float)(g * 1e37); break;
    case ONE_HOT: x[j] = j == i % dim ? (float)(1 + (double)(i % 3)) : 0; break;
    case EQUAL: x[j] = (float)(1 + (double)(i % 5)); break;
    case DENORMAL: x[j] = (float)(g * 1e-42); break;
    case NEAR: x[j] = (float)(1 + 1e-6 * g); break; /* scores that differ in their last bits */
    default: x[j] = (float)g;
    }
  }
  if (i % 31 == 7) memset(x, 0, dim * sizeof *x);
}

static void block_put(uint8_t *blocks, uint64_t at, uint32_t dim, const uint8_t *codes, const ame_i4_info *info,
                      float bias) {
  uint8_t *block = blocks + at / AME_BLOCK_ROWS * AME_BLOCK_BYTES(dim);
  uint64_t row = at % AME_BLOCK_ROWS, groups = AME_I4_BYTES(dim) / 4;
  for (uint64_t g = 0; g < groups; g++) memcpy(block + 64 * g + 4 * row, codes + 4 * g, 4);
  float *figures = (float *)(void *)(block + 64 * groups);
  const float five[5] = {info->scale, info->offset, info->err, info->norm, bias};
  for (int k = 0; k < 5; k++) figures[16 * k + (int)row] = five[k];
}

static void *keep(void *p) {
  if (p == NULL) abort();
  return p;
}

static void fill(world *w, int which, const float *rows, uint64_t n, uint64_t first_row, bool anchored, uint64_t *s) {
  ty_segment *g = &w->segments[which];
  uint32_t dim = w->c.dim;
  const ame_kernel *k = w->env.kernel;
  uint64_t stride = AME_CODE_STRIDE(dim), blocks = (n + 15) / 16;
  g->is_base = which == 0;
  g->count = n;
  int8_t *codes = keep(aligned_alloc(64, stride * (n + 1)));
  ame_code_info *info = keep(calloc(n + 1, sizeof *info));
  uint8_t *four = keep(aligned_alloc(64, AME_BLOCK_BYTES(dim) * (blocks + 1)));
  memset(four, 0, AME_BLOCK_BYTES(dim) * (blocks + 1));
  uint64_t *birth = keep(calloc(n + 1, sizeof *birth));
  uint32_t *keys = keep(calloc(n + 1, sizeof *keys));
  uint8_t *packed = keep(calloc(1, AME_I4_BYTES(dim)));
  g->keys = keep(calloc(2, sizeof *g->keys));
  g->dead = keep(calloc(n + 1, 1));
  float *vectors = keep(malloc((n + 1) * dim * sizeof *vectors));
  memcpy(vectors, rows, n * dim * sizeof *vectors);
  k->quantize_i8(rows, n, dim, codes, info);
  float *rest = keep(malloc(dim * sizeof *rest)), *anchor = (float *)(uintptr_t)w->c.base.coding.anchor;
  if (which == 0 && anchored) anchor = keep(calloc(dim, sizeof *anchor));
  for (uint64_t i = 0; which == 0 && anchored && i < n; i++) {
    for (uint32_t j = 0; j < dim; j++) anchor[j] += rows[i * dim + j] / (float)n;
  }
  if (which == 0 && anchored) {
    float *mirror = keep(malloc(dim * sizeof *mirror));
    ty_coding_mirror(k, anchor, dim % 2 == 0, dim, mirror);
    w->c.base.coding = (ty_coding){anchor, mirror, dim % 2 == 0};
  }
  g->coding = w->c.base.coding;
  for (uint64_t i = 0; i < n; i++) {
    double squares = 0;
    for (uint32_t j = 0; j < dim; j++) squares += (double)rows[i * dim + j] * (double)rows[i * dim + j];
    float bias = w->c.metric == TY_L2 ? (float)(-squares / 2) : 0;
    ame_i4_info four_info;
    ty_coding_quantize(k, &w->c.base.coding, dim, rows + i * dim, 1, rest, packed, &four_info);
    block_put(four, i, dim, packed, &four_info, bias);
    info[i].bias = bias;
    birth[i] = first_row + n - 1 - i; /* neither a base nor a delta with updates has its rows in the order of birth */
    keys[i] = i / 250 % 4 == 1 ? 3 : 1 + (uint32_t)(ty_random(s) % 10); /* a run of one value among scattered ones */
    g->dead[i] = ty_random(s) % 11 == 0;
  }
  g->codes = codes;
  g->info = info;
  g->blocks = four;
  g->birth = birth;
  g->keys[0] = g->keys[1] = keys;
  if (which == 0) {
    g->vectors = (const uint8_t *)vectors;
  } else {
    g->payload = keep(calloc(n + 1, sizeof *g->payload));
    for (uint64_t i = 0; i < n; i++) g->payload[i].vector = (const uint8_t *)(vectors + i * dim);
  }
  free(packed);
  free(rest);
}

static void drop(world *w) {
  for (int i = 0; i < 2; i++) {
    ty_segment *g = &w->segments[i];
    free((void *)(uintptr_t)(g->is_base ? g->vectors : g->payload[0].vector));
    free((void *)(uintptr_t)g->codes);
    free((void *)(uintptr_t)g->info);
    free((void *)(uintptr_t)g->blocks);
    free((void *)(uintptr_t)g->birth);
    free((void *)(uintptr_t)g->keys[0]);
    free(g->keys);
    free(g->dead);
    free(g->payload);
  }
  free((void *)(uintptr_t)w->c.base.coding.anchor);
  free((void *)(uintptr_t)w->c.base.coding.mirror);
  free(w->decoded);
}

typedef struct plain {
  uint64_t birth;
  float score;
} plain;

static int better(const void *a, const void *b) {
  const plain *x = a, *y = b;
  if (x->score != y->score) return x->score > y->score ? -1 : 1;
  return x->birth < y->birth ? -1 : x->birth > y->birth;
}

static float plain_score(const world *w, const float *q, const float *x) {
  float score;
  uint32_t dim = w->c.dim;
  bool l2 = w->c.metric == TY_L2;
  if (l2) {
    w->env.kernel->sq_l2(q, x, 1, dim, &score);
    score = 0 - score;
  } else {
    w->env.kernel->dot_f32(q, x, 1, dim, &score);
  }
  if (isfinite(score)) return score;
  double sum = 0;
  for (uint32_t j = 0; j < dim; j++) {
    double a = q[j], b = x[j];
    sum += l2 ? -(a - b) * (a - b) : a * b;
  }
  return sum > FLT_MAX ? FLT_MAX : sum < -FLT_MAX ? -FLT_MAX : (float)sum;
}

/* One question, fed in pieces of random lengths and order, against the plain answer. */
static void ask(world *w, const float *q, uint64_t top_k, const ty_filter *filter, uint64_t *s, const char *what) {
  uint64_t total = w->counts[0] + w->counts[1], n = 0;
  plain *expected = keep(malloc((total + 1) * sizeof *expected));
  for (int g = 0; g < 2; g++) {
    for (uint64_t i = 0; i < w->counts[g]; i++) {
      if (!ty_filter_allows(filter, &w->segments[g], i)) continue;
      const float *x = w->decoded + ((g == 0 ? 0 : w->counts[0]) + i) * w->c.dim;
      expected[n++] = (plain){w->segments[g].birth[i], plain_score(w, q, x)};
    }
  }
  qsort(expected, n, sizeof *expected, better);
  if (n > top_k) n = top_k;

  ty_error err;
  ty_scanner *scanner;
  ty_scored *hits = NULL;
  uint64_t count = 0;
  CHECK(ty_scanner_open(&w->c, &w->segments[0], &w->segments[1], q, top_k, total, filter, &scanner, &err) == TY_OK);
  int from = (int)(ty_random(s) % 2);
  for (int turn = 0; turn < 2; turn++) {
    int g = (from + turn) % 2;
    for (uint64_t at = 0; at < w->counts[g];) {
      uint64_t left = w->counts[g] - at, piece = ty_random(s) % 3 == 0 ? 1 + ty_random(s) % 40 : left;
      if (piece > left) piece = left;
      ty_range range = {&w->segments[g], at, piece};
      CHECK(ty_scanner_feed(scanner, &range, &err) == TY_OK);
      at += piece;
    }
    if (n == top_k && turn == 1) {
      /* The k-th best reaches the threshold; the comparison is in the scale of values. */
      double value = expected[n - 1].score;
      if (w->c.metric == TY_L2) {
        double squares = 0;
        for (uint32_t j = 0; j < w->c.dim; j++) squares += (double)q[j] * (double)q[j];
        value = (value + squares) / 2 + squares * 1e-9;
      }
      CHECK(ty_scanner_threshold(scanner) <= value);
    }
  }
  CHECK(ty_scanner_answer(scanner, &hits, &count, &err) == TY_OK);
  bool same = count == n;
  for (uint64_t i = 0; same && i < n; i++)
    same = hits[i].birth == expected[i].birth && hits[i].score == expected[i].score;
  if (!same) {
    fprintf(stderr, "%s: dim %u, metric %d, top_k %llu: %llu of %llu\n", what, w->c.dim, (int)w->c.metric,
            (unsigned long long)top_k, (unsigned long long)count, (unsigned long long)n);
    for (uint64_t i = 0; i < n && i < count && i < 20; i++)
      fprintf(stderr, "  %llu %a  %llu %a\n", (unsigned long long)hits[i].birth, (double)hits[i].score,
              (unsigned long long)expected[i].birth, (double)expected[i].score);
  }
  CHECK(same);
  free(hits);
  free(expected);
  ty_scanner_close(scanner);
}

static void test_kind(uint32_t dim, int kind, ty_metric metric, bool anchored) {
  static const char *const names[] = {"gauss",   "clustered", "positive", "tiny",  "huge",
                                      "one-hot", "equal",     "denormal", "mixed", "near"};
  uint64_t s = 1 + dim * 131 + (uint64_t)kind * 7 + (uint64_t)metric * 3;
  world w = {.env = {.kernel = ame_kernel_table()}};
  w.c.env = &w.env;
  w.c.dim = dim;
  w.c.metric = metric;
  w.c.columns = 2;
  w.counts[0] = 300 + ty_random(&s) % 900;
  w.counts[1] = 1 + ty_random(&s) % 90;
  uint64_t total = w.counts[0] + w.counts[1];
  w.decoded = keep(malloc((total + 1) * dim * sizeof *w.decoded));
  for (uint64_t i = 0; i < total; i++) make_row(w.decoded + i * dim, dim, kind, i, &s);
  fill(&w, 0, w.decoded, w.counts[0], 0, anchored, &s);
  fill(&w, 1, w.decoded + w.counts[0] * dim, w.counts[1], w.counts[0], anchored, &s);
  float *q = keep(malloc(dim * sizeof *q));
  uint32_t *listed = keep(malloc((w.counts[0] + 1) * sizeof *listed));
  for (int round = 0; round < 8; round++) {
    if (round == 0) memset(q, 0, dim * sizeof *q);
    else if (round == 1) memcpy(q, w.decoded + 5 * dim, dim * sizeof *q);
    else make_row(q, dim, round < 6 ? kind : (int)(ty_random(&s) % KINDS), 3 + (uint64_t)round, &s);
    static const uint64_t ks[] = {1, 10, 100, 100000};
    ty_filter all = {.all = true, .count = w.counts[0]}, tenth = {.code = 3, .column = 1, .count = w.counts[0]};
    ask(&w, q, ks[round % 4], &all, &s, names[kind]);
    ask(&w, q, ks[(round + 1) % 4], &tenth, &s, names[kind]);
    for (uint64_t at = 0; at < w.counts[0]; at++) {
      listed[tenth.row_count] = (uint32_t)at;
      tenth.row_count += ty_filter_allows(&tenth, &w.segments[0], at);
    }
    tenth.rows = listed;
    ask(&w, q, ks[(round + 1) % 4], &tenth, &s, names[kind]);
  }
  free(listed);
  free(q);
  drop(&w);
}

/* `few` leaves out most dimensions: for sanitizers, under which all take minutes. */
int main(int argc, char **argv) {
  static const uint32_t dims[] = {1, 2, 3, 7, 8, 9, 33, 64, 100, 384, 770};
  bool few = argc > 1 && strcmp(argv[1], "few") == 0;
  fill_normals();
  for (uint32_t path = 0; path < ame_isa_count(); path++) {
    if (!ame_isa_supported(path)) continue;
    CHECK(ame_isa_force(ame_isa_name(path)) == 0);
    for (size_t d = 0; d < sizeof dims / sizeof *dims; d++) {
      if (few && d % 4 != 2) continue;
      for (int kind = 0; kind < KINDS; kind++) {
        bool anchored = kind != HUGE_ONES && kind != MIXED; /* coding rows takes no anchor that could overflow */
        test_kind(dims[d], kind, TY_INNER_PRODUCT, false);
        test_kind(dims[d], kind, TY_INNER_PRODUCT, anchored);
        test_kind(dims[d], kind, TY_L2, anchored);
      }
    }
  }
  return check_report();
}

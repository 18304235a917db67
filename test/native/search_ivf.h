/* The IVF index: recall on unseen questions, exact answers with and without it, its bytes, and how it is built. Part of
 * search_test.c. */
#include <stddef.h>

#include "../../ffi/ty_runtime/ivf/near.h"
#include "../../ffi/ty_runtime/ivf/signs.h"

#define CENTRES 64u
static uint32_t centres_drawn = CENTRES; /* from which rows are made */

/* Kinds of collections. Rows of SCALED have lengths from 1 to 30, of COPIES one in two is a copy of another, of
 * ADVERSARIAL there are zero rows, rows of 1e30s, denormals, and long runs of equal ones. */
enum { TIGHT, LOOSE, FLAT, SCALED, COPIES, ADVERSARIAL, SETS };
static const char *const set_names[SETS] = {"tight", "loose", "flat", "scaled", "copies", "adversarial"};

static void set_row(float *v, uint32_t dim, const float *centres, int set, uint64_t *seed) {
  const float *c = centres + test_random(seed) % centres_drawn * dim;
  float noise = set == TIGHT ? 0.3f : set == FLAT ? 100.f : 0.7f;
  for (uint32_t i = 0; i < dim; i++) v[i] = c[i] + noise * (float)test_normal(seed);
  ame_kernel_table()->normalize(v, 1, dim);
  float scale = set == SCALED ? (float)pow(30, test_unit(seed)) : 1;
  if (set == ADVERSARIAL) {
    const float scales[] = {1, 1, 1, 1, 0, 1e30f, 1e-42f, 30};
    scale = scales[test_random(seed) % 8];
  }
  for (uint32_t i = 0; i < dim; i++) v[i] *= scale;
}

static float *set_rows(uint32_t dim, uint64_t n, int set, float *centres, uint64_t *seed) {
  float *vectors = malloc((size_t)n * dim * 4);
  for (uint64_t i = 0; i < (uint64_t)centres_drawn * dim; i++) centres[i] = (float)test_normal(seed);
  for (uint64_t i = 0; i < n; i++) {
    set_row(vectors + i * dim, dim, centres, set, seed);
    bool copy = (set == COPIES && i % 2 == 1) || (set == ADVERSARIAL && i % 3 == 1);
    if (copy) memcpy(vectors + i * dim, vectors + (set == COPIES ? test_random(seed) % i : i / 500) * dim, dim * 4ul);
  }
  return vectors;
}

/* ---- Building and opening ---- */

static bool append_signs(void *context, const void *data, uint64_t bytes) {
  ty_buffer_append(context, data, bytes);
  return true;
}

/* Signs, where rows of this dimension have them. */
static void use_signs(fixture *f, ty_rebase *r) {
  ty_error err;
  ty_buffer bytes = {0};
  CHECK(ty_signs_write(r, &f->c.base, append_signs, &bytes, &err) == TY_OK && !bytes.failed);
  CHECK((bytes.bytes != 0) == (f->c.dim >= TY_SIGN_DIM_LEAST));
  if (bytes.bytes == 0) return;
  uint8_t *aligned = keep(f, aligned_alloc(64, (size_t)bytes.bytes));
  memcpy(aligned, bytes.data, (size_t)bytes.bytes);
  f->c.ivf->signs = (ty_intact){.data = aligned, .bytes = bytes.bytes};
  ty_buffer_free(&bytes);
  CHECK(ty_signs_open(f->c.ivf, f->c.dim, &err) == TY_OK && f->c.ivf->parts[0].signs.rows != NULL);
}

/* What rebase.c does: train, lay the rows out again, calibrate, encode, open. Returns the bytes, which the index reads
 * from. */
static ty_buffer use_ivf(fixture *f, ty_rebase *r, double target) {
  ty_error err;
  ty_buffer bytes = {0};
  r->want_ivf = true;
  r->retrain_ivf = f->c.ivf == NULL;
  if (r->ivf_min_rows == 0) r->ivf_min_rows = 1000;
  r->ivf_target_recall = target;
  CHECK(ty_ivf_train(r, &err) == TY_OK && r->ivf != NULL);
  if (r->ivf == NULL) return bytes;
  bool all = r->count == f->count; /* the delta was gathered too, as a compaction does */
  uint64_t n = r->count, delta = all ? 0 : f->c.delta.count;
  model_row *rows = calloc(n + delta + 1, sizeof *rows);
  for (uint64_t i = 0; i < n; i++)
    rows[i] = f->rows[r->rows[i].at + (r->rows[i].segment->is_base ? 0 : f->c.base.count)];
  if (all) {
    f->c.delta = (ty_segment){0};
    memcpy(f->c.spans, r->spans, r->span_count * sizeof *r->spans);
    f->c.span_count = r->span_count;
  }
  memcpy(rows + n, f->rows + f->c.base.count, (size_t)delta * sizeof *rows);
  memcpy(f->rows, rows, (size_t)(n + delta) * sizeof *rows);
  f->count = n + delta;
  free(rows);
  f->c.base = (ty_segment){.is_base = true};
  fill_segment(f, &f->c.base, f->rows, n);
  add_blocks(f, &f->c.base);
  if (delta > 0) add_blocks(f, &f->c.delta);
  CHECK(ty_signs_make(r, &f->c.base, &err) == TY_OK);
  CHECK(ty_ivf_calibrate(r, &f->c.base, &err) == TY_OK);
  CHECK(ty_ivf_encode(r->ivf, f->c.dim, &bytes, &err) == TY_OK);
  ty_ivf_free(f->c.ivf);
  ty_slice slice = {bytes.data, bytes.bytes};
  CHECK(ty_ivf_open(&f->c, &f->c.base, f->c.spans, f->c.span_count, slice, &f->c.ivf, &err) == TY_OK);
  CHECK(f->c.ivf != NULL && f->c.ivf->count == r->ivf->count && f->c.ivf->target_recall == target);
  use_signs(f, r);
  keep(f, bytes.data);
  return bytes;
}

static bool same_part(const ty_ivf_part *a, const ty_ivf_part *b, uint64_t dim) {
  size_t n = a->nlist;
  return a->nlist == b->nlist && a->span == b->span && memcmp(a->centroids, b->centroids, n * dim * 4) == 0 &&
         memcmp(a->half_norms, b->half_norms, n * 4) == 0 && memcmp(a->rms, b->rms, n * 4) == 0 &&
         memcmp(a->most, b->most, n * 4) == 0 && memcmp(a->info, b->info, n * sizeof *a->info) == 0 &&
         memcmp(a->codes, b->codes, n * AME_CODE_STRIDE(dim)) == 0 &&
         memcmp(a->list_starts, b->list_starts, (n + 1) * 8) == 0 && a->nprobe == b->nprobe && a->reach == b->reach &&
         a->reach_alone == b->reach_alone && a->built_square == b->built_square &&
         a->calibrated_square == b->calibrated_square && a->calibrated_rows == b->calibrated_rows;
}

typedef struct ivf_case {
  fixture *f;
  ty_rebase r;
  ty_span spans[16];
  ty_buffer bytes;
  float *vectors, *centres;
} ivf_case;

/* Rows in partition 1 but for a tenth in 2 and 1 in 97 in 3; `delta` more rows lie outside of the index. */
static void case_open(ivf_case *x, uint32_t dim, uint64_t n, uint64_t delta, int set, ty_metric metric, double target,
                      uint64_t *seed) {
  *x = (ivf_case){.centres = malloc((size_t)CENTRES * dim * 4)};
  x->vectors = set_rows(dim, n + delta, set, x->centres, seed);
  model_row *rows = calloc(n + delta, sizeof *rows);
  for (uint64_t i = 0; i < n + delta; i++) {
    uint32_t key = i % 10 == 0 ? 2 : i % 97 == 0 ? 3 : 1;
    rows[i] = (model_row){.row = i, .keys = {key, 1 + (uint32_t)(i % 3)}, .vector = x->vectors + i * dim};
  }
  x->f = fixture_make(dim, rows, n, delta);
  x->f->c.metric = metric;
  uint64_t all = x->f->count;
  ty_segment later = x->f->c.delta;
  x->f->count = n; /* a rebase would take the delta too */
  x->r = fixture_rebase(x->f, x->spans);
  x->f->count = all;
  x->f->c.delta = later;
  x->bytes = use_ivf(x->f, &x->r, target);
  free(rows);
}

static void case_close(ivf_case *x) {
  ty_ivf_free(x->r.ivf);
  free(x->r.rows);
  fixture_free(x->f);
  free(x->vectors);
  free(x->centres);
}

/* ---- The nearest centroid ---- */

static void check_again(const ty_ivf_builder *b, const float *row, const uint32_t *kept, float *centroids,
                        uint32_t nlist, uint32_t list, float square) {
  uint32_t again;
  float measured;
  bool among = false;
  for (uint32_t j = 0; j < TY_IVF_NEAR_KEPT; j++) {
    CHECK(kept[j] < nlist);
    among |= kept[j] == list;
  }
  CHECK(among);
  ty_ivf_near_again(b, centroids, kept, row, &again, &measured);
  CHECK(measured < square || (measured == square && again <= list));
  float *moved = centroids + kept[TY_IVF_NEAR_KEPT - 1] * b->dim, *was = malloc(b->dim * sizeof *was);
  memcpy(was, moved, b->dim * sizeof *was);
  memcpy(moved, row, b->dim * sizeof *was);
  ty_ivf_near_again(b, centroids, kept, row, &again, &measured);
  CHECK(measured == 0);
  memcpy(moved, was, b->dim * sizeof *was);
  free(was);
}

/* Against all centroids by sq_l2: the distance is that to the returned list, and hardly larger than the least. Of the
 * lists kept of a row the returned one is still the nearest while no centroid has moved, and after one has moved to the
 * row none is nearer. */
static void test_nearest(uint64_t seed, uint32_t dim, int set, uint32_t nlist) {
  uint64_t n = 1500;
  float *centres = malloc((size_t)CENTRES * dim * 4), *vectors = set_rows(dim, n, set, centres, &seed);
  float *centroids = set_rows(dim, nlist, set, centres, &seed), *half_norms = malloc(nlist * 4ul);
  model_row *rows = calloc(n, sizeof *rows);
  for (uint64_t i = 0; i < n; i++) rows[i] = (model_row){.row = i, .keys = {1, 1}, .vector = vectors + i * dim};
  fixture *f = fixture_make(dim, rows, n, 0);
  ty_span spans[16];
  ty_rebase r = fixture_rebase(f, spans);
  ty_ivf_builder b = {.r = &r, .k = f->env.kernel, .dim = dim};
  ty_ivf_near *near;
  ty_arena memory = {0};
  ty_error err;
  double found = 0, least = 0;
  b.k->kmeans_half_norms(centroids, nlist, dim, half_norms);
  ty_crew_for(&b.crew, r.ivf_threads, &r.phases, TY_PHASE_TRAIN);
  ty_ivf_asker asker = ty_ivf_asker_open(&b, &memory);
  CHECK(ty_ivf_near_open(&b, &spans[0], centroids, half_norms, nlist, &near, &err) == TY_OK && !memory.failed);
  for (uint64_t at = 0; at < n; at += TY_IVF_NEAR_ROWS) {
    ty_ivf_asked asked[TY_IVF_NEAR_ROWS];
    uint32_t lists[TY_IVF_NEAR_ROWS], count = n - at < TY_IVF_NEAR_ROWS ? (uint32_t)(n - at) : TY_IVF_NEAR_ROWS;
    uint32_t kept[TY_IVF_NEAR_ROWS * TY_IVF_NEAR_KEPT];
    float squares[TY_IVF_NEAR_ROWS];
    for (uint32_t i = 0; i < count; i++) asked[i] = ty_ivf_ask(&b, &asker, i, at + i);
    ty_ivf_near_find(near, asked, count, lists, squares, kept);
    for (uint32_t i = 0; i < count; i++) {
      float nearest = INFINITY;
      check_again(&b, asked[i].row, kept + i * TY_IVF_NEAR_KEPT, centroids, nlist, lists[i], squares[i]);
      for (uint32_t l = 0; l < nlist; l++) {
        float square;
        b.k->sq_l2(rows[at + i].vector, centroids + (size_t)l * dim, 1, dim, &square);
        if (square < nearest) nearest = square;
        if (l == lists[i]) CHECK(square == squares[i]);
      }
      CHECK(lists[i] < nlist);
      bool finite = isfinite(squares[i]) && set != ADVERSARIAL; /* rows of 1e30s: no list is nearer than another */
      found += finite ? (double)squares[i] : 0;
      least += finite ? (double)nearest : 0;
    }
  }
  CHECK_MESSAGE(found <= least * 1.01 + 1e-6, "nearest: %s dim %u of %u: %.6f, at best %.6f", set_names[set],
                (unsigned)dim, (unsigned)nlist, found, least);
  ty_arena_free(&memory);
  ty_ivf_near_close(near);
  free(r.rows);
  fixture_free(f);
  free(rows);
  free(half_norms);
  free(centroids);
  free(vectors);
  free(centres);
}

/* ---- Recall ---- */

static uint64_t answer_rows(uint64_t *rows, uint64_t count) {
  const uint8_t *at = out;
  for (uint64_t i = 0; i < count; i++) {
    ty_record record;
    memcpy(&record, at, sizeof record);
    at += record_bytes(&record);
    rows[i] = record.row;
  }
  return count;
}

/* The share of the exact answers that an index finds on questions that it never saw. */
static double recall_of(ivf_case *x, int set, uint64_t questions, uint64_t k, uint64_t column, double target,
                        double *probed, uint64_t *seed) {
  fixture *f = x->f;
  ty_ivf *ivf = f->c.ivf;
  float *query = malloc(f->c.dim * 4ul);
  uint64_t want[64], got[64], found = 0, owed = 0;
  *probed = 0;
  for (uint64_t q = 0; q < questions; q++) {
    ty_error err;
    set_row(query, f->c.dim, x->centres, set, seed);
    ty_ask_args args = search_args(query, k, column, column == TY_NO_FILTER ? NULL : "k1", 1);
    f->c.ivf = NULL;
    CHECK(ty_ask_entered(&f->c, &args, &err) == TY_OK);
    uint64_t wanted = answer_rows(want, args.out_count);
    f->c.ivf = ivf;
    args.target_recall = target;
    CHECK(ty_ask_entered(&f->c, &args, &err) == TY_OK && args.out_count == wanted);
    answer_rows(got, args.out_count);
    *probed += (double)args.probed_lists / (double)questions;
    for (uint64_t i = 0; i < wanted; i++) {
      for (uint64_t j = 0; j < wanted; j++) found += want[i] == got[j];
    }
    owed += wanted;
  }
  free(query);
  return (double)found / (double)owed;
}

static void test_recall(uint64_t seed, uint32_t dim, int set, ty_metric metric, double target) {
  ivf_case x;
  double probed;
  case_open(&x, dim, 9000, 200, set, metric, target, &seed);
  const uint64_t ks[] = {10, 1, 40};
  for (int i = 0; i < 4; i++) { /* one partition, then all: the index has two parts at most, and rows without any */
    uint64_t k = ks[i % 3];
    double recall = recall_of(&x, set, 200, k, i < 3 ? 0 : TY_NO_FILTER, target, &probed, &seed);
    /* 200 questions: two standard errors are 0.01 at 0.9. */
    CHECK_MESSAGE(recall >= target - 0.02, "%s dim %u metric %d k %" PRIu64 ": recall %.4f of %.2f", set_names[set],
                  (unsigned)dim, (int)metric, k, recall, target);
    if (i == 0)
      printf("ivf: %s dim %u metric %d target %.2f recall %.4f lists %.1f of %u\n", set_names[set], (unsigned)dim,
             (int)metric, target, recall, probed, (unsigned)x.f->c.ivf->parts[0].nlist);
  }
  case_close(&x);
}

#define PARTITIONS 12u

/* Questions without a filter to many partitions: of a question's ten answers each holds one or two, the nearest of its
 * own. */
static void test_partitions(uint64_t seed, int set, ty_metric metric, double target) {
  uint32_t dim = 32;
  uint64_t n = 9600; /* a partition has three rows of a cluster */
  double probed;
  ty_progress progress = {0, 0, 0};
  centres_drawn = 256;
  ivf_case x = {.centres = malloc((size_t)centres_drawn * dim * 4)};
  x.vectors = set_rows(dim, n, set, x.centres, &seed);
  model_row *rows = calloc(n, sizeof *rows);
  for (uint64_t i = 0; i < n; i++)
    rows[i] = (model_row){
        .row = i, .keys = {1 + (uint32_t)(test_random(&seed) % PARTITIONS), 1}, .vector = x.vectors + i * dim};
  x.f = fixture_make(dim, rows, n, 0);
  x.f->c.metric = metric;
  free(rows);
  x.r = fixture_rebase(x.f, x.spans);
  x.r.ivf_min_rows = 200;
  x.r.phases.progress = &progress;
  use_ivf(x.f, &x.r, target);
  CHECK(x.f->c.ivf != NULL && x.f->c.ivf->count == PARTITIONS && progress.done <= progress.total && progress.total > 0);
  double recall = recall_of(&x, set, 300, 10, TY_NO_FILTER, target, &probed, &seed);
  CHECK_MESSAGE(recall >= target - 0.01, "%s in %u partitions, metric %d: recall %.4f of %.2f", set_names[set],
                PARTITIONS, (int)metric, recall, target);
  printf("ivf: %s in %u partitions metric %d target %.2f recall %.4f lists %.1f\n", set_names[set], PARTITIONS,
         (int)metric, target, recall, probed);
  centres_drawn = CENTRES;
  case_close(&x);
}

/* ---- Exact questions ---- */

/* With an index lists are left out that provably hold no answer: the answer is that of a plain scan to the last bit. */
static void test_same_answer(uint64_t seed, uint32_t dim, int set, ty_metric metric) {
  ivf_case x;
  case_open(&x, dim, 2600, 60, set, metric, 0.9, &seed);
  fixture *f = x.f;
  ty_ivf *ivf = f->c.ivf;
  float *query = malloc(dim * 4ul);
  uint8_t *plain = malloc(1 << 20);
  uint64_t screened = 0, all = 0;
  for (int i = 0; i < 200; i++) fixture_kill(f, test_random(&seed) % f->count);
  for (int q = 0; q < 60 && ivf != NULL; q++) {
    const uint64_t ks[] = {1, 10, 100, 5000};
    ty_error err;
    uint64_t k = ks[q % 4], column = q % 5 == 0 ? 0 : q % 5 == 1 ? 1 : TY_NO_FILTER;
    set_row(query, dim, x.centres, q % 7 == 0 ? ADVERSARIAL : set, &seed);
    if (q % 9 == 0) memcpy(query, x.vectors + test_random(&seed) % f->count * dim, dim * 4ul);
    ty_ask_args args = search_args(query, k, column, column == TY_NO_FILTER ? NULL : "k1", 1);
    f->c.ivf = NULL;
    CHECK(ty_ask_entered(&f->c, &args, &err) == TY_OK && args.out_bytes < 1 << 20);
    uint64_t bytes = args.out_bytes;
    memcpy(plain, out, (size_t)bytes);
    all += args.screened_rows;
    f->c.ivf = ivf;
    CHECK(ty_ask_entered(&f->c, &args, &err) == TY_OK);
    CHECK_MESSAGE(args.out_bytes == bytes && memcmp(plain, out, (size_t)bytes) == 0 && args.probed_lists == 0,
                  "exact with an index: %s dim %u metric %d k %" PRIu64, set_names[set], (unsigned)dim, (int)metric, k);
    screened += args.screened_rows;
  }
  CHECK(screened <= all);
  if (set == TIGHT && dim == 24) CHECK(screened < all * 3 / 4);
  free(plain);
  free(query);
  case_close(&x);
}

/* ---- Its bytes ---- */

/* Any flip is refused or leaves an index that can be queried without harm. */
static void test_damage(uint64_t seed) {
  ivf_case x;
  case_open(&x, 24, 3000, 0, LOOSE, TY_INNER_PRODUCT, 0.9, &seed);
  fixture *f = x.f;
  ty_ivf *good = f->c.ivf;
  ty_error err;
  CHECK(good != NULL && same_part(&good->parts[0], &x.r.ivf->parts[0], f->c.dim));
  float query[24] = {1};
  for (int i = 0; i < 900; i++) {
    uint64_t at = test_random(&seed) % (i % 2 == 0 ? 192 : x.bytes.bytes);
    uint8_t flip = (uint8_t)(1u << test_random(&seed) % 8);
    x.bytes.data[at] ^= flip;
    ty_ivf *damaged = NULL;
    ty_slice part = {x.bytes.data, i % 10 == 9 ? test_random(&seed) % x.bytes.bytes : x.bytes.bytes};
    ty_status status = ty_ivf_open(&f->c, &f->c.base, f->c.spans, f->c.span_count, part, &damaged, &err);
    CHECK(status == TY_OK ? damaged != NULL : status == TY_CORRUPT && damaged == NULL);
    f->c.ivf = damaged;
    for (int exact = 0; exact < 2 && damaged != NULL; exact++) {
      ty_ask_args args = search_args(query, 10, TY_NO_FILTER, NULL, exact == 1 ? 1 : 0.5);
      CHECK(ty_ask_entered(&f->c, &args, &err) == TY_OK);
    }
    f->c.ivf = good;
    ty_ivf_free(damaged);
    x.bytes.data[at] ^= flip;
  }
  /* Bytes that are not aligned are copied. */
  ty_ivf *copied = NULL;
  uint8_t *moved = malloc((size_t)x.bytes.bytes + 8);
  memcpy(moved + 4, x.bytes.data, (size_t)x.bytes.bytes);
  ty_slice bytes = {moved + 4, x.bytes.bytes};
  CHECK(ty_ivf_open(&f->c, &f->c.base, f->c.spans, f->c.span_count, bytes, &copied, &err) == TY_OK &&
        same_part(&copied->parts[0], &good->parts[0], f->c.dim));
  ty_ivf_free(copied);
  free(moved);
  case_close(&x);
}

/* ---- How it is built ---- */

typedef struct cancelling {
  ty_progress progress;
  _Atomic bool over;
} cancelling;

static void *cancel_soon(void *argument) {
  cancelling *c = argument;
  while (__atomic_load_n(&c->progress.done, __ATOMIC_RELAXED) == 0 && !c->over) continue;
  __atomic_store_n(&c->progress.cancel, 1, __ATOMIC_RELAXED);
  return NULL;
}

static void test_build(uint64_t seed) {
  ivf_case x;
  case_open(&x, 24, 6000, 0, LOOSE, TY_INNER_PRODUCT, 0.95, &seed);
  fixture *f = x.f;
  ty_error err;
  ty_span spans[16];
  /* The same index with any number of threads, and of its rows in another order of memory. */
  for (uint32_t threads = 1; threads <= 4; threads += 1) {
    ty_rebase first = fixture_rebase(f, spans);
    first.want_ivf = first.retrain_ivf = true;
    first.ivf_min_rows = 1000;
    first.ivf_target_recall = 0.95;
    first.ivf_threads = threads;
    CHECK(ty_ivf_train(&first, &err) == TY_OK && first.ivf != NULL);
    static ty_ivf *reference;
    static ty_rebase kept;
    if (threads == 1) {
      reference = first.ivf;
      kept = first;
      continue;
    }
    CHECK(first.ivf->count == reference->count &&
          memcmp(first.rows, kept.rows, (size_t)first.count * sizeof *first.rows) == 0);
    for (uint32_t i = 0; i < first.ivf->count; i++)
      CHECK(same_part(&first.ivf->parts[i], &reference->parts[i], f->c.dim));
    ty_ivf_free(first.ivf);
    free(first.rows);
    if (threads == 4) {
      ty_ivf_free(reference);
      free(kept.rows);
    }
  }
  for (uint32_t threads = 1; threads <= 4; threads += 3) {
    x.r.ivf_threads = threads;
    CHECK(ty_ivf_calibrate(&x.r, &f->c.base, &err) == TY_OK &&
          same_part(&x.r.ivf->parts[0], &f->c.ivf->parts[0], f->c.dim));
  }
  /* Keep mode: the same centroids over the same rows give the same lists and radii, and keep their reach. */
  ty_rebase kept = fixture_rebase(f, spans);
  kept.want_ivf = true;
  CHECK(ty_ivf_train(&kept, &err) == TY_OK && kept.ivf != NULL && kept.ivf->count == f->c.ivf->count);
  CHECK(kept.ivf != NULL && same_part(&kept.ivf->parts[0], &f->c.ivf->parts[0], f->c.dim));
  CHECK(ty_ivf_calibrate(&kept, &f->c.base, &err) == TY_OK && kept.ivf->parts[0].reach == f->c.ivf->parts[0].reach);
  ty_ivf_free(kept.ivf);
  free(kept.rows);
  /* Cancelled before it starts, and while it runs. */
  for (int later = 0; later < 2; later++) {
    cancelling c = {.progress = {0, 0, later == 0}};
    pthread_t thread;
    ty_rebase r = fixture_rebase(f, spans);
    r.want_ivf = r.retrain_ivf = true;
    r.ivf_min_rows = 1000;
    r.ivf_target_recall = 0.9;
    r.phases.progress = &c.progress;
    if (later == 1 && pthread_create(&thread, NULL, cancel_soon, &c) != 0) abort();
    ty_status status = ty_ivf_train(&r, &err);
    c.over = true;
    if (later == 1) pthread_join(thread, NULL);
    CHECK(status == TY_CANCELLED ? r.ivf == NULL : later == 1);
    CHECK(later == 1 || status == TY_CANCELLED);
    CHECK(c.progress.done <= c.progress.total);
    ty_ivf_free(r.ivf);
    free(r.rows);
  }
  ty_progress stop = {0, 0, 1};
  x.r.phases.progress = &stop;
  CHECK(ty_ivf_calibrate(&x.r, &f->c.base, &err) == TY_CANCELLED);
  case_close(&x);
}

/* Rows that come later go to the delta, where they are read in full, and with the next compaction to the lists. Half of
 * the clusters are new here, so the centroids do not fit them; the index says so, and recall holds all the same because
 * the reach is measured again. */
static void test_drift(uint64_t seed) {
  ivf_case x;
  uint32_t dim = 24;
  double probed;
  x = (ivf_case){.centres = malloc((size_t)CENTRES * dim * 4)};
  x.vectors = set_rows(dim, 12000, TIGHT, x.centres, &seed);
  model_row *rows = calloc(12000, sizeof *rows);
  uint64_t first = 0, last = 12000; /* rows of the first 32 clusters before the others */
  for (uint64_t i = 0; i < 12000; i++) {
    const float *v = x.vectors + i * dim;
    uint32_t nearest = 0;
    float products[CENTRES];
    ame_kernel_table()->dot_f32(v, x.centres, CENTRES, dim, products);
    for (uint32_t c = 1; c < CENTRES; c++) nearest = products[c] > products[nearest] ? c : nearest;
    rows[nearest < CENTRES / 2 ? first++ : --last] = (model_row){.keys = {1, 1}, .vector = v};
  }
  for (uint64_t i = 0; i < 12000; i++) rows[i].row = i;
  x.f = fixture_make(dim, rows, first, 12000 - first);
  free(rows);
  x.f->count = first;
  x.r = fixture_rebase(x.f, x.spans);
  x.f->count = 12000;
  use_ivf(x.f, &x.r, 0.95);
  CHECK(x.f->c.ivf != NULL && ty_ivf_drift(&x.f->c.ivf->parts[0]) == 1);
  double before = recall_of(&x, TIGHT, 200, 10, TY_NO_FILTER, 0.95, &probed, &seed);
  ty_ivf_free(x.r.ivf);
  free(x.r.rows);
  x.r = fixture_rebase(x.f, x.spans);
  use_ivf(x.f, &x.r, 0.95);
  CHECK(x.f->c.ivf != NULL && x.f->c.ivf->parts[0].calibrated_rows == 12000);
  double drift = ty_ivf_drift(&x.f->c.ivf->parts[0]);
  double after = recall_of(&x, TIGHT, 200, 10, TY_NO_FILTER, 0.95, &probed, &seed);
  printf("ivf: half of the clusters came later: recall %.4f in the delta, %.4f in the lists, drift %.2f\n", before,
         after, drift);
  CHECK(before >= 0.93 && after >= 0.93 && drift > 1.25);
  case_close(&x);
}

/* Which queries an index answers, and that all answers are there. */
static void test_planning(uint64_t seed) {
  ivf_case x;
  case_open(&x, 24, 9000, 0, LOOSE, TY_INNER_PRODUCT, 0.9, &seed);
  fixture *f = x.f;
  ty_error err;
  float query[24];
  set_row(query, 24, x.centres, LOOSE, &seed);
  /* A target above the calibrated one, another column's filter, a partition without an index: all exact. */
  ty_ask_args args = search_args(query, 10, TY_NO_FILTER, NULL, 0.999);
  CHECK(ty_ask_entered(&f->c, &args, &err) == TY_OK && args.probed_lists == 0);
  args = search_args(query, 10, 1, "k1", 0.9);
  CHECK(ty_ask_entered(&f->c, &args, &err) == TY_OK && args.probed_lists == 0 && args.out_count == 10);
  args = search_args(query, 10, 0, "k2", 0.9);
  CHECK(ty_ask_entered(&f->c, &args, &err) == TY_OK && args.probed_lists == 0 && args.out_count == 10);
  args = search_args(query, 10, 0, "k1", 0.9);
  CHECK(ty_ask_entered(&f->c, &args, &err) == TY_OK && args.probed_lists > 0 && args.out_count == 10);
  /* More answers than near lists hold: lists are read until everything is there. */
  args = search_args(query, 9000, TY_NO_FILTER, NULL, 0.9);
  CHECK(ty_ask_entered(&f->c, &args, &err) == TY_OK && args.out_count == 9000);
  args = search_args(query, 3000, 0, "k1", 0.9);
  CHECK(ty_ask_entered(&f->c, &args, &err) == TY_OK && args.out_count == 3000);
  f->c.default_target_recall = 0.9;
  args = search_args(query, 5, TY_NO_FILTER, NULL, 0);
  CHECK(ty_ask_entered(&f->c, &args, &err) == TY_OK && args.probed_lists > 0 && args.out_count == 5);
  /* Nearly all rows die: those that are left are found, wherever they are. */
  for (uint64_t i = 0; i < f->count; i++) {
    if (i % 1000 != 7) fixture_kill(f, i);
  }
  args = search_args(query, 10, TY_NO_FILTER, NULL, 0.9);
  CHECK(ty_ask_entered(&f->c, &args, &err) == TY_OK && args.out_count == 9);
  case_close(&x);
}

/* Partitions that min_rows lets through and that have next to no rows; lists of one row, and empty ones. */
static void test_small(uint64_t seed) {
  for (uint64_t n = 1; n < 200; n = n * 2 + 1) {
    for (int set = 0; set < SETS; set++) {
      uint32_t dim = 5;
      float centres[CENTRES * 5], query[5];
      float *vectors = set_rows(dim, n, set, centres, &seed);
      model_row *rows = calloc(n, sizeof *rows);
      for (uint64_t i = 0; i < n; i++) rows[i] = (model_row){.row = i, .keys = {1, 1}, .vector = vectors + i * dim};
      fixture *f = fixture_make(dim, rows, n, 0);
      ty_span spans[16];
      ty_rebase r = fixture_rebase(f, spans);
      r.ivf_min_rows = 1;
      use_ivf(f, &r, 0.9);
      set_row(query, dim, centres, set, &seed);
      ty_error err;
      ty_ask_args args = search_args(query, n, TY_NO_FILTER, NULL, 0.9);
      CHECK(ty_ask_entered(&f->c, &args, &err) == TY_OK && args.out_count == n);
      ty_ivf_free(r.ivf);
      free(r.rows);
      fixture_free(f);
      free(rows);
      free(vectors);
    }
  }
}

static void test_ivf_all(uint64_t seed) {
  const double targets[] = {0.8, 0.98};
  for (int set = 0; set < ADVERSARIAL; set++) {
    if (!taken(seed + (uint64_t)set)) continue;
    for (int i = 0; i < 2; i++) test_recall(seed + (uint64_t)(10 * set + i), 24, set, TY_INNER_PRODUCT, targets[i]);
    test_recall(seed + (uint64_t)set, 24, set, TY_L2, 0.95);
    test_recall(seed + (uint64_t)set, 60, set, TY_COSINE, 0.9);
  }
  const uint32_t dims[] = {1, 24, 130};
  for (int set = 0; set < SETS; set++) {
    for (int i = 0; i < 3; i++) {
      if (!taken(seed + (uint64_t)(set + 10 * i))) continue;
      test_same_answer(seed + (uint64_t)(set + 10 * i), dims[i], set, TY_INNER_PRODUCT);
      test_same_answer(seed + (uint64_t)(set + 10 * i), dims[i], set, TY_L2);
    }
  }
  for (int set = TIGHT; set <= SCALED; set++) {
    if (set == FLAT) continue;
    test_partitions(seed, set, TY_INNER_PRODUCT, 0.9);
    test_partitions(seed, set, TY_L2, 0.95);
  }
  const uint32_t lists[] = {1, 63, 64, 400};
  for (int set = 0; set < SETS; set++) {
    for (int i = 0; i < 12; i++)
      if (taken(seed + (uint64_t)(12 * set + i))) test_nearest(seed + (uint64_t)i, dims[i / 4], set, lists[i % 4]);
  }
  test_damage(seed);
  test_build(seed);
  test_planning(seed);
  test_drift(seed);
  test_small(seed);
}

/* The centroids of one partition: k-means over a sample, seeded by k-means++ in groups. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ivf/near.h"

/* Centroids per square root of the rows. More lists are shorter, so that a query reads fewer rows, but every query
 * compares with all centroids, and the build takes longer. Measured on 60,000 x 784 images, 22,000 x 1024 texts and
 * 100,000 x 384 clustered rows: 2 and 4 take the same time a query within the noise; 4 takes 1.2 times as long to build
 * as 3 (29,451 texts: no longer), and with 2 the recall of real queries is 0.01 lower. */
#define LISTS_PER_ROOT 3.0
#define LISTS_MAX      65536u
/* Rows a centroid is trained on, fewer where the sample would exceed SAMPLE_BYTES_MAX; and Lloyd steps. Measured on the
 * same images and clustered rows and on 29,451 texts: with 64 rows and 10 steps the whole build takes 1.2 to 1.9 times
 * as long, and queries then read 2 to 12 % fewer rows, which is not most of their time. */
#define SAMPLE_PER_LIST  32u
#define SAMPLE_BYTES_MAX (256ull << 20)
#define STEPS_MAX        4u
/* Of them the first compare a row with all lists that may be near, the later ones with those kept of it by then: images
 * and clustered rows are spread over lists as well as with four full steps (queries read 0.99 and 1.00 of the rows),
 * and the build takes 0.93 and 0.87 of the time. After one full step queries read 2 to 3 % more rows; with two or three
 * steps in all 2 to 12 %. */
#define STEPS_FULL 2u
/* Seeding costs samples x centroids, so it is done in groups, each of this many centroids from its own rows: k-means++
 * of 600 centroids at once reads the sample 600 times. The seeds of different groups may lie close together; the Lloyd
 * steps move them apart. */
#define SEED_GROUP 64u
/* Steps end early when no centroid moved by more than this part of the mean squared distance. */
#define MOVE_MIN 1e-4f
/* Rows held out of the sample for calibration are at most one in so many. */
#define HELD_SHARE 10u

uint32_t ty_ivf_lists_for(uint64_t rows) {
  double n = LISTS_PER_ROOT * sqrt((double)rows);
  uint64_t lists = n > LISTS_MAX ? LISTS_MAX : (uint64_t)n;
  if (lists > rows / 16) lists = rows / 16; /* small partitions: a list shorter than a screening block saves nothing */
  return lists < 1 ? 1 : (uint32_t)lists;
}

static uint64_t held_for(uint64_t rows) {
  return rows / HELD_SHARE < TY_IVF_HELD_MAX ? rows / HELD_SHARE : TY_IVF_HELD_MAX;
}

static uint64_t sample_for(uint64_t rows, uint64_t nlist, uint64_t dim) {
  uint64_t sample = nlist * SAMPLE_PER_LIST, most = SAMPLE_BYTES_MAX / (dim * sizeof(float));
  if (sample > most) sample = most;
  if (sample < nlist) sample = nlist;
  uint64_t left = rows - held_for(rows);
  return sample < left ? sample : left;
}

uint64_t ty_ivf_train_work(uint64_t rows, uint64_t dim) {
  return STEPS_MAX * sample_for(rows, ty_ivf_lists_for(rows), dim);
}

typedef struct training {
  ty_ivf_builder *b;
  const ty_span *span;
  uint32_t nlist;
  uint64_t sample;
  uint64_t *index; /* of the span's rows: held out, then the sample, then the others */
  uint64_t held;
  float *rows, *distance; /* of each row to its centroid, squared */
  int8_t *codes;          /* of the rows; copied, as they are scattered over the segment */
  float *scale;
  uint32_t *assign, *kept; /* of each row its list, and TY_IVF_NEAR_KEPT that may be */
  float *centroids, *half_norms;
  ty_ivf_near *near; /* NULL in steps after STEPS_FULL */
  ty_ivf_asker askers[TY_CREW_MAX];
  uint64_t task_rows;
} training;

/* A partial shuffle: the first rows of `index` are distinct ones in random order. (Floyd's method would need a set.) */
static void draw(training *t) {
  uint64_t seed = 0x5eedull ^ t->span->count;
  for (uint64_t i = 0; i < t->span->count; i++) t->index[i] = i;
  for (uint64_t i = 0; i < t->held + t->sample; i++) {
    uint64_t j = i + ty_random(&seed) % (t->span->count - i);
    uint64_t chosen = t->index[j];
    t->index[j] = t->index[i];
    t->index[i] = chosen;
  }
}

static ty_status copy_task(void *context, uint64_t task, uint32_t worker, ty_error *err) {
  const training *t = context;
  size_t stride = AME_CODE_STRIDE(t->b->dim);
  uint64_t end = (task + 1) * t->task_rows < t->sample ? (task + 1) * t->task_rows : t->sample;
  for (uint64_t i = task * t->task_rows; i < end; i++) {
    float *row = t->rows + i * t->b->dim;
    ty_ivf_asked asked = ty_ivf_ask(t->b, &t->askers[worker], 0, t->span->first + t->index[t->held + i]);
    memcpy(row, asked.row, (size_t)t->b->dim * sizeof *row);
    memcpy(t->codes + i * stride, asked.codes, stride);
    t->scale[i] = (float)asked.scale; /* exact: it was a float */
    if (!t->b->k->all_finite(row, (size_t)t->b->dim)) return ty_ivf_not_finite(err);
  }
  return TY_OK;
}

static ty_status seed_task(void *context, uint64_t task, uint32_t worker, ty_error *err) {
  (void)worker, (void)err;
  const training *t = context;
  uint64_t first = task * SEED_GROUP, dim = t->b->dim;
  uint64_t lists = t->nlist - first < SEED_GROUP ? t->nlist - first : SEED_GROUP;
  uint64_t from = t->sample * first / t->nlist, to = t->sample * (first + lists) / t->nlist;
  t->b->k->kmeans_seed(t->rows + from * dim, (size_t)(to - from), (size_t)dim, (size_t)lists, 1 + first,
                       t->centroids + first * dim, t->distance + from);
  return TY_OK;
}

static ty_status assign_task(void *context, uint64_t task, uint32_t worker, ty_error *err) {
  (void)worker, (void)err;
  const training *t = context;
  size_t stride = AME_CODE_STRIDE(t->b->dim);
  uint64_t from = task * t->task_rows, n = t->sample - from < t->task_rows ? t->sample - from : t->task_rows;
  for (uint64_t at = from; at < from + n && t->near == NULL; at++)
    ty_ivf_near_again(t->b, t->centroids, t->kept + at * TY_IVF_NEAR_KEPT, t->rows + at * t->b->dim, t->assign + at,
                      t->distance + at);
  for (uint64_t at = from; at < from + n && t->near != NULL; at += TY_IVF_NEAR_ROWS) {
    ty_ivf_asked rows[TY_IVF_NEAR_ROWS];
    uint32_t count = from + n - at < TY_IVF_NEAR_ROWS ? (uint32_t)(from + n - at) : TY_IVF_NEAR_ROWS;
    for (uint32_t i = 0; i < count; i++)
      rows[i] = (ty_ivf_asked){t->rows + (at + i) * t->b->dim, t->codes + (at + i) * stride, (double)t->scale[at + i]};
    ty_ivf_near_find(t->near, rows, count, t->assign + at, t->distance + at, t->kept + at * TY_IVF_NEAR_KEPT);
  }
  ty_crew_step(&t->b->crew, n);
  return TY_OK;
}

typedef struct far_row {
  float distance;
  uint32_t row; /* a sample has fewer than 2^32 */
} far_row;

static int farthest_first(const void *a, const void *b) {
  const far_row *x = a, *y = b;
  if (x->distance != y->distance) return x->distance > y->distance ? -1 : 1;
  return (x->row > y->row) - (x->row < y->row);
}

/* Gives each centroid without rows the row farthest from its own centroid. kmeans_update does the same, but passes over
 * the sample once for each: with a partition of mostly equal rows nearly all centroids are empty, and that takes
 * seconds without a check of `cancel`. */
static ty_status fill_empty(training *t, uint64_t *counts, ty_error *err) {
  uint64_t empty = 0;
  memset(counts, 0, (size_t)t->nlist * sizeof *counts);
  for (uint64_t i = 0; i < t->sample; i++) counts[t->assign[i]]++;
  for (uint32_t l = 0; l < t->nlist; l++) empty += counts[l] == 0;
  if (empty == 0) return TY_OK;
  far_row *far = malloc((size_t)t->sample * sizeof *far);
  if (far == NULL) return ty_fail(err, TY_NO_MEMORY, "not enough memory to train an IVF index");
  for (uint64_t i = 0; i < t->sample; i++) far[i] = (far_row){t->distance[i], (uint32_t)i};
  qsort(far, (size_t)t->sample, sizeof *far, farthest_first);
  uint64_t next = 0;
  for (uint32_t l = 0; l < t->nlist; l++) {
    if (counts[l] != 0) continue;
    while (next < t->sample && counts[t->assign[far[next].row]] < 2) next++;
    if (next == t->sample) break;
    counts[t->assign[far[next].row]]--;
    t->kept[(size_t)far[next].row * TY_IVF_NEAR_KEPT + TY_IVF_NEAR_KEPT - 1] = l;
    t->assign[far[next++].row] = l;
    counts[l] = 1;
  }
  free(far);
  return TY_OK;
}

static ty_status lloyd(training *t, double *sums, uint64_t *counts, ty_error *err) {
  const ame_kernel *k = t->b->k;
  size_t dim = (size_t)t->b->dim;
  uint64_t tasks = (t->sample + t->task_rows - 1) / t->task_rows;
  for (uint32_t i = 0; i < STEPS_MAX; i++) {
    k->kmeans_half_norms(t->centroids, t->nlist, dim, t->half_norms);
    ty_status status = TY_OK;
    t->near = NULL;
    if (i < STEPS_FULL) status = ty_ivf_near_open(t->b, t->span, t->centroids, t->half_norms, t->nlist, &t->near, err);
    if (status == TY_OK) status = ty_crew_run(&t->b->crew, tasks, assign_task, t, err);
    ty_ivf_near_close(t->near);
    if (status != TY_OK) return status;
    double spread = 0; /* mean squared distance to the own centroid */
    for (uint64_t at = 0; at < t->sample; at++) spread += (double)t->distance[at];
    spread /= (double)t->sample;
    status = fill_empty(t, counts, err);
    if (status != TY_OK) return status;
    float moved =
        k->kmeans_update(t->rows, (size_t)t->sample, dim, t->assign, t->distance, t->nlist, t->centroids, sums, counts);
    if (!((double)moved > MOVE_MIN * spread)) {
      ty_crew_step(&t->b->crew, t->sample * (STEPS_MAX - 1 - i)); /* the skipped steps count as done */
      break;
    }
  }
  k->kmeans_half_norms(t->centroids, t->nlist, dim, t->half_norms);
  return TY_OK;
}

static int ascending(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

ty_status ty_ivf_train_part(ty_ivf_builder *b, const ty_span *span, uint32_t nlist, float *centroids, float *half_norms,
                            ty_ivf_held *held, ty_error *err) {
  training t = {.b = b, .span = span, .nlist = nlist, .centroids = centroids, .half_norms = half_norms};
  t.held = held_for(span->count);
  t.sample = sample_for(span->count, nlist, b->dim);
  t.task_rows = ty_ivf_task_rows(nlist, b->dim);
  ty_status status = TY_OK;
  ty_arena memory = {0};
  double *sums = ty_arena_take(&memory, nlist * b->dim, sizeof *sums);
  uint64_t *counts = ty_arena_take(&memory, nlist, sizeof *counts);
  t.index = ty_arena_take(&memory, span->count, sizeof *t.index);
  t.rows = ty_arena_take(&memory, t.sample * b->dim, sizeof *t.rows);
  t.codes = ty_arena_align(&memory, t.sample, AME_CODE_STRIDE(b->dim));
  t.scale = ty_arena_take(&memory, t.sample, sizeof *t.scale);
  t.distance = ty_arena_take(&memory, t.sample, sizeof *t.distance);
  t.assign = ty_arena_take(&memory, t.sample, sizeof *t.assign);
  t.kept = ty_arena_take(&memory, t.sample * TY_IVF_NEAR_KEPT, sizeof *t.kept);
  for (uint32_t i = 0; i < b->crew.threads; i++) t.askers[i] = ty_ivf_asker_open(b, &memory);
  held->rows = malloc((size_t)(t.held + 1) * sizeof *held->rows);
  if (memory.failed || held->rows == NULL) {
    status = ty_fail(err, TY_NO_MEMORY, "not enough memory to train an IVF index on %llu rows",
                     (unsigned long long)t.sample);
    goto done;
  }
  draw(&t);
  held->count = t.held;
  memcpy(held->rows, t.index, (size_t)t.held * sizeof *held->rows);
  qsort(held->rows, (size_t)t.held, sizeof *held->rows, ascending);
  status = ty_crew_run(&b->crew, (t.sample + t.task_rows - 1) / t.task_rows, copy_task, &t, err);
  if (status == TY_OK) status = ty_crew_run(&b->crew, (nlist + SEED_GROUP - 1) / SEED_GROUP, seed_task, &t, err);
  if (status == TY_OK) status = lloyd(&t, sums, counts, err);
done:
  ty_arena_free(&memory);
  return status;
}

/* Every row to its list: the nearest centroid, the order of lists, and how far a list's rows lie from its centroid. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ivf.h"

/* Rows and centroids that are compared while both are in the second-level cache: 100 + 200 KB of 384 floats. kmeans_assign alone passes
 * over all centroids for each four rows: with 2 MB of them it waits for memory half of the time. */
#define TILE_ROWS      64u
#define TILE_CENTROIDS 128u
#define TASK_PRODUCTS  (1ull << 29)
#define TASK_ROWS_MAX  4096u

uint64_t ty_ivf_task_rows(uint64_t nlist, uint64_t dim) {
  uint64_t rows = TASK_PRODUCTS / (nlist * dim) / 4 * 4;
  return rows < 4 ? 4 : rows > TASK_ROWS_MAX ? TASK_ROWS_MAX : rows;
}

void ty_ivf_copy_row(const ty_ivf_builder *b, uint64_t at, float *out) {
  ty_ref ref = b->r->rows[at];
  const float *row = ty_row_vector(b->r->c, ref.segment, ref.at, out);
  if (row != out) memcpy(out, row, (size_t)b->dim * sizeof(float));
}

void ty_ivf_nearest(const ty_ivf_builder *b, const float *rows, uint64_t n, const float *centroids,
                    const float *half_norms, uint64_t nlist, uint32_t *assign, float *best) {
  uint32_t fresh[TILE_ROWS];
  float fresh_best[TILE_ROWS];
  for (uint64_t row = 0; row < n; row += TILE_ROWS) {
    uint64_t height = n - row < TILE_ROWS ? n - row : TILE_ROWS;
    for (uint64_t from = 0; from < nlist; from += TILE_CENTROIDS) {
      uint64_t width = nlist - from < TILE_CENTROIDS ? nlist - from : TILE_CENTROIDS;
      b->k->kmeans_assign(rows + row * b->dim, (size_t)height, (size_t)b->dim, centroids + from * b->dim,
                          half_norms + from, (size_t)width, fresh, fresh_best);
      for (uint64_t i = 0; i < height; i++) {
        if (from != 0 && !(fresh_best[i] < best[row + i])) continue; /* ties: the lowest index */
        assign[row + i] = (uint32_t)(fresh[i] + from);
        best[row + i] = fresh_best[i];
      }
    }
  }
}

typedef struct assigning {
  ty_ivf_builder *b;
  const ty_span *span;
  const ty_ivf_part *part;
  uint64_t task_rows;
  uint32_t *assign;
  float *square;                      /* of each row's distance */
  float *rows[TY_CREW_MAX];    /* task_rows rows each */
  float *best[TY_CREW_MAX];
} assigning;

ty_status ty_ivf_not_finite(ty_error *err) {
  return ty_fail(err, TY_CORRUPT, "a vector of the base is not finite: restore the collection from a copy or an export");
}

static ty_status assign_task(void *context, uint64_t task, uint32_t worker, ty_error *err) {
  const assigning *a = context;
  const ty_ivf_part *part = a->part;
  uint64_t dim = a->b->dim, at = task * a->task_rows, left = a->span->count - at;
  uint64_t n = left < a->task_rows ? left : a->task_rows;
  float *rows = a->rows[worker];
  for (uint64_t i = 0; i < n; i++) ty_ivf_copy_row(a->b, a->span->first + at + i, rows + i * dim);
  if (!a->b->k->all_finite(rows, (size_t)(n * dim))) return ty_ivf_not_finite(err);
  ty_ivf_nearest(a->b, rows, n, part->centroids, part->half_norms, part->nlist, a->assign + at, a->best[worker]);
  /* Anew and not from `best`: there the distance of a near row is the difference of two large numbers. */
  for (uint64_t i = 0; i < n; i++)
    a->b->k->sq_l2(rows + i * dim, part->centroids + (uint64_t)a->assign[at + i] * dim, 1, (size_t)dim,
                   a->square + at + i);
  ty_crew_step(&a->b->crew, n);
  return TY_OK;
}

/* Puts the rows in the order of lists, within a list as they were (by birth). */
static void reorder(const assigning *a, const ty_ivf_held *held, ty_ref *sorted, uint64_t *list_starts,
                    uint64_t *held_positions) {
  const ty_span *span = a->span;
  uint32_t nlist = a->part->nlist;
  memset(list_starts, 0, ((size_t)nlist + 1) * sizeof *list_starts);
  for (uint64_t i = 0; i < span->count; i++) list_starts[a->assign[i] + 1]++;
  list_starts[0] = span->first;
  for (uint32_t l = 0; l < nlist; l++) list_starts[l + 1] += list_starts[l];
  /* list_starts[l] runs ahead while rows are placed and ends at the start of l + 1: shift it back afterwards. */
  ty_ref *rows = a->b->r->rows + span->first;
  uint64_t next_held = 0;
  for (uint64_t i = 0; i < span->count; i++) {
    uint64_t position = list_starts[a->assign[i]]++;
    sorted[position - span->first] = rows[i];
    if (next_held < held->count && held->rows[next_held] == i) held_positions[next_held++] = position;
  }
  memcpy(rows, sorted, (size_t)span->count * sizeof *rows);
  memmove(list_starts + 1, list_starts, (size_t)nlist * sizeof *list_starts);
  list_starts[0] = span->first;
}

/* Radii. sq_l2 is good to dim * 2^-22, plus what is lost among the denormals; with both added `most` is a bound. A square that overflowed
 * makes an infinite radius, of which every bound is infinite: such a list is always read. */
static void measure(const assigning *a, const uint64_t *list_starts, double *sums, float *rms, float *most) {
  double relative = 1 + (double)a->b->dim * 0x1p-22 + 0x1p-20, lost = (double)a->b->dim * 0x1p-148;
  for (uint32_t l = 0; l < a->part->nlist; l++) most[l] = 0, sums[l] = 0;
  for (uint64_t i = 0; i < a->span->count; i++) {
    uint32_t l = a->assign[i];
    sums[l] += (double)a->square[i];
    if (a->square[i] > most[l]) most[l] = a->square[i];
  }
  for (uint32_t l = 0; l < a->part->nlist; l++) {
    uint64_t rows = list_starts[l + 1] - list_starts[l];
    rms[l] = rows == 0 ? 0 : (float)sqrt(sums[l] / (double)rows);
    most[l] = nextafterf((float)sqrt(((double)most[l] + lost) * relative), INFINITY);
  }
}

ty_status ty_ivf_assign_part(ty_ivf_builder *b, ty_ivf *ivf, const ty_span *span, const ty_ivf_held *held,
                             ty_ivf_part *part, ty_error *err) {
  assigning a = {.b = b, .span = span, .part = part, .task_rows = ty_ivf_task_rows(part->nlist, b->dim)};
  uint64_t nlist = part->nlist, code_bytes = nlist * AME_CODE_STRIDE(b->dim);
  float *rms = ty_ivf_memory(ivf, nlist * sizeof *rms), *most = ty_ivf_memory(ivf, nlist * sizeof *most);
  ame_code_info *info = ty_ivf_memory(ivf, nlist * sizeof *info);
  int8_t *codes = ty_ivf_memory(ivf, code_bytes);
  uint64_t *list_starts = ty_ivf_memory(ivf, (nlist + 1) * sizeof *list_starts);
  uint64_t *held_positions = ty_ivf_memory(ivf, held->count * sizeof *held_positions);
  ty_ref *sorted = malloc((size_t)span->count * sizeof *sorted);
  double *sums = malloc((size_t)nlist * sizeof *sums);
  a.assign = malloc((size_t)span->count * sizeof *a.assign);
  a.square = malloc((size_t)span->count * sizeof *a.square);
  bool fits = rms != NULL && most != NULL && info != NULL && codes != NULL && list_starts != NULL &&
              held_positions != NULL && sorted != NULL && sums != NULL && a.assign != NULL && a.square != NULL;
  for (uint32_t i = 0; i < b->crew.threads; i++) {
    a.rows[i] = malloc((size_t)(a.task_rows * b->dim) * sizeof(float));
    a.best[i] = malloc((size_t)a.task_rows * sizeof(float));
    fits = fits && a.rows[i] != NULL && a.best[i] != NULL;
  }
  ty_status status = TY_OK;
  if (!fits) {
    status =
        ty_fail(err, TY_NO_MEMORY, "not enough memory to group %llu rows by IVF list", (unsigned long long)span->count);
    goto done;
  }
  status = ty_crew_run(&b->crew, (span->count + a.task_rows - 1) / a.task_rows, assign_task, &a, err);
  if (status != TY_OK) goto done;
  reorder(&a, held, sorted, list_starts, held_positions);
  measure(&a, list_starts, sums, rms, most);
  memset(codes, 0, (size_t)code_bytes);
  b->k->quantize_i8(part->centroids, (size_t)nlist, (size_t)b->dim, codes, info);
  part->rms = rms;
  part->most = most;
  part->info = info;
  part->codes = codes;
  part->list_starts = list_starts;
  part->held = held_positions;
  part->held_count = (uint32_t)held->count;
done:
  free(sorted);
  free(sums);
  free(a.assign);
  free(a.square);
  for (uint32_t i = 0; i < b->crew.threads; i++) {
    free(a.rows[i]);
    free(a.best[i]);
  }
  return status;
}

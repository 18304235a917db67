/* Assigns rows to the list of the nearest centroid, orders them by list, and measures the distances of a list's rows
 * from its centroid. */
#include <math.h>
#include <string.h>

#include "ivf/near.h"
#include "os/spill.h"

#define TASK_PRODUCTS (1ull << 29)
#define TASK_ROWS_MAX 4096u

uint64_t ty_ivf_task_rows(uint64_t nlist, uint64_t dim) {
  uint64_t rows = TASK_PRODUCTS / (nlist * dim) / 4 * 4;
  return rows < 4 ? 4 : rows > TASK_ROWS_MAX ? TASK_ROWS_MAX : rows;
}

typedef struct assigning {
  ty_ivf_builder *b;
  const ty_span *span;
  const ty_ivf_part *part;
  uint64_t task_rows;
  uint32_t *assign;
  float *square; /* of each row's distance */
  ty_spill assign_memory, square_memory, sorted_memory;
  ty_ivf_near *near;
  ty_ivf_asker askers[TY_CREW_MAX];
} assigning;

ty_status ty_ivf_not_finite(ty_error *err) {
  return ty_fail(err, TY_CORRUPT,
                 "a vector of the base is not finite: restore the collection from a copy or an export");
}

static ty_status assign_task(void *context, uint64_t task, uint32_t worker, ty_error *err) {
  assigning *a = context;
  uint64_t from = task * a->task_rows, left = a->span->count - from;
  uint64_t n = left < a->task_rows ? left : a->task_rows;
  for (uint64_t at = from; at < from + n; at += TY_IVF_NEAR_ROWS) {
    ty_ivf_asked rows[TY_IVF_NEAR_ROWS];
    uint32_t count = from + n - at < TY_IVF_NEAR_ROWS ? (uint32_t)(from + n - at) : TY_IVF_NEAR_ROWS;
    for (uint32_t i = 0; i < count; i++) {
      rows[i] = ty_ivf_ask(a->b, &a->askers[worker], i, a->span->first + at + i);
      if (!a->b->k->all_finite(rows[i].row, (size_t)a->b->dim)) return ty_ivf_not_finite(err);
    }
    ty_ivf_near_find(a->near, rows, count, a->assign + at, a->square + at, NULL);
  }
  ty_crew_step(&a->b->crew, n);
  return TY_OK;
}

/* Sorts the rows by list, stably (by birth within a list). */
static void reorder(const assigning *a, const ty_ivf_held *held, ty_ref *sorted, uint64_t *list_starts,
                    uint64_t *held_positions) {
  const ty_span *span = a->span;
  uint32_t nlist = a->part->nlist;
  memset(list_starts, 0, ((size_t)nlist + 1) * sizeof *list_starts);
  for (uint64_t i = 0; i < span->count; i++) list_starts[a->assign[i] + 1]++;
  list_starts[0] = span->first;
  for (uint32_t l = 0; l < nlist; l++) list_starts[l + 1] += list_starts[l];
  /* list_starts[l] advances while rows are placed and ends at the start of l + 1: shifted back afterwards. */
  ty_ref *rows = a->b->r->rows + span->first;
  uint64_t next_held = 0;
  for (uint64_t i = 0; i < span->count; i++) {
    TY_ASSERT(a->assign[i] < nlist);
    uint64_t position = list_starts[a->assign[i]]++;
    TY_ASSERT(position - span->first < span->count);
    sorted[position - span->first] = rows[i];
    if (next_held < held->count && held->rows[next_held] == i) held_positions[next_held++] = position;
  }
  TY_ASSERT(next_held == held->count);
  memcpy(rows, sorted, (size_t)span->count * sizeof *rows);
  memmove(list_starts + 1, list_starts, (size_t)nlist * sizeof *list_starts);
  list_starts[0] = span->first;
}

/* Radii. sq_l2 has a relative error of dim * 2^-22, plus that of denormals; with both added `most` is a bound. A square
 * that overflowed gives an infinite radius and infinite bounds: such a list is always read. */
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
  ty_arena memory = {0};
  float *rms = ty_arena_align(&ivf->memory, nlist, sizeof *rms);
  float *most = ty_arena_align(&ivf->memory, nlist, sizeof *most);
  ame_code_info *info = ty_arena_align(&ivf->memory, nlist, sizeof *info);
  int8_t *codes = ty_arena_align(&ivf->memory, code_bytes, 1);
  uint64_t *list_starts = ty_arena_align(&ivf->memory, nlist + 1, sizeof *list_starts);
  uint64_t *held_positions = ty_arena_align(&ivf->memory, held->count, sizeof *held_positions);
  double *sums = ty_arena_take(&memory, nlist, sizeof *sums);
  for (uint32_t i = 0; i < b->crew.threads; i++) a.askers[i] = ty_ivf_asker_open(b, &memory);
  bool fits = !ivf->memory.failed && !memory.failed &&
              ty_spill_grow(ty_dir_of(b->r->c), &a.assign_memory, 0, span->count * sizeof *a.assign) &&
              ty_spill_grow(ty_dir_of(b->r->c), &a.square_memory, 0, span->count * sizeof *a.square) &&
              ty_spill_grow(ty_dir_of(b->r->c), &a.sorted_memory, 0, span->count * sizeof(ty_ref));
  a.assign = a.assign_memory.data;
  a.square = a.square_memory.data;
  ty_status status = TY_OK;
  if (!fits) {
    status =
        ty_fail(err, TY_NO_MEMORY, "not enough memory to group %llu rows by IVF list", (unsigned long long)span->count);
    goto done;
  }
  status = ty_ivf_near_open(b, span, part->centroids, part->half_norms, part->nlist, &a.near, err);
  if (status != TY_OK) goto done;
  status = ty_crew_run(&b->crew, (span->count + a.task_rows - 1) / a.task_rows, assign_task, &a, err);
  if (status != TY_OK) goto done;
  reorder(&a, held, a.sorted_memory.data, list_starts, held_positions);
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
  ty_arena_free(&memory);
  ty_spill_free(b->r->c->env, &a.assign_memory);
  ty_spill_free(b->r->c->env, &a.square_memory);
  ty_spill_free(b->r->c->env, &a.sorted_memory);
  ty_ivf_near_close(a.near);
  return status;
}

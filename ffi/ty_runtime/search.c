/* ty_search: plans which runs of rows a question reads, scans them, and packs the answer. */
#include <inttypes.h>
#include <stdlib.h>

#include "scan.h"

/* The lists of one partition that a question probes must hold this many rows for each row asked, whatever nprobe says: nprobe is
 * calibrated for ten answers, and fifty lists hold no 10,000 rows. A guess on the safe side. */
#define ROWS_PER_ANSWER 8u
/* A partition that would need more of its lists than this (rows without any structure do) is read in full, in one run: the exact answer
 * is the faster one then. Measured on 100,000 x 384 unclustered rows: 79 % of the rows by lists 3.35 ms, all in a run 2.66 ms. */
#define PROBES_WORTH_IT(nlist) ((uint64_t)(nlist)*2 / 3)

typedef struct plan {
  ty_range *ranges;
  uint64_t count, capacity;
  uint64_t probed;
} plan;

static bool plan_add(plan *p, const ty_segment *segment, uint64_t first, uint64_t count) {
  if (count == 0) return true;
  if (p->count == p->capacity) {
    uint64_t capacity = p->capacity == 0 ? 64 : 2 * p->capacity, bytes;
    if (!ty_mul(capacity, sizeof(ty_range), &bytes) || bytes > SIZE_MAX) return false;
    ty_range *grown = realloc(p->ranges, (size_t)bytes);
    if (grown == NULL) return false;
    p->ranges = grown;
    p->capacity = capacity;
  }
  p->ranges[p->count++] = (ty_range){segment, first, count};
  return true;
}

/* Adds the lists of one partition whose centroids have the largest inner products with the query. By inner product, not by distance: the
 * order of the answer does not depend on the query's length, so the choice of lists must not either. */
static bool plan_probe(plan *p, const ty_collection *c, const ty_ivf_part *part, const float *query, uint64_t top_k) {
  const ame_kernel *k = c->env->kernel;
  uint64_t rows_wanted;
  if (!ty_mul(top_k, ROWS_PER_ANSWER, &rows_wanted)) rows_wanted = UINT64_MAX;
  bool fits = false;
  float *scores = malloc((size_t)part->nlist * sizeof *scores);
  ame_hit *hits = malloc((size_t)part->nlist * sizeof *hits);
  ame_hit *best = malloc((size_t)part->nlist * sizeof *best);
  if (scores == NULL || hits == NULL || best == NULL) goto done;
  k->dot_f32(query, part->centroids, part->nlist, c->dim, scores);
  for (uint32_t i = 0; i < part->nlist; i++) hits[i] = (ame_hit){i, scores[i] == scores[i] ? scores[i] : 0, i};
  uint64_t wanted = part->nprobe;
  for (;;) {
    ame_topk heap = {best, wanted, 0};
    k->topk_offer(&heap, hits, part->nlist);
    k->topk_sort(&heap);
    uint64_t rows = 0;
    for (uint64_t i = 0; i < heap.count; i++)
      rows += part->list_starts[best[i].row + 1] - part->list_starts[best[i].row];
    if (rows >= rows_wanted || wanted == part->nlist) break;
    wanted = wanted > part->nlist / 2 ? part->nlist : wanted * 2;
  }
  for (uint64_t i = 0; i < wanted; i++) {
    uint64_t first = part->list_starts[best[i].row];
    if (!plan_add(p, &c->base, first, part->list_starts[best[i].row + 1] - first)) goto done;
  }
  p->probed += wanted;
  fits = true;
done:
  free(scores);
  free(hits);
  free(best);
  return fits;
}

/* An index answers a question only where it was calibrated for at least the recall asked, and where no other column is filtered: nprobe
 * says nothing about the lists that hold the few rows of a filter (faiss falls to 0.88 there), and reading just the matching rows is
 * cheaper anyway. */
static bool use_ivf(const ty_collection *c, const ty_filter *filter, double target) {
  return c->ivf != NULL && target < 1 && target <= c->ivf->target_recall + 1e-9 && (filter->all || filter->column == 0);
}

static bool plan_build(plan *p, const ty_collection *c, const ty_filter *filter, const float *query, uint64_t top_k,
                       bool ivf) {
  uint64_t at = filter->first, end = filter->first + filter->count;
  if (ivf) {
    for (uint32_t i = 0; i < c->ivf->count; i++) {
      const ty_ivf_part *part = &c->ivf->parts[i];
      uint64_t first = part->list_starts[0], last = part->list_starts[part->nlist];
      if (first < at || last > end || first == last || part->nprobe > PROBES_WORTH_IT(part->nlist)) continue;
      if (!plan_add(p, &c->base, at, first - at)) return false; /* partitions without an index, in one run */
      if (!plan_probe(p, c, part, query, top_k)) return false;
      at = last;
    }
  }
  return plan_add(p, &c->base, at, end - at) && plan_add(p, &c->delta, 0, c->delta.count);
}

static ty_status search_rows(const ty_collection *c, ty_search_args *args, const ty_filter *filter, bool ivf,
                             ty_scored **hits, uint64_t *count, ty_error *err) {
  plan p = {0};
  ty_scan counts = {0};
  ty_status status;
  *hits = NULL;
  *count = 0;
  if (plan_build(&p, c, filter, args->query, args->top_k, ivf)) {
    status = ty_scan_top(c->env->kernel, c->dim, args->query, args->top_k, filter, p.ranges, p.count, hits, count,
                         &counts, err);
  } else {
    status = ty_fail(err, TY_NO_MEMORY, "not enough memory to plan a search");
  }
  args->screened_rows += counts.screened;
  args->scored_rows += counts.scored;
  args->probed_lists = p.probed;
  free(p.ranges);
  return status;
}

ty_status ty_search_entered(ty_collection *c, ty_search_args *args, ty_error *err) {
  args->out_bytes = args->out_count = args->screened_rows = args->scored_rows = args->probed_lists = 0;
  if (args->top_k == 0) return ty_fail(err, TY_INVALID, "top_k must be at least 1, not 0");
  if (!(args->target_recall >= 0 && args->target_recall <= 1)) {
    return ty_fail(err, TY_INVALID, "target_recall must be in [0, 1], not %g", args->target_recall);
  }
  if (!c->env->kernel->all_finite(args->query, c->dim))
    return ty_fail(err, TY_INVALID, "the query vector holds NaN or Infinity");
  ty_filter filter;
  ty_scored *hits = NULL;
  uint64_t count = 0;
  ty_answer answer = {.out = args->out, .capacity = args->out_capacity};
  ty_status status = ty_filter_open(c, args->column, (ty_slice){args->key, args->key_bytes}, &filter, err);
  if (status != TY_OK) return status;
  atomic_fetch_add_explicit(&c->searches, 1, memory_order_relaxed);
  double target = args->target_recall == 0 ? c->default_target_recall : args->target_recall;
  bool ivf = use_ivf(c, &filter, target);
  status = search_rows(c, args, &filter, ivf, &hits, &count, err);
  if (status == TY_OK && args->probed_lists != 0 && count < args->top_k) {
    /* The probed lists held too few live rows: deleted ones since the build. What exists is owed, so everything is read. */
    free(hits);
    status = search_rows(c, args, &filter, false, &hits, &count, err);
  }
  if (status != TY_OK) goto done;
  for (uint64_t i = 0; i < count; i++)
    ty_answer_row(&answer, c, hits[i].ref, (double)hits[i].score, args->what, (ty_slice){NULL, 0});
  args->out_bytes = answer.bytes;
  args->out_count = count;
  status = ty_answer_end(&answer, err);
done:
  free(hits);
  return status;
}

ty_status ty_search(ty_collection *c, ty_search_args *args, ty_error *err) {
  ty_status status = ty_enter(c, err);
  if (status != TY_OK) return status;
  status = ty_search_entered(c, args, err);
  ty_leave(c);
  return status;
}

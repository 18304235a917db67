/* Builds an index, or keeps one in a rewrite, by partition. */
#include "ivf/builder.h"
#include "ivf/signs.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint64_t part_rows(const ty_ivf_part *part) { return part->list_starts[part->nlist] - part->list_starts[0]; }

static double mean_square(const ty_ivf_part *part) {
  double sum = 0;
  for (uint32_t l = 0; l < part->nlist; l++) {
    double rms = (double)part->rms[l];
    sum += rms * rms * (double)(part->list_starts[l + 1] - part->list_starts[l]);
  }
  return sum / (double)part_rows(part);
}

/* Ratio of two mean squares; 1 where it is undefined: all rows on their centroids, or overflow. */
static double growth(double now, double then) {
  double ratio = now / then;
  return ratio >= 0 && ratio <= DBL_MAX ? ratio : 1;
}

double ty_ivf_drift(const ty_ivf_part *part) { return growth(mean_square(part), part->built_square); }

/* The trained part of the old index for the same partition; NULL where it has none. */
static const ty_ivf_part *old_part(const ty_collection *c, uint32_t key) {
  if (c->ivf == NULL) return NULL;
  for (uint32_t i = 0; i < c->ivf->count; i++) {
    if (c->spans[c->ivf->parts[i].span].key == key) return &c->ivf->parts[i];
  }
  return NULL;
}

/* A reach measured on other rows does not guarantee the recall: with clusters new to the centroids it found 0.78 at a
 * target of 0.95. Measuring it again is a good part of a build, so a compaction does it only if the mean squared
 * distance or the number of rows changed by one of these factors. Calibration then queries random rows. */
#define SQUARE_CHANGE 1.1
#define ROWS_CHANGE   1.5

static bool is_stale(const ty_ivf_part *part) {
  double square = growth(mean_square(part), part->calibrated_square);
  double rows = (double)part_rows(part) / (double)part->calibrated_rows;
  return square > SQUARE_CHANGE || square < 1 / SQUARE_CHANGE || !(rows < ROWS_CHANGE && rows > 1 / ROWS_CHANGE);
}

static ty_status hold_again(ty_ivf *ivf, ty_ivf_part *part, ty_error *err) {
  uint64_t rows = part_rows(part), count = rows < TY_IVF_HELD_MAX ? rows : TY_IVF_HELD_MAX, seed = 0xd21f7ull ^ rows;
  uint64_t *held = ty_arena_align(&ivf->memory, count, sizeof *held);
  if (held == NULL) return ty_fail(err, TY_NO_MEMORY, "not enough memory to calibrate the IVF index");
  for (uint64_t i = 0; i < count; i++) { /* one from each of equal ranges */
    uint64_t from = rows * i / count, to = rows * (i + 1) / count;
    held[i] = part->list_starts[0] + from + ty_random(&seed) % (to - from);
  }
  part->held = held;
  part->held_count = (uint32_t)count;
  return TY_OK;
}

static ty_status add_part(ty_ivf_builder *b, ty_ivf *ivf, uint32_t span_index, const ty_ivf_part *old, ty_error *err) {
  const ty_span *span = &b->r->spans[span_index];
  ty_ivf_held held = {0};
  /* Until it is calibrated a new part is read in full. */
  ty_ivf_part part = {
      .reach = INFINITY, .reach_alone = INFINITY, .width_share = 1, .nlist = ty_ivf_lists_for(span->count)};
  part.nprobe = part.nlist;
  if (old != NULL) part = *old;
  part.signs = (ty_ivf_signs){0};
  part.span = span_index;
  uint64_t centroid_bytes = (uint64_t)part.nlist * b->dim * sizeof(float);
  float *centroids = ty_arena_align(&ivf->memory, centroid_bytes, 1);
  float *half_norms = ty_arena_align(&ivf->memory, part.nlist, sizeof *half_norms);
  if (ivf->memory.failed) return ty_fail(err, TY_NO_MEMORY, "not enough memory for %u IVF lists", (unsigned)part.nlist);
  ty_status status = TY_OK;
  if (old != NULL) {
    memcpy(centroids, old->centroids, (size_t)centroid_bytes);
    memcpy(half_norms, old->half_norms, (size_t)part.nlist * sizeof(float));
  } else {
    status = ty_ivf_train_part(b, span, part.nlist, centroids, half_norms, &held, err);
  }
  part.centroids = centroids;
  part.half_norms = half_norms;
  if (status == TY_OK) status = ty_ivf_assign_part(b, ivf, span, &held, &part, err);
  if (status == TY_OK && old == NULL) part.built_square = mean_square(&part);
  /* A reach that was measured without signs may not be enough with them. */
  bool unsigned_before =
      old != NULL && old->signs.mean == NULL && b->dim >= TY_SIGN_DIM_LEAST && b->r->c->base.vertical.lines == NULL;
  if (status == TY_OK && old != NULL && (is_stale(&part) || unsigned_before)) status = hold_again(ivf, &part, err);
  if (status == TY_OK && part.held_count != 0) {
    part.calibrated_square = mean_square(&part);
    part.calibrated_rows = part_rows(&part);
  }
  if (status == TY_OK) ivf->parts[ivf->count++] = part;
  free(held.rows);
  return status;
}

ty_status ty_ivf_train(ty_rebase *r, ty_error *err) {
  r->ivf = NULL;
  if (!r->want_ivf) return TY_OK;
  const ty_collection *c = r->c;
  ty_ivf_builder b = {.r = r, .k = c->env->kernel, .dim = c->dim};
  ty_status status = TY_OK;
  ty_ivf *ivf = ty_ivf_new(r->span_count);
  if (ivf == NULL) return ty_fail(err, TY_NO_MEMORY, "not enough memory to build an IVF index");
  ty_crew_for(&b.crew, r->ivf_threads, &r->phases, TY_PHASE_TRAIN);
  bool keep = !r->retrain_ivf && c->ivf != NULL;
  ivf->min_rows = keep ? c->ivf->min_rows : r->ivf_min_rows;
  ivf->target_recall = keep ? c->ivf->target_recall : r->ivf_target_recall;
  for (uint32_t pass = 0; pass < 2 && status == TY_OK; pass++) { /* the first pass only adds up the work */
    for (uint32_t i = 0; i < r->span_count && status == TY_OK; i++) {
      uint64_t rows = r->spans[i].count;
      const ty_ivf_part *old = keep ? old_part(c, r->spans[i].key) : NULL;
      if (rows == 0 || (keep ? old == NULL : rows < ivf->min_rows)) continue;
      if (pass == 0) b.crew.total += rows + (keep ? 0 : ty_ivf_train_work(rows, b.dim));
      else status = add_part(&b, ivf, i, old, err);
    }
  }
  if (status == TY_OK && ivf->count != 0) r->ivf = ivf;
  else ty_ivf_free(ivf);
  return status;
}

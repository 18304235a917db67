/* The IVF index: rows of a partition grouped by the nearest of nlist centroids, so that a question reads only the groups near it. */
#include "ivf.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Centroids per square root of the rows. Measured on 100,000 x 384 clustered rows: 1 reads twice the rows for the same recall, 4 spends as
 * much on ranking centroids as it saves on rows and doubles the build. */
#define LISTS_PER_ROOT 2.0
#define LISTS_MAX      65536u
/* Rows a centroid is trained on, fewer where all samples together would pass SAMPLE_BYTES_MAX. */
#define SAMPLE_PER_LIST  64u
#define SAMPLE_BYTES_MAX (256ull << 20)
/* Seeding costs samples x centroids, so it is done in groups, each of this many centroids from its own rows: k-means++ of 600 centroids
 * at once reads the sample 600 times. The seeds of different groups may lie close together; the Lloyd steps move them apart. */
#define SEED_GROUP 64u
#define STEPS_MAX  10u
/* Steps end early when no centroid moved by more than this part of the mean squared distance. */
#define MOVE_MIN 1e-4f

typedef struct ivf_memory {
  struct ivf_memory *next;
  void *data;
} ivf_memory;

typedef struct ivf_owner {
  ty_ivf ivf; /* first, so that the pointer serves as both */
  ivf_memory *memory;
} ivf_owner;

ty_ivf *ty_ivf_new(uint32_t parts) {
  ivf_owner *o = calloc(1, sizeof *o);
  if (o == NULL) return NULL;
  o->ivf.parts = calloc(parts == 0 ? 1 : parts, sizeof *o->ivf.parts);
  if (o->ivf.parts == NULL) {
    free(o);
    return NULL;
  }
  return &o->ivf;
}

void *ty_ivf_memory(ty_ivf *ivf, uint64_t bytes) {
  ivf_owner *o = (ivf_owner *)ivf;
  if (bytes > SIZE_MAX - 64) return NULL;
  ivf_memory *m = malloc(sizeof *m);
  if (m == NULL) return NULL;
  m->data = aligned_alloc(64, ((size_t)bytes + 64) & ~(size_t)63);
  if (m->data == NULL) {
    free(m);
    return NULL;
  }
  m->next = o->memory;
  o->memory = m;
  return m->data;
}

void ty_ivf_free(ty_ivf *ivf) {
  if (ivf == NULL) return;
  ivf_owner *o = (ivf_owner *)ivf;
  while (o->memory != NULL) {
    ivf_memory *next = o->memory->next;
    free(o->memory->data);
    free(o->memory);
    o->memory = next;
  }
  free(o->ivf.parts);
  free(o);
}

/* ---- Training -------------------------------------------------------------------------------------------------------*/

typedef struct trainer {
  ty_rebase *r;
  const ame_kernel *k;
  uint64_t dim;
  uint64_t done, total; /* rows of work, for progress */
  float *block;         /* TY_IVF_BLOCK rows */
  float *best;          /* a distance for each row of a block */
} trainer;

static ty_status step(trainer *t, uint64_t rows, ty_error *err) {
  t->done += rows;
  ty_progress_set(t->r->progress, t->done, t->total);
  if (ty_cancelled(t->r->progress)) return ty_fail(err, TY_CANCELLED, "the build of the IVF index was cancelled");
  return TY_OK;
}

static uint32_t lists_for(uint64_t rows) {
  double n = LISTS_PER_ROOT * sqrt((double)rows);
  uint64_t lists = n > LISTS_MAX ? LISTS_MAX : (uint64_t)n;
  if (lists > rows / 8) lists = rows / 8; /* tiny partitions, which only a tiny min_rows brings here */
  return lists < 1 ? 1 : (uint32_t)lists;
}

static uint64_t sample_for(uint64_t rows, uint64_t nlist, uint64_t dim) {
  uint64_t sample = nlist * SAMPLE_PER_LIST, most = SAMPLE_BYTES_MAX / (dim * sizeof(float));
  if (sample > most) sample = most;
  if (sample < nlist) sample = nlist;
  return sample < rows ? sample : rows;
}

static void copy_row(const trainer *t, uint64_t at, float *out) {
  ty_ref ref = t->r->rows[at];
  memcpy(out, ty_row_vector(ref.segment, ref.at, t->dim), t->dim * sizeof(float));
}

/* A sample of distinct rows of the span in random order (Floyd's would need a set; a partial shuffle of indices is plain). */
static bool draw_sample(const trainer *t, const ty_span *span, uint64_t n, float *out) {
  uint64_t *index = span->count <= SIZE_MAX / sizeof(uint64_t) ? malloc((size_t)span->count * sizeof *index) : NULL;
  if (index == NULL) return false;
  uint64_t seed = 0x5eedull ^ span->count;
  for (uint64_t i = 0; i < span->count; i++) index[i] = i;
  for (uint64_t i = 0; i < n; i++) {
    uint64_t j = i + ty_random(&seed) % (span->count - i);
    uint64_t chosen = index[j];
    index[j] = index[i];
    index[i] = chosen;
    copy_row(t, span->first + chosen, out + i * t->dim);
  }
  free(index);
  return true;
}

static ty_status train_part(trainer *t, const ty_span *span, uint32_t nlist, uint64_t sample, float *centroids,
                            float *half_norms, ty_error *err) {
  ty_status status = TY_OK;
  uint64_t dim = t->dim;
  float *rows = malloc((size_t)(sample * dim) * sizeof *rows);
  float *distance = malloc((size_t)sample * sizeof *distance);
  uint32_t *assign = malloc((size_t)sample * sizeof *assign);
  double *sums = malloc((size_t)nlist * dim * sizeof *sums);
  uint64_t *counts = malloc((size_t)nlist * sizeof *counts);
  if (rows == NULL || distance == NULL || assign == NULL || sums == NULL || counts == NULL ||
      !draw_sample(t, span, sample, rows)) {
    status =
        ty_fail(err, TY_NO_MEMORY, "not enough memory to train an IVF index on %llu rows", (unsigned long long)sample);
    goto done;
  }
  for (uint32_t first = 0; first < nlist; first += SEED_GROUP) {
    uint32_t lists = nlist - first < SEED_GROUP ? nlist - first : SEED_GROUP;
    uint64_t from = sample * first / nlist, to = sample * (first + lists) / nlist;
    t->k->kmeans_seed(rows + from * dim, (size_t)(to - from), (size_t)dim, lists, 1 + first, centroids + first * dim,
                      distance);
    status = step(t, 0, err);
    if (status != TY_OK) goto done;
  }
  for (uint32_t i = 0; i < STEPS_MAX; i++) {
    t->k->kmeans_half_norms(centroids, nlist, (size_t)dim, half_norms);
    for (uint64_t at = 0; at < sample; at += TY_IVF_BLOCK) {
      uint64_t n = sample - at < TY_IVF_BLOCK ? sample - at : TY_IVF_BLOCK;
      t->k->kmeans_assign(rows + at * dim, (size_t)n, (size_t)dim, centroids, half_norms, nlist, assign + at,
                          distance + at);
      status = step(t, n, err);
      if (status != TY_OK) goto done;
    }
    double spread = 0; /* mean squared distance to the own centroid: `distance` lacks the row's own square */
    for (uint64_t at = 0; at < sample; at += 64) {
      double square = distance[at];
      for (uint64_t d = 0; d < dim; d++) square += (double)rows[at * dim + d] * (double)rows[at * dim + d];
      spread += square;
    }
    spread /= (double)((sample + 63) / 64);
    float moved =
        t->k->kmeans_update(rows, (size_t)sample, (size_t)dim, assign, distance, nlist, centroids, sums, counts);
    if (!((double)moved > MOVE_MIN * spread)) {
      status = step(t, sample * (STEPS_MAX - 1 - i), err); /* the steps spared count as done */
      break;
    }
  }
  t->k->kmeans_half_norms(centroids, nlist, (size_t)dim, half_norms);
done:
  free(rows);
  free(distance);
  free(assign);
  free(sums);
  free(counts);
  return status;
}

/* Assigns every row of the span and puts r->rows in the order of lists; within a list the order stays (by birth). */
static ty_status assign_part(trainer *t, const ty_span *span, const ty_ivf_part *part, uint64_t *list_starts,
                             ty_error *err) {
  ty_status status = TY_OK;
  uint32_t *assign = malloc((size_t)span->count * sizeof *assign);
  ty_ref *sorted = malloc((size_t)span->count * sizeof *sorted);
  if (assign == NULL || sorted == NULL) {
    status =
        ty_fail(err, TY_NO_MEMORY, "not enough memory to group %llu rows by IVF list", (unsigned long long)span->count);
    goto done;
  }
  memset(list_starts, 0, ((size_t)part->nlist + 1) * sizeof *list_starts);
  for (uint64_t at = 0; at < span->count; at += TY_IVF_BLOCK) {
    uint64_t n = span->count - at < TY_IVF_BLOCK ? span->count - at : TY_IVF_BLOCK;
    for (uint64_t i = 0; i < n; i++) copy_row(t, span->first + at + i, t->block + i * t->dim);
    t->k->kmeans_assign(t->block, (size_t)n, (size_t)t->dim, part->centroids, part->half_norms, part->nlist,
                        assign + at, t->best);
    status = step(t, n, err);
    if (status != TY_OK) goto done;
  }
  for (uint64_t i = 0; i < span->count; i++) list_starts[assign[i] + 1]++;
  list_starts[0] = span->first;
  for (uint32_t l = 0; l < part->nlist; l++) list_starts[l + 1] += list_starts[l];
  /* list_starts[l] runs ahead while rows are placed and ends at the start of l + 1: shift it back afterwards. */
  ty_ref *rows = t->r->rows + span->first;
  for (uint64_t i = 0; i < span->count; i++) sorted[list_starts[assign[i]]++ - span->first] = rows[i];
  memcpy(rows, sorted, (size_t)span->count * sizeof *rows);
  memmove(list_starts + 1, list_starts, (size_t)part->nlist * sizeof *list_starts);
  list_starts[0] = span->first;
done:
  free(assign);
  free(sorted);
  return status;
}

/* The trained part of the old index for the same partition; NULL where it has none. */
static const ty_ivf_part *old_part(const ty_collection *c, uint32_t key) {
  if (c->ivf == NULL) return NULL;
  for (uint32_t i = 0; i < c->ivf->count; i++) {
    if (c->spans[c->ivf->parts[i].span].key == key) return &c->ivf->parts[i];
  }
  return NULL;
}

static ty_status add_part(trainer *t, ty_ivf *ivf, uint32_t span_index, const ty_ivf_part *old, ty_error *err) {
  const ty_span *span = &t->r->spans[span_index];
  uint32_t nlist = old != NULL ? old->nlist : lists_for(span->count);
  uint64_t centroid_bytes = (uint64_t)nlist * t->dim * sizeof(float);
  float *centroids = ty_ivf_memory(ivf, centroid_bytes);
  float *half_norms = ty_ivf_memory(ivf, (uint64_t)nlist * sizeof(float));
  uint64_t *list_starts = ty_ivf_memory(ivf, ((uint64_t)nlist + 1) * sizeof(uint64_t));
  if (centroids == NULL || half_norms == NULL || list_starts == NULL) {
    return ty_fail(err, TY_NO_MEMORY, "not enough memory for %u IVF lists", (unsigned)nlist);
  }
  if (old != NULL) {
    memcpy(centroids, old->centroids, (size_t)centroid_bytes);
    memcpy(half_norms, old->half_norms, (size_t)nlist * sizeof(float));
  } else {
    ty_status status = train_part(t, span, nlist, sample_for(span->count, nlist, t->dim), centroids, half_norms, err);
    if (status != TY_OK) return status;
  }
  /* Until it is calibrated a new part probes all of its lists, which is the exact answer. */
  ty_ivf_part part = {span_index, nlist, old != NULL ? old->nprobe : nlist, 0, centroids, half_norms, list_starts};
  ty_status status = assign_part(t, span, &part, list_starts, err);
  if (status == TY_OK) ivf->parts[ivf->count++] = part;
  return status;
}

ty_status ty_ivf_train(ty_rebase *r, ty_error *err) {
  r->ivf = NULL;
  if (!r->want_ivf) return TY_OK;
  const ty_collection *c = r->c;
  trainer t = {.r = r, .k = c->env->kernel, .dim = c->dim};
  ty_status status = TY_OK;
  ty_ivf *ivf = ty_ivf_new(r->span_count);
  t.block = malloc((size_t)TY_IVF_BLOCK * c->dim * sizeof *t.block);
  t.best = malloc((size_t)TY_IVF_BLOCK * sizeof *t.best);
  if (ivf == NULL || t.block == NULL || t.best == NULL) {
    status = ty_fail(err, TY_NO_MEMORY, "not enough memory to build an IVF index");
    goto done;
  }
  bool keep = !r->retrain_ivf;
  ivf->min_rows = keep && c->ivf != NULL ? c->ivf->min_rows : r->ivf_min_rows;
  ivf->target_recall = keep && c->ivf != NULL ? c->ivf->target_recall : r->ivf_target_recall;
  for (uint32_t pass = 0; pass < 2; pass++) { /* the first only adds up the work */
    for (uint32_t i = 0; i < r->span_count; i++) {
      uint64_t rows = r->spans[i].count;
      const ty_ivf_part *old = keep ? old_part(c, r->spans[i].key) : NULL;
      if (rows == 0 || (keep ? old == NULL : rows < ivf->min_rows)) continue;
      if (pass == 0) {
        t.total += rows + (keep ? 0 : STEPS_MAX * sample_for(rows, lists_for(rows), t.dim));
        continue;
      }
      status = add_part(&t, ivf, i, old, err);
      if (status != TY_OK) goto done;
    }
  }
done:
  free(t.block);
  free(t.best);
  if (status == TY_OK && ivf->count != 0)
    r->ivf = ivf;
  else
    ty_ivf_free(ivf);
  return status;
}
